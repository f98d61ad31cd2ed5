// Adapters of modules that transformers 5 has split, on files with one tensor for them: PEFT's vectors.
import assert from "node:assert/strict";
import test from "node:test";
import { adapterFiles, lowRank } from "../helpers/adapter_writer.mjs";
import { adaptersIn, expectedOf, folderOf } from "../helpers/adapters.mjs";
import { largestDifference, tinyModel } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";
import { withTinyModel } from "../helpers/tiny_models.mjs";

const LIMIT = 1e-4; // f32 against f64, as in parity.test.mjs

for (const name of adaptersIn("expected_vector.json"))
  test(`${name}: PEFT's vector`, () => {
    const { model: base, tokens, vector } = expectedOf(name, "expected_vector.json");
    return withTinyModel(rw, base, async (model) => {
      const adapter = await model.loadAdapter(`${folderOf(name)}/`);
      const vectorOf = (adapters) => model.embed([tokens], { pooling: "mean", normalize: false, adapters });
      const difference = largestDifference(await vectorOf([adapter]), [vector]);
      assert.ok(difference < LIMIT, `${difference}`);
      const without = largestDifference(await vectorOf([]), [vector]);
      assert.ok(without > 0.05, `the adapter hardly changes the model: ${without}`);
      assert.equal(new Set(adapter.info.targets).size, adapter.info.targets.length);
    });
  });

test("a part of another size is refused with the number of parts", async () => {
  const model = await rw.model(tinyModel("gte/"));
  const load = (module, rows) => model.loadAdapter(adapterFiles(lowRank(module, rows, 24)));
  await assert.rejects(load("layers.0.self_attn.k_proj", 23), {
    code: "INVALID_FILE",
    message: /23 × 24, but encoder\.layer\.0\.attention\.qkv_proj\.weight of the model is 72 × 24, in 3 parts/,
  });
  await assert.rejects(load("layers.0.mlp.up_proj", 72), { code: "INVALID_FILE", message: /in 2 parts/ });
  model.dispose();
});
