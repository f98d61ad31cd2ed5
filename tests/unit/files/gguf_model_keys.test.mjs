// Keys of GGUF files that change what a known architecture computes: read, or refused by their names.
import assert from "node:assert/strict";
import test from "node:test";
import { ARCHITECTURES } from "../../../build/package/runtime/model/architectures/table.js";
import { ConfigReader } from "../../../build/package/runtime/model/config/config_reader.js";
import { changedGguf } from "../../package/helpers/changed_models.mjs";
import { rw } from "../../package/helpers/runtime.mjs";

const refused = (files, key, message) =>
  assert.rejects(rw.model(files), { code: "UNSUPPORTED_MODEL", field: `model.gguf: ${key}`, message });

test("a file whose weights are rotated by a Hadamard transform", () =>
  refused(
    changedGguf("llama", {}, { "prism.hadamard.version": ["u32", 1] }),
    "prism.hadamard.version",
    /rotated weights/,
  ));

test("Mistral 3 that transcribes as one speaks", () => {
  const files = changedGguf("mistral3", { realtime_delay_tokens: ["u32", 6] });
  return refused(files, "mistral3.realtime_delay_tokens", /norms that follow the time of a sound are not supported/);
});

/** The head of a cross-encoder in a GGUF file with these keys. */
function headOf(architecture, keys) {
  const metadata = { "general.architecture": architecture };
  for (const [key, value] of Object.entries(keys)) metadata[`${architecture}.${key}`] = value;
  const tensors = new Map(["cls.weight", "cls.output.weight"].map((name) => [name, { shape: [4, 8] }]));
  const reader = new ConfigReader({ name: "m.gguf", kind: "gguf", config: undefined, metadata, tensors });
  const { pooling, layers } = ARCHITECTURES.find(({ gguf }) => gguf.includes(architecture)).rankingHead(reader, "");
  return [pooling, layers[0].activation];
}

test("the pooling and the activation of a cross-encoder are those that the file names", () => {
  assert.deepEqual(headOf("bert", {}), ["first", "tanh"]);
  assert.deepEqual(headOf("modern-bert", {}), ["mean", "gelu"]);
  assert.deepEqual(headOf("bert", { "classifier.pooling_type": 1, "classifier.activation": "silu" }), ["mean", "silu"]);
  assert.deepEqual(headOf("modern-bert", { "classifier.pooling_type": 2 }), ["first", "gelu"]);
  assert.throws(() => headOf("bert", { "classifier.activation": "snake" }), {
    code: "UNSUPPORTED_MODEL",
    field: "m.gguf: bert.classifier.activation",
  });
});
