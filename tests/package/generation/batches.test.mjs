// Texts that generate at the same time: each has the pieces that it has alone, to the last bit, whatever the others do.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import test, { after } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { load as loadWorker } from "ropewalk/worker";
import { tinyModel } from "../helpers/models.mjs";
import { build, rejects, rw } from "../helpers/runtime.mjs";

const model = await rw.model(tinyModel("llama"), { contextLength: 64 });
after(() => model.dispose());

const PROMPTS = [[5, 6, 7, 8, 9, 10, 11], [12, 3], [5, 6, 7, 8, 9, 10, 11], [20, 21, 22, 23, 24], [30], [31, 32, 33]];
const OPTIONS = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 7, maxTokens: 20, ignoreEnd: true, logprobs: 2 };

async function collect(pieces) {
  const all = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

/** The pieces of each prompt by itself, with the seeds of generateMany(). */
const alone = (from, prompts, { seed, ...options }) =>
  prompts.reduce(async (before, prompt, index) => {
    const done = await before;
    return [...done, await collect(from.generate(prompt, { ...options, seed: seed + index }))];
  }, Promise.resolve([]));

async function together(from, prompts, options) {
  const texts = prompts.map(() => []);
  for await (const { index, ...piece } of from.generateMany(prompts, options)) texts[index].push(piece);
  return texts;
}

test("every architecture gives each text the pieces it has alone", async () => {
  let count = 0;
  for (const name of readdirSync(tinyModel(""))) {
    const [path] = [`${name}/model.gguf`, `${name}/config.json`].filter((file) => existsSync(tinyModel(file)));
    if (path === undefined) continue;
    const one = await rw.model(path.endsWith(".gguf") ? tinyModel(path) : tinyModel(name));
    if (one.info.generates) {
      const options = { ...OPTIONS, maxTokens: 8 };
      assert.deepEqual(
        await together(one, PROMPTS, { ...options, batchSize: 4 }),
        await alone(one, PROMPTS, options),
        name,
      );
      count++;
    }
    one.dispose();
  }
  assert.ok(count > 110, `${count} models`);
});

const BEGINNING = Array.from({ length: 45 }, (_, i) => 5 + ((7 * i) % 31));

test("prompts with a common beginning, which is read once", async () => {
  const prompts = [[...BEGINNING, 9], [...BEGINNING, 11, 12, 13], BEGINNING, BEGINNING.slice(0, 40), [7, 8], BEGINNING];
  let count = 0;
  for (const name of readdirSync(tinyModel(""))) {
    const [path] = [`${name}/model.gguf`, `${name}/config.json`].filter((file) => existsSync(tinyModel(file)));
    if (path === undefined) continue;
    const one = await rw.model(path.endsWith(".gguf") ? tinyModel(path) : tinyModel(name));
    if (one.info.generates && one.info.contextLength >= 56) {
      const options = { ...OPTIONS, maxTokens: 6 };
      assert.deepEqual(
        await together(one, prompts, { ...options, batchSize: 4 }),
        await alone(one, prompts, options),
        name,
      );
      count++;
    }
    one.dispose();
  }
  assert.ok(count > 50, `${count} models`);
});

test("any number at once, and texts of different lengths", async () => {
  const [expected] = await alone(model, [PROMPTS[0]], OPTIONS);
  const stop = expected[5].text;
  const options = { ...OPTIONS, stop, ignoreEnd: false };
  const own = await alone(model, PROMPTS, options);
  assert.ok(new Set(own.map((pieces) => pieces.length)).size > 1, "some end earlier than others");
  for (const batchSize of [1, 2, 3, 6, 200])
    assert.deepEqual(await together(model, PROMPTS, { ...options, batchSize }), own, `${batchSize}`);
  assert.deepEqual(await together(model, [], options), []);
  assert.deepEqual(
    await together(model, PROMPTS, { ...options, maxTokens: 0 }),
    PROMPTS.map(() => []),
  );
});

test("full contexts that shift, and grammars", async () => {
  for (const more of [
    { whenFull: "shift", contextLength: 16, maxTokens: 40 },
    { format: { regex: "[a-z]{1,6}" }, ignoreEnd: false },
  ]) {
    const { contextLength, ...others } = { ...OPTIONS, ...more };
    assert.deepEqual(
      await together(model, PROMPTS, { ...OPTIONS, ...more }),
      await alone(model, PROMPTS, { ...others, ...(contextLength && { contextLength }) }),
    );
  }
});

test("sessions whose loops run at the same time, of different speeds", async () => {
  const own = await alone(model, PROMPTS, OPTIONS);
  const runs = PROMPTS.map(async (prompt, index) => {
    await delay(index);
    const session = model.session();
    await session.append(prompt);
    const pieces = [];
    for await (const piece of session.generate({ ...OPTIONS, seed: 7 + index })) {
      pieces.push(piece);
      if (index % 2 === 1) await delay(index);
    }
    session.dispose();
    return pieces;
  });
  assert.deepEqual(await Promise.all(runs), own);
});

test("a session that is disposed of, aborted or left doesn't disturb the others", async () => {
  const own = await alone(model, PROMPTS, OPTIONS);
  const controller = new AbortController();
  const runs = PROMPTS.map(async (prompt, index) => {
    const session = model.session();
    await session.append(prompt);
    const pieces = [];
    const signal = index === 1 ? controller.signal : undefined;
    try {
      for await (const piece of session.generate({ ...OPTIONS, seed: 7 + index, ...(signal && { signal }) })) {
        pieces.push(piece);
        if (pieces.length === 5 && index === 0) void Promise.resolve().then(() => session.dispose());
        if (pieces.length === 6 && index === 1) controller.abort(new Error("enough"));
        if (pieces.length === 7 && index === 2) break;
      }
    } catch (error) {
      return { pieces, error };
    } finally {
      session.dispose();
    }
    return { pieces };
  });
  const [disposed, aborted, left, ...others] = await Promise.all(runs);
  assert.equal(disposed.error.code, "DISPOSED");
  assert.equal(aborted.error.message, "enough");
  assert.equal(left.pieces.length, 7);
  for (const [i, { pieces, error }] of [disposed, aborted, left].entries()) {
    assert.deepEqual(pieces, own[i].slice(0, pieces.length));
    assert.equal(error === undefined, i === 2);
  }
  assert.deepEqual(
    others.map(({ pieces }) => pieces),
    own.slice(3),
  );
});

test("errors name the prompt, and nothing of the texts is left", async () => {
  const before = model.session();
  await before.append([1]);
  const bytes = rw.memoryBytes;
  const many = (prompts, options) => collect(model.generateMany(prompts, { ...OPTIONS, ...options }));
  await rejects(many("a text"), "INVALID_ARGUMENT", "prompts");
  await rejects(many(5), "INVALID_ARGUMENT", "prompts");
  await rejects(many([[1], []]), "INVALID_ARGUMENT", "prompts[1]");
  await rejects(many([[1], [1, -1]]), "INVALID_ARGUMENT", "prompts[1][1]");
  await rejects(many([[1], Array(65).fill(1)]), "CACHE_FULL", "prompts[1]");
  await rejects(many([[1]], { batchSize: 0 }), "INVALID_ARGUMENT", "batchSize");
  await rejects(many([[1]], { maxTokens: -1 }), "INVALID_ARGUMENT", "maxTokens");
  await rejects(many([[1]], { batch: 3 }), "UNKNOWN_KEY", "batch");
  for (let i = 0; i < 50; i++) {
    let count = 0;
    for await (const piece of model.generateMany(PROMPTS, OPTIONS)) if (piece.index === 3 && ++count === 2) break;
    const controller = new AbortController();
    const aborted = (async () => {
      for await (const piece of model.generateMany(PROMPTS, { ...OPTIONS, signal: controller.signal }))
        if (piece.index === 5) controller.abort(new Error("enough"));
    })();
    await assert.rejects(aborted, /enough/);
  }
  assert.ok(rw.memoryBytes <= bytes + 2 ** 20, `${bytes} bytes became ${rw.memoryBytes}`);
  before.dispose();
});

test("in a Worker", async () => {
  const remote = await loadWorker({ build });
  const there = await remote.model(tinyModel("llama"), { contextLength: 64 });
  assert.deepEqual(await together(there, PROMPTS, OPTIONS), await together(model, PROMPTS, OPTIONS));
  await rejects(collect(there.generateMany([[1], []])), "INVALID_ARGUMENT", "prompts[1]");
  await rejects(collect(there.generateMany("a text")), "INVALID_ARGUMENT", "prompts");
  await remote.dispose();
});

test("an abort ends the texts before their next pieces", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  let count = 0;
  const reading = (async () => {
    for await (const _ of model.generateMany(PROMPTS, { ...OPTIONS, signal })) if (++count === 4) controller.abort();
  })();
  await assert.rejects(reading, { name: "AbortError" });
  assert.equal(count, 4);
  await assert.rejects(model.generateMany([], { signal }).next(), { name: "AbortError" });
});
