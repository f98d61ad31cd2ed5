// The searched scalings of the small model: on a story that they weren't searched on, answers have lower losses than under YaRN.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { load } from "ropewalk";
import { lossesOf } from "../../../examples/small_model/measures.mjs";
import { textOf } from "../../../examples/small_model/texts.mjs";

const folder = new URL("../../../examples/small_model/", import.meta.url);

for (const length of [1024, 4096]) {
  test(`searched/${length}.json`, async () => {
    const rope = JSON.parse(await readFile(new URL(`searched/${length}.json`, folder), "utf8"));
    const yarn = { rope_type: "yarn", factor: length / 256, original_max_position_embeddings: 256, replace: true };
    const model = await (await load({ build: "simd" })).model(folder, { contextLength: length, kv: { dtype: "f32" } });
    const text = textOf({ seed: 6_500_005, length, near: false });
    const answerLoss = async (overrides) => {
      const losses = await lossesOf({ tokenizer: model.tokenizer, perplexity: (tokens, options) => model.perplexity(tokens, { ...options, rope: overrides }) }, text); // prettier-ignore
      return text.questions.reduce((sum, { at }) => sum + losses[at], 0) / text.questions.length;
    };
    const [found, compared] = [await answerLoss(rope), await answerLoss({ rope_scaling: yarn })];
    assert.ok(found < compared, `${found} ${compared}`);
    model.dispose();
  });
}
