// Tokens that a model's files ban: suppress_tokens of generation_config.json and of GGUF, and begin_suppress_tokens.
import assert from "node:assert/strict";
import test from "node:test";
import { partsOf, written } from "../../files/model_parts.mjs";
import { rejects, rw } from "../../package/helpers/runtime.mjs";

const PROMPT = [5, 9, 12];
const GREEDY = { temperature: 0, maxTokens: 6, ignoreEnd: true };

const tokensOf = async (model, options = {}) => (await model.complete(PROMPT, { ...GREEDY, ...options })).tokens;
const parts = { gguf: await partsOf("llama", "gguf"), safetensors: await partsOf("llama", "safetensors") };

/** The model with lists of tokens in its files. */
async function withLists(format, lists) {
  if (format === "gguf") {
    const keys = Object.fromEntries(Object.entries(lists).map(([key, list]) => [`tokenizer.ggml.${key}`, list]));
    return rw.model(written({ ...parts.gguf, keys: { ...parts.gguf.keys, ...keys } }, "gguf"));
  }
  const config = new File([JSON.stringify(lists)], "generation_config.json");
  return rw.model([...written(parts.safetensors, "safetensors"), config]);
}

for (const format of ["gguf", "safetensors"]) {
  test(`suppress_tokens, ${format}: as if each call forbade these tokens`, async () => {
    const plain = await withLists(format, {});
    const first = await tokensOf(plain);
    const banned = [...new Set(first)].slice(0, 2);
    const forbidden = Object.fromEntries(banned.map((token) => [token, -Infinity]));
    const expected = await tokensOf(plain, { logitBias: forbidden });
    assert.notDeepEqual(expected, first);
    const model = await withLists(format, { suppress_tokens: [...banned, 1e6] });
    assert.deepEqual(await tokensOf(model), expected);
    const raised = Object.fromEntries(banned.map((token) => [token, 1e4]));
    assert.deepEqual(await tokensOf(model, { logitBias: raised }), expected);
    const sampled = await tokensOf(model, { temperature: 2, topK: 0, topP: 1, minP: 0, seed: 3, maxTokens: 60 });
    assert.ok(!sampled.some((token) => banned.includes(token)));
    plain.dispose();
    model.dispose();
  });
}

test("begin_suppress_tokens: only of the first token, also with a format", async () => {
  const plain = await withLists("safetensors", {});
  const [banned] = await tokensOf(plain);
  const [second] = await tokensOf(plain, { logitBias: { [banned]: -Infinity }, maxTokens: 1 });
  const rest = (await plain.complete([...PROMPT, second], { ...GREEDY, maxTokens: 5 })).tokens;
  const model = await withLists("safetensors", { begin_suppress_tokens: [banned] });
  assert.deepEqual(await tokensOf(model), [second, ...rest]);
  const format = { regex: "[a-z]{6}" };
  const [letter] = (await plain.complete(PROMPT, { temperature: 0, maxTokens: 1, format })).tokens;
  const other = await withLists("safetensors", { begin_suppress_tokens: [letter] });
  const { text, tokens } = await other.complete(PROMPT, { temperature: 0, maxTokens: 6, format });
  assert.match(text, /^[a-z]+$/);
  assert.notEqual(tokens[0], letter);
  for (const one of [plain, model, other]) one.dispose();
});

test("lists that aren't token ids", async () => {
  await rejects(
    withLists("gguf", { suppress_tokens: "x" }),
    "INVALID_FILE",
    "model.gguf: tokenizer.ggml.suppress_tokens",
  );
  for (const key of ["suppress_tokens", "begin_suppress_tokens"])
    await rejects(withLists("safetensors", { [key]: [1.5] }), "INVALID_FILE", `generation_config.json: ${key}`);
  (await withLists("safetensors", { suppress_tokens: null, begin_suppress_tokens: [] })).dispose();
});
