// Which layers have a sliding window, with configs drawn at random, compared with transformers.
import assert from "node:assert/strict";
import test from "node:test";
import { formulaFiles } from "../../../files/formula_models.mjs";
import { assertLogits, casesOf } from "../../helpers/random.mjs";
import { rejects, rw } from "../../helpers/runtime.mjs";

test("sliding windows of every architecture: transformers' logits, with fields drawn at random", () =>
  assertLogits(rw, casesOf("sliding_windows.json")));

const [{ tensors, config, name }] = casesOf("sliding_windows.json").filter(({ name }) => name === "gemma2");

test("a layer that slides without a window, and a kind of layer that the class doesn't have, are refused", async () => {
  assert.equal(name, "gemma2");
  for (const [changes, field] of [
    [{ sliding_window: null }, "sliding_window"],
    [{ sliding_window: 0 }, "sliding_window"],
    [{ layer_types: ["chunked_attention", ...Array(3).fill("full_attention")] }, "layer_types"],
    [{ layer_types: ["full_attention"] }, "layer_types"], // for more layers
  ]) {
    const files = formulaFiles({ config: { ...config, layer_types: undefined, ...changes }, tensors });
    await rejects(rw.model(files), "INVALID_FILE", `model.safetensors: ${field}`);
  }
});
