// searchRope(): what it starts from, that losses are those of perplexity(), resumed searches, and what it refuses.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { load } from "ropewalk";
import { searchRope } from "ropewalk/search";
import { load as loadInWorker } from "ropewalk/worker";
import { searchTexts } from "../../../examples/small_model/search_texts.mjs";

const folder = new URL("../../../examples/small_model/", import.meta.url);
const tiny = (name) => new URL(`../../golden/tiny_models/${name}/`, import.meta.url);
const LENGTH = 320;
const texts = searchTexts(LENGTH, 2);
const SEARCH = { length: LENGTH, texts, evaluations: 16, seed: 3 };

/** Mean losses of the answers and of all tokens, by the model's own measurement. */
async function lossesBy(model, rope) {
  const [answers, all] = [[], []];
  for (const pieces of texts) {
    const wordsOf = (piece) => piece.answer ?? piece;
    const tokens = model.tokenizer.encode(pieces.map(wordsOf).join(""));
    const { losses } = await model.perplexity(tokens, { window: tokens.length, rope });
    all.push(...losses.slice(1));
    let before = "";
    for (const piece of pieces) {
      before += wordsOf(piece);
      // each answer is one word, and so one token
      if (piece.answer !== undefined) answers.push(losses[model.tokenizer.encode(before).length - 1]);
    }
  }
  const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
  return { answers: mean(answers), all: mean(all) };
}

const near = (value, expected, limit = 1e-9) => assert.ok(Math.abs(value - expected) < limit, `${value} ${expected}`);

describe("searchRope()", () => {
  let rw, model;
  before(async () => {
    rw = await load({ build: "simd", threads: 1 });
    model = await rw.model(folder, { contextLength: LENGTH });
  });
  after(() => model.dispose());

  test("starts from PI, NTK-aware and YaRN, has the losses of perplexity(), and goes on where it was", async () => {
    const evaluated = [];
    const progress = [];
    const result = await searchRope(rw, model, {
      ...SEARCH,
      checkTexts: texts,
      onEvaluation: (evaluation) => evaluated.push(evaluation),
      onProgress: (state) => progress.push(state),
    });
    assert.equal(result.ended, "evaluations");
    assert.equal(result.evaluations, 16);
    assert.equal(evaluated.length, 16);
    assert.deepEqual(progress.at(-1), { done: 16, total: 16, loss: result.loss, firstLoss: progress.at(-1).firstLoss });

    const factor = LENGTH / 256;
    const scalings = {
      linear: { rope_type: "linear", factor },
      ntk: { rope_type: "ntk", factor },
      yarn: { rope_type: "yarn", factor, original_max_position_embeddings: 256 },
    };
    for (const [i, [name, rope_scaling]] of Object.entries(scalings).entries()) {
      const plan = (config) => {
        const rope = rw.rope(config);
        const { inv_freq, attention_factor } = rope.plan(LENGTH);
        rope.dispose();
        return { inv_freq, attention_factor };
      };
      const [plain, scaled] = [plan(model.rope), plan({ ...model.rope, rope_scaling })];
      const expected = Array.from(plain.inv_freq, (frequency, j) => frequency / scaled.inv_freq[j]);
      evaluated[i].factors.forEach((value, j) => near(value, expected[j], 1e-3 * expected[j]));
      near(evaluated[i].attention_factor, scaled.attention_factor, 1e-3);
      const compared = result.compared.find((one) => one.name === name);
      near(compared.checked.loss, (await lossesBy(model, { rope_scaling })).answers);
      assert.ok(result.loss <= compared.loss);
      assert.ok(compared.checked.right >= 0 && compared.checked.right <= 1);
    }
    for (const [name, rope_scaling] of [
      ["none", null],
      ["dynamic_yarn", { ...scalings.yarn, rope_type: "dynamic_yarn", replace: true }],
    ]) {
      const one = result.compared.find((each) => each.name === name);
      near(one.loss, one.checked.loss); // the same texts
      if (rope_scaling === null) near(one.loss, (await lossesBy(model, { rope_scaling })).answers);
      else assert.deepEqual(one.rope, { rope_scaling });
    }
    for (const { factors } of evaluated) {
      assert.equal(factors.length, 16);
      assert.ok(factors.every((value, j) => value >= 1 && value <= 2 * factor && value >= (factors[j - 1] ?? 1)));
    }
    const { rope } = result;
    assert.deepEqual(rope, {
      max_position_embeddings: LENGTH,
      rope_scaling: {
        rope_type: "longrope",
        factor,
        original_max_position_embeddings: 256,
        attention_factor: rope.rope_scaling.attention_factor,
        short_factor: Array(16).fill(1),
        long_factor: rope.rope_scaling.long_factor,
      },
    });
    near(result.loss, (await lossesBy(model, rope)).answers);
    near(result.compared[0].checked.loss, result.loss);

    // an interrupted search, and one that has nothing left to do
    for (const earlier of [evaluated.slice(0, 13), evaluated]) {
      const again = [];
      const resumed = await searchRope(rw, model, {
        ...SEARCH,
        evaluated: earlier,
        onEvaluation: (evaluation) => again.push(evaluation),
      });
      assert.deepEqual([...earlier, ...again], evaluated);
      assert.deepEqual([resumed.rope, resumed.loss, resumed.abandoned], [rope, result.loss, result.abandoned]);
    }
    const other = { ...evaluated[12], attention_factor: evaluated[12].attention_factor + 0.001 };
    for (const wrong of [other, null, { ...evaluated[12], sums: [1] }, { ...evaluated[12], sums: [NaN, 1] }]) {
      const given = searchRope(rw, model, { ...SEARCH, evaluated: [...evaluated.slice(0, 12), wrong] });
      await assert.rejects(given, { code: "INVALID_ARGUMENT", field: "evaluated[12]" });
    }
  });

  test("gives the same in a Worker, and gives up a candidate once its losses are above those of the parents", async () => {
    const one = { ...SEARCH, texts: texts.slice(0, 1), evaluations: 18 };
    const evaluated = [];
    const here = await searchRope(rw, model, { ...one, onEvaluation: (evaluation) => evaluated.push(evaluation) });
    const parents = [];
    for (const { sums, isWhole } of evaluated) {
      const sum = sums.reduce((a, b) => a + b, 0);
      const bound = parents.length < 12 ? Infinity : parents.sort((a, b) => a - b)[11];
      assert.equal(isWhole, sum <= bound * (1 + 1e-12));
      if (isWhole) parents.push(sum);
    }
    assert.equal(here.abandoned, evaluated.filter(({ isWhole }) => !isWhole).length);
    assert.ok(here.abandoned > 0);
    const worker = await loadInWorker({ build: "simd", threads: 1 });
    const remote = await worker.model(folder, { contextLength: LENGTH });
    assert.deepEqual(await searchRope(rw, remote, one), here);
    await worker.dispose();
  });

  test("other tokens count by their weight", async () => {
    const result = await searchRope(rw, model, { ...SEARCH, evaluations: 10, otherTokens: 1 });
    near(result.loss, (await lossesBy(model, result.rope)).all);
  });

  test("ends when the time is over, after the scalings that it starts from, and when it is aborted", async () => {
    const one = {
      length: 300,
      texts: [["The red ball is in the garden. The red ball is in the", { answer: " garden" }]],
    };
    const result = await searchRope(rw, model, { ...one, seconds: 1e-9 });
    assert.equal(result.ended, "time");
    assert.ok(result.evaluations >= 7 && result.evaluations <= 10, result.evaluations);
    const controller = new AbortController();
    const search = searchRope(rw, model, {
      ...one,
      signal: controller.signal,
      onProgress: () => controller.abort(new Error("enough")),
    });
    await assert.rejects(search, { message: "enough" });
  });

  test("refuses options by name", async () => {
    const refused = [
      [{ length: 256 }, "INVALID_ARGUMENT", "length"],
      [{ length: 1.5 }, "INVALID_ARGUMENT", "length"],
      [{ evaluations: 9 }, "INVALID_ARGUMENT", "evaluations"],
      [{ seconds: 0 }, "INVALID_ARGUMENT", "seconds"],
      [{ seconds: "60" }, "INVALID_ARGUMENT", "seconds"],
      [{ otherTokens: 1.1 }, "INVALID_ARGUMENT", "otherTokens"],
      [{ otherTokens: NaN }, "INVALID_ARGUMENT", "otherTokens"],
      [{ seed: -1 }, "INVALID_ARGUMENT", "seed"],
      [{ trainedLength: 0 }, "INVALID_ARGUMENT", "trainedLength"],
      [{ texts: [] }, "INVALID_ARGUMENT", "texts"],
      [{ texts: ["a text"] }, "INVALID_ARGUMENT", "texts[0]"],
      [{ texts: [["a text"]] }, "INVALID_ARGUMENT", "texts[0]"],
      [{ texts: [["a", { answer: 1 }]] }, "INVALID_ARGUMENT", "texts[0][1]"],
      [{ texts: [["a", { answer: "b", weight: 1 }]] }, "INVALID_ARGUMENT", "texts[0][1]"],
      [{ length: 310, texts }, "INVALID_ARGUMENT", "texts[0]"],
      [{ checkTexts: [[]] }, "INVALID_ARGUMENT", "checkTexts[0]"],
      [{ onProgress: 1 }, "INVALID_ARGUMENT", "onProgress"],
      [{ evaluation: 20 }, "UNKNOWN_KEY", "evaluation"],
    ];
    for (const [options, code, field] of refused)
      await assert.rejects(searchRope(rw, model, { ...SEARCH, ...options }), { code, field }, JSON.stringify(options));
    await assert.rejects(searchRope({}, model, SEARCH), { code: "INVALID_ARGUMENT", field: "rw" });
  });

  test("refuses models that factors can't be put on", async () => {
    const text = { texts: [["a b c d", { answer: " e" }]] };
    for (const name of ["gpt2", "phi4_mini", "gemma3", "bert", "qwen2_vl"]) {
      const refused = await rw.model(tiny(name));
      const search = searchRope(rw, refused, { ...text, length: 2 ** 20 });
      await assert.rejects(search, { code: "UNSUPPORTED_MODEL" }, name);
      refused.dispose();
    }
  });

  test("factors come on top of the model's own scaling", async () => {
    const own = {
      rope_type: "llama3",
      factor: 2,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 128,
    };
    const scaled = await rw.model(folder, { rope: { rope_scaling: own } });
    const { rope } = await searchRope(rw, scaled, { ...SEARCH, evaluations: 10 });
    const { short_factor, long_factor } = rope.rope_scaling;
    const described = rw.describe(scaled.rope).pairs.map(({ inv_freq }, j) => 10000 ** (-j / 16) / inv_freq);
    short_factor.forEach((value, j) => near(value, described[j], 1e-3 * value));
    assert.ok(long_factor.every((value, j) => value >= short_factor[j]));
    scaled.dispose();
  });
});
