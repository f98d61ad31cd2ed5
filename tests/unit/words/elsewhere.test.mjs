// Names of other packages: the whole sentence of each error, and the page that lists them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test, { after } from "node:test";
import { load, ropeConfig } from "ropewalk";
import { OPTIONS_ELSEWHERE } from "../../../build/package/apps/cli/options_elsewhere.js";
import { ropewalk } from "../../cli/program.mjs";
import { KEY_ELSEWHERE, MODEL_ELSEWHERE, PAIRING_ELSEWHERE } from "../../../build/package/core/base/elsewhere.js";
import { tinyModel } from "../../package/helpers/models.mjs";

const rw = await load();
const path = tinyModel("llama/model.gguf");
const model = await rw.model(path);
const session = model.session();
after(() => model.dispose());

const llama = { model_type: "llama", hidden_size: 512, num_attention_heads: 8, rope_theta: 1e4 };
const config = ropeConfig(llama);
const rope = rw.rope(config);
const all = async (pieces) => {
  for await (const _ of pieces);
};
const overriding = (overrides) => async () => ropeConfig(llama, { overrides });
const pairing = (name) => overriding({ pairing: name });
const tensor = (data, ...dims) => ({ data, dims, type: "float32" });
const CPU = "has no counterpart here: models run on the CPU, on as many cores as `threads` of load() says";
const ROTATE = { layout: "bhtd", shape: [1, 1, 1, 64], positions: 0 };
const PAIRINGS = "must be one of half, interleaved, interleaved_to_half";
const ONNX = "an onnxruntime tensor: pass its `data`, and its `dims` as the shape";

const CASES = [
  [() => rw.model(path, { n_ctx: 5 }), 'n_ctx: "n_ctx" isn\'t an option of rw.model(); `n_ctx` is `contextLength` here'],
  [() => rw.model(path, { num_ctx: 5 }), 'num_ctx: "num_ctx" isn\'t an option of rw.model(); `num_ctx` is `contextLength` here'],
  [async () => model.session({ n_ctx: 5 }), 'n_ctx: "n_ctx" isn\'t an option of session(); `n_ctx` is `contextLength` here'],
  [() => all(session.generate({ n_ctx: 5 })), 'n_ctx: "n_ctx" isn\'t an option of generate(); `n_ctx` is `contextLength` here, an option of rw.model() and session()'],
  [() => rw.model(path, { progress_callback() {} }), 'progress_callback: "progress_callback" isn\'t an option of rw.model(); `progress_callback` is `onProgress` here'],
  [() => rw.model(path, { dtype: "q8" }), 'dtype: "dtype" isn\'t an option of rw.model(); `dtype` is `quantize` here'],
  [() => rw.model(path, { device: "webgpu" }), `device: "device" isn't an option of rw.model(); \`device\` ${CPU}`],
  [() => load({ device: "webgpu" }), 'device: "device" isn\'t an option of load(); `device` has no counterpart here: models run on the CPU'],
  [() => load({ n_threads: 4 }), 'n_threads: "n_threads" isn\'t an option of load(); `n_threads` is `threads` here'],
  [() => all(model.generate("a", { max_length: 5 })), 'max_length: "max_length" isn\'t an option of generate(); `max_length` is `maxTokens` here'],
  [() => all(session.chat([], { max_new_tokens: 5 })), 'max_new_tokens: "max_new_tokens" isn\'t an option of chat(); `max_new_tokens` is `maxTokens` here'],
  [() => model.complete("a", { do_sample: false }), 'do_sample: "do_sample" isn\'t an option of complete(); `do_sample` isn\'t needed here: `temperature: 0` takes the most probable token'],
  [pairing("neox"), `overrides.pairing: ${PAIRINGS} (got "neox"); \`neox\` is \`half\` here`],
  [pairing("rotate_half"), `overrides.pairing: ${PAIRINGS} (got "rotate_half"); \`rotate_half\` is \`half\` here`],
  [pairing("norm"), `overrides.pairing: ${PAIRINGS} (got "norm"); \`norm\` is \`interleaved\` here`],
  [overriding({ neox: true }), 'overrides.neox: is not a key of a RoPE config; `neox` is `pairing: "half"` here'],
  [overriding({ type: "yarn", factor: 4 }), "overrides.type: is not a key of a RoPE config; `type` is `rope_scaling.rope_type` here"],
  [overriding({ factor: 4 }), "overrides.factor: is not a key of a RoPE config; `factor` is `rope_scaling.factor` here"],
  [overriding({ beta_fast: 4 }), "overrides.beta_fast: is not a key of a RoPE config; `beta_fast` is `rope_scaling.beta_fast` here"],
  [() => rw.model(path, { rope: { factor: 4 } }), "rope.factor: is not a key of a RoPE config; `factor` is `rope_scaling.factor` here"],
  [async () => session.retune({ type: "yarn" }), "rope.type: is not a key of a RoPE config; `type` is `rope_scaling.rope_type` here"],
  [async () => rope.rotate(tensor(new Float32Array(64), 1, 1, 1, 64), ROTATE), `x: must be a Tensor, a Float32Array, a Float16Array, or a Uint16Array of f16 or bf16 bits; ${ONNX}`],
  [async () => rw.attention(tensor(new Float32Array(64), 1, 1, 1, 64), new Float32Array(64), new Float32Array(64), { layout: "bhtd", shape: [1, 1, 1, 64] }), `q: must be a Float32Array or an f32 Tensor; ${ONNX}`],
  [async () => rope.rotate(new Float32Array(64), { ...ROTATE, positions: tensor(new BigInt64Array(1), 1) }), "positions: must be a number or an array of numbers (without bigints); an onnxruntime tensor: pass Array.from(tensor.data, Number), and its `dims` as the shape"],
  [() => session.append(tensor(new BigInt64Array(2), 1, 2)), "tokens: must be text or token ids (got an object); an onnxruntime tensor: pass Array.from(tensor.data, Number), and its `dims` as the shape"],
]; // prettier-ignore

for (const [act, message] of CASES)
  test(message, async () => {
    await assert.rejects(Promise.resolve().then(act), { name: "RopewalkError", message });
  });

test("the advice is data: the name here, and the other package's", async () => {
  const advice = { do: "spell", name: "contextLength", from: "n_ctx" };
  await assert.rejects(rw.model(path, { n_ctx: 5 }), { advice });
});

test("options of llama.cpp and vLLM name those of the command line", async () => {
  for (const [words, said] of [
    [["generate", "m.gguf", "hi", "-c", "2048"], "unknown option '-c'; -c is --context here"],
    [["serve", "m.gguf", "--api-key", "x"], "unknown option '--api-key'; --api-key is --token here"],
    [["generate", "-m", "m.gguf"], "unknown option '-m'; -m is an argument here, without an option"],
    [["generate", "m.gguf"], "missing required argument 'prompt'; - reads it from stdin"],
  ]) {
    const { stderr, status } = await ropewalk(words);
    assert.equal(status, 2);
    assert.equal(stderr.split("\n")[0], `error: ${said}`);
  }
});

test("docs/apps/coming_from.md has each name, and what it is here", () => {
  const page = readFileSync(new URL("../../../docs/apps/coming_from.md", import.meta.url), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| "));
  for (const table of [MODEL_ELSEWHERE, PAIRING_ELSEWHERE, KEY_ELSEWHERE, OPTIONS_ELSEWHERE])
    for (const [here, names] of Object.entries(table)) {
      if (here.includes("here, an option of")) continue; // another row has them
      for (const name of names.split(" ")) {
        const target = here.includes(" ") ? here : `\`${here}\``;
        const isThere = rows.some((row) => row.split("|")[1].includes(`\`${name}\``) && row.includes(target));
        assert.ok(isThere, `${name} isn't on the page, as ${here}`);
      }
    }
});
