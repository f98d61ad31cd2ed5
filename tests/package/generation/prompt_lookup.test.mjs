// Guessing tokens from repeats of the text: the tokens are those of a generation without guesses, and so is the session at every piece.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import test, { after } from "node:test";
import { readExpected, tinyModel } from "../helpers/models.mjs";
import { rejects, rw } from "../helpers/runtime.mjs";

const prompt = readExpected("llama", "expected.json").prompt.slice(0, 6);
const model = await rw.model(tinyModel("llama"), { kv: { dtype: "f32" }, contextLength: 256 });
after(() => model.dispose());

/** A bias that makes the text repeat itself, and a temperature that sometimes ends a repeat. */
const REPEATING = { temperature: 0.8, topK: 0, topP: 1, minP: 0, logitBias: { 20: 3, 21: 3 }, frequencyPenalty: -0.3 };

async function pieces(session, options) {
  const found = [];
  for await (const piece of session.generate(options))
    found.push({ ...piece, length: session.length, next: session.logprobs(2).map(({ token }) => token) });
  return found;
}

async function compare(options, tokens = prompt, from = model) {
  const [plain, guessing] = [from.session(), from.session()];
  for (const session of [plain, guessing]) await session.append(tokens);
  const expected = await pieces(plain, options);
  const shown = (all) => all.map(({ token, text, finish, length, next }) => ({ token, text, finish, length, next }));
  assert.deepEqual(shown(await pieces(guessing, { promptLookup: 15, ...options })), shown(expected));
  assert.deepEqual(guessing.tokens, plain.tokens);
  // what follows doesn't depend on guesses that were read and forgotten
  const more = { temperature: 0, maxTokens: 5, ignoreEnd: true };
  assert.deepEqual(shown(await pieces(guessing, more)), shown(await pieces(plain, more)));
  for (const session of [plain, guessing]) session.dispose();
  return expected;
}

test("the same pieces and sessions as without guesses", async () => {
  for (const seed of [1, 2, 3, 4])
    for (const options of [
      { ...REPEATING },
      { temperature: 0 },
      { temperature: 1.2 },
      { ...REPEATING, mirostat: undefined },
    ])
      await compare({ ...options, seed, maxTokens: 90, ignoreEnd: true });
});

test("stop tokens, stop strings, end tokens and a full context end the text at the same place", async () => {
  const [{ text }] = (await compare({ ...REPEATING, seed: 9, maxTokens: 60, ignoreEnd: true })).slice(40);
  for (const seed of [1, 2, 3]) {
    await compare({ ...REPEATING, seed, maxTokens: 80 });
    await compare({ ...REPEATING, seed, maxTokens: 80, ignoreEnd: true, stop: text + text });
    await compare({ ...REPEATING, seed, maxTokens: 80, ignoreEnd: true, stopTokens: [20] });
    await compare({ ...REPEATING, seed, maxTokens: 300, ignoreEnd: true });
    await compare({ ...REPEATING, seed, maxTokens: 300, ignoreEnd: true, whenFull: "shift" });
  }
});

test("leaving the loop, and calls between pieces, see the text without guesses", async () => {
  const session = model.session();
  await session.append([20, 21, 20, 21, 20, 21, 20, 21]);
  const bias = { logitBias: { 20: 1e6 }, temperature: 0, frequencyPenalty: 0 };
  let count = 0;
  for await (const { token } of session.generate({ ...bias, promptLookup: 15, maxTokens: 40 })) {
    assert.equal(session.tokens.at(-1), token);
    assert.equal(session.keys(0)[0].length, session.length * 8);
    assert.equal(session.attention(0)[0].length, session.length);
    const saved = session.save();
    const copy = model.session();
    copy.restore(saved);
    assert.deepEqual(copy.tokens, session.tokens);
    copy.dispose();
    if (++count === 12) break;
  }
  assert.equal(session.length, 20);
  session.dispose();
});

test("guesses read several tokens at once: the model runs fewer times", async () => {
  const rowsOfReads = async (options) => {
    const session = model.session();
    await session.append([20, 21, 20, 21]);
    const rows = [];
    session.onLayer((layer, residual) => {
      if (layer === 0) rows.push(residual.length / model.info.hiddenSize);
    });
    for await (const { token } of session.generate({
      logitBias: { 20: 1e6 },
      temperature: 0,
      maxTokens: 85,
      ...options,
    }))
      assert.equal(token, 20);
    session.dispose();
    return rows;
  };
  assert.deepEqual(await rowsOfReads({}), Array(85).fill(1));
  const some = await rowsOfReads({ promptLookup: 31 });
  // the repeat of 20 is found, is right twice, and is then read 4, 8 and 16 tokens at a time, four times each
  assert.deepEqual(some, [1, 1, 1, 1, 4, 4, 4, 4, 8, 8, 8, 8, 16, 16, 1]);
  assert.equal(
    some.reduce((a, b) => a + b),
    85,
  );
});

test("every architecture without recurrent layers gives the same tokens", async () => {
  const options = { ...REPEATING, seed: 3, maxTokens: 30, ignoreEnd: true };
  let count = 0;
  for (const name of readdirSync(tinyModel(""))) {
    const [path] = [`${name}/model.gguf`, `${name}/config.json`].filter((file) => existsSync(tinyModel(file)));
    if (path === undefined) continue;
    const one = await rw.model(path.endsWith(".gguf") ? tinyModel(path) : tinyModel(name));
    if (one.info.generates && one.info.memory.states === 0) {
      const tokensOf = async (promptLookup) => {
        const tokens = [];
        for await (const { token } of one.generate([5, 6, 7, 5, 6, 7, 5, 6], { ...options, promptLookup }))
          tokens.push(token);
        return tokens;
      };
      assert.deepEqual(await tokensOf(15), await tokensOf(0), name);
      count++;
    }
    one.dispose();
  }
  assert.ok(count > 100, `${count} models`);
});

test("refused with recurrent layers, and out of range", async () => {
  const recurrent = await rw.model(tinyModel("lfm2"));
  const session = recurrent.session();
  await session.append([1, 2, 3]);
  await rejects(pieces(session, { promptLookup: 3 }), "UNSUPPORTED_MODEL", "promptLookup");
  recurrent.dispose();
  for (const promptLookup of [-1, 64, 1.5, true])
    await rejects(pieces(model.session(), { promptLookup }), "INVALID_ARGUMENT", "promptLookup");
});
