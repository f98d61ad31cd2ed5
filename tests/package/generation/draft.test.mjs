// Guesses of a draft model: the tokens are those of a generation without it, whatever it guesses.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import test, { after } from "node:test";
import { load as loadWorker } from "ropewalk/worker";
import { tinyModel } from "../helpers/models.mjs";
import { build, rejects, rw } from "../helpers/runtime.mjs";

const read = (name, file) => readFileSync(tinyModel(`${name}/${file}`));

/** A model that is sure of its next tokens: small `logits_scaling` makes large logits. Other layers make another model. */
function sharp(changes = {}, vocabulary = read("granite", "tokenizer.json")) {
  const config = { ...JSON.parse(read("granite", "config.json")), logits_scaling: 0.02, ...changes };
  const files = [
    new File([JSON.stringify(config)], "config.json"),
    new File([read("granite", "model.safetensors")], "model.safetensors"),
    new File([vocabulary], "tokenizer.json"),
  ];
  return rw.model(files, { kv: { dtype: "f32" }, contextLength: 128 });
}

const model = await sharp();
after(() => model.dispose());

const PROMPT = [5, 6, 7, 8, 9];

async function pieces(from, options, prompt = PROMPT) {
  const session = from.session();
  await session.append(prompt);
  const found = [];
  for await (const piece of session.generate(options)) found.push({ ...piece, length: session.length });
  session.dispose();
  return found;
}

test("the same pieces with a draft that is right, often wrong, or has a short context", async () => {
  const drafts = [model, await sharp({ residual_multiplier: 2 }), await sharp({ attention_multiplier: 0.9 })];
  const short = await rw.model(tinyModel("granite"), { contextLength: 12 });
  for (const draft of [...drafts, short])
    for (const draftTokens of [1, 3, 7, 20])
      for (const options of [
        { temperature: 0 },
        { temperature: 30, seed: 3, topK: 0, topP: 1, minP: 0 },
        { temperature: 0, promptLookup: 3 },
      ]) {
        const all = { maxTokens: 40, ignoreEnd: true, ...options };
        assert.deepEqual(await pieces(model, { ...all, draft, draftTokens }), await pieces(model, all));
      }
  const [, wrong] = drafts;
  const rows = await rowsRead(model, { draft: wrong, draftTokens: 7 });
  assert.ok(rows.length > 8 && rows.some((count) => count > 1), `guesses that were wrong, and guesses at all: ${rows}`);
  for (const one of [...drafts.slice(1), short]) one.dispose();
});

test("full contexts, stops and formats end the text at the same place", async () => {
  const [{ text }] = (await pieces(model, { temperature: 0, maxTokens: 30, ignoreEnd: true })).slice(12);
  for (const options of [
    { temperature: 0, maxTokens: 300, ignoreEnd: true },
    { temperature: 0, maxTokens: 200, ignoreEnd: true, whenFull: "shift" },
    { temperature: 0, maxTokens: 40, ignoreEnd: true, stop: text },
    { temperature: 0, maxTokens: 40, stopTokens: [20, 21] },
    { temperature: 0, maxTokens: 40, format: { regex: "[a-z]{1,9}" } },
  ])
    assert.deepEqual(
      await pieces(model, { ...options, draft: model }),
      await pieces(model, options),
      JSON.stringify(options),
    );
});

test("a draft that is right lets the model read several tokens at once", async () => {
  const rows = await rowsRead(model, { draft: model, draftTokens: 7 });
  assert.deepEqual(rows.slice(0, 3), [8, 8, 8]);
  assert.deepEqual(await rowsRead(model, { draft: model, draftTokens: 3 }).then((all) => all[0]), 4);
  const unsure = await rw.model(tinyModel("granite"), { contextLength: 128 });
  assert.ok(new Set(await rowsRead(model, { draft: unsure })).size === 1, "no guess without a probability above 1/2");
  unsure.dispose();
});

/** The tokens of each run of the model. */
async function rowsRead(from, options) {
  const session = from.session();
  await session.append(PROMPT);
  const rows = [];
  session.onLayer((layer, residual) => {
    if (layer === 0) rows.push(residual.length / from.info.hiddenSize);
  });
  let count = 0;
  for await (const { token } of session.generate({ temperature: 0, maxTokens: 32, ignoreEnd: true, ...options }))
    count += token >= 0 ? 1 : 0;
  assert.equal(count, 32);
  session.dispose();
  return rows;
}

test("every architecture without recurrent layers gives the same tokens", async () => {
  let count = 0;
  for (const name of readdirSync(tinyModel(""))) {
    const [path] = [`${name}/model.gguf`, `${name}/config.json`].filter((file) => existsSync(tinyModel(file)));
    if (path === undefined) continue;
    const one = await rw.model(path.endsWith(".gguf") ? tinyModel(path) : tinyModel(name));
    if (one.info.generates && one.info.memory.states === 0) {
      const tokensOf = async (options) => {
        const tokens = [];
        for await (const { token } of one.generate(PROMPT, {
          temperature: 0,
          maxTokens: 12,
          ignoreEnd: true,
          ...options,
        }))
          tokens.push(token);
        return tokens;
      };
      assert.deepEqual(await tokensOf({ draft: one }), await tokensOf({}), name);
      count++;
    }
    one.dispose();
  }
  assert.ok(count > 100, `${count} models`);
});

test("refused: other vocabularies, encoders, recurrent layers, and what isn't a model", async () => {
  const generate = (options) => pieces(model, { maxTokens: 4, ...options });
  for (const draft of [null, "a.gguf", {}, model.tokenizer])
    await rejects(generate({ draft }), "INVALID_ARGUMENT", "draft");
  for (const draftTokens of [0, 64, 1.5, "7"])
    await rejects(generate({ draft: model, draftTokens }), "INVALID_ARGUMENT", "draftTokens");
  const vocabulary = JSON.parse(read("granite", "tokenizer.json"));
  const [word] = Object.entries(vocabulary.model.vocab).find(([, id]) => id === 40);
  const { [word]: id, ...others } = vocabulary.model.vocab;
  for (const vocab of [{ ...others, other: id }, others]) {
    const other = await sharp({}, JSON.stringify({ ...vocabulary, model: { ...vocabulary.model, vocab } }));
    await rejects(generate({ draft: other }), "INVALID_ARGUMENT", "draft");
    other.dispose();
  }
  const recurrent = await rw.model(tinyModel("lfm2"));
  await rejects(generate({ draft: recurrent }), "INVALID_ARGUMENT", "draft");
  await rejects(pieces(recurrent, { maxTokens: 4, draft: model }), "UNSUPPORTED_MODEL", "draft");
  recurrent.dispose();
});

test("draftTokens without a draft is refused", () =>
  rejects(pieces(model, { maxTokens: 4, draftTokens: 3 }), "INVALID_ARGUMENT", "draftTokens"));

test("a draft that is disposed, before a generation or in it", async () => {
  const draft = await sharp();
  const session = model.session();
  await session.append(PROMPT);
  const step = session.generate({ temperature: 0, ignoreEnd: true, draft, draftTokens: 2 });
  await step.next();
  draft.dispose();
  const rest = async () => {
    for await (const _ of step);
  };
  await rejects(rest(), "DISPOSED", "draft");
  await rejects(pieces(model, { maxTokens: 4, draft }), "DISPOSED", "draft");
  await rejects(pieces(draft, { maxTokens: 4 }), "DISPOSED", "model");
  session.dispose();
});

test("an abort while the draft reads the text", async () => {
  const one = await rw.model(tinyModel("granite"), { contextLength: 1024 });
  const controller = new AbortController();
  let rows = 0;
  const draft = {
    info: one.info,
    tokenizer: one.tokenizer,
    session: () => {
      const own = one.session();
      own.onLayer((layer, residual) => {
        if (layer === 0) rows += residual.length / one.info.hiddenSize;
        controller.abort(new Error("enough"));
      });
      return own;
    },
  };
  const session = one.session();
  await session.append(Array.from({ length: 600 }, (_, i) => 3 + (i % 50)));
  const generating = session.generate({ draft, signal: controller.signal }).next();
  await assert.rejects(generating, /enough/);
  assert.equal(rows, 128);
  one.dispose();
});

test("in a Worker, with a model of the same Worker", async () => {
  const remote = await loadWorker({ build });
  const there = await remote.model(tinyModel("llama"));
  const texts = async (options) => {
    const tokens = [];
    for await (const { token } of there.generate(PROMPT, {
      temperature: 0,
      maxTokens: 12,
      ignoreEnd: true,
      ...options,
    }))
      tokens.push(token);
    return tokens;
  };
  assert.deepEqual(await texts({ draft: there }), await texts({}));
  await rejects(texts({ draft: model }), "INVALID_ARGUMENT", "draft");
  await rejects(texts({ draft: 5 }), "INVALID_ARGUMENT", "draft");
  const other = await remote.model(tinyModel("llama"));
  await other.dispose();
  await rejects(texts({ draft: other }), "DISPOSED", "draft");
  await assert.rejects(pieces(model, { maxTokens: 4, draft: there }), {
    code: "INVALID_ARGUMENT",
    field: "draft",
    message: /of the same thread/,
  });
  await rejects(other.promptTokens("a"), "DISPOSED", "model");
  await rejects(other.perplexity("a"), "DISPOSED", "model");
  await rejects(other.session(), "DISPOSED", "model");
  await remote.dispose();
});
