// One adapter on both files of every tiny model: the weights that it changes have other names and orders of rows in GGUF, so equal logits show
// that they are the same ones.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import test from "node:test";
import { adapterFiles, lowRank } from "../helpers/adapter_writer.mjs";
import { largestDifference, readExpected, tinyModel } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";
import { filesOf, lacksWindowInGguf, tinyModelNames, withTinyModel } from "../helpers/tiny_models.mjs";

// f32 in both, but sums in other orders. Measured: 2e-5.
const LIMIT = 2e-4;
/** What the adapter changes: linear layers by their usual names, of which a model has some. */
const LINEAR =
  /^(.*layers\.\d+\..*\.(?:[qkvo]_proj|out_proj|dense|gate_proj|up_proj|down_proj|fc_in|fc_out|c_fc|c_proj|fc1|fc2|w[123o]|wqkv|qkv_proj|query_key_value|dense_h_to_4h|dense_4h_to_h))\.weight$/;

/** Shapes of a model's 2D tensors by name. */
function shapesOf(name) {
  const bytes = readFileSync(tinyModel(`${name}/model.safetensors`));
  const header = JSON.parse(bytes.subarray(8, 8 + Number(bytes.readBigUInt64LE(0))));
  return Object.entries(header).flatMap(([key, { shape }]) => (shape?.length === 2 ? [[key, shape]] : []));
}

const modules = (name) =>
  shapesOf(name).flatMap(([key, shape]) => {
    const module = LINEAR.exec(key)?.[1];
    return module === undefined || /experts|visual|vision/.test(module) ? [] : [[module, shape]];
  });

async function logitsOf(model, prompt, adapters) {
  const session = model.session({ adapters });
  await session.append(prompt);
  const logits = session.logits();
  session.dispose();
  return logits;
}

const load = (model, wanted) => {
  const tensors = wanted.map(([module, [rows, columns]], i) => lowRank(module, rows, columns, { seed: i }));
  return model.loadAdapter(adapterFiles(Object.assign({}, ...tensors)));
};

const names = tinyModelNames().filter(
  (name) =>
    filesOf(name).length === 2 && existsSync(tinyModel(`${name}/model.safetensors`)) && !lacksWindowInGguf(name),
);
let compared = 0;
for (const name of names)
  test(`${name}: an adapter of PEFT on safetensors and on GGUF`, async (t) => {
    const all = modules(name);
    const { prompt } = readExpected(name, "expected.json");
    await withTinyModel(rw, `${name}/model.gguf`, async (gguf) => {
      const known = [];
      for (const module of all) {
        const adapter = await load(gguf, [module]).catch((error) => {
          assert.equal(error.code, "UNSUPPORTED_MODEL");
          assert.match(error.message, /no known counterpart|other rows/);
        });
        if (adapter === undefined) continue;
        known.push(module);
        adapter.dispose();
      }
      if (known.length === 0) return t.skip("none of its weights has a known counterpart");
      const [plain, adapted] = [[], [await load(gguf, known)]];
      const logits = await logitsOf(gguf, prompt, adapted);
      assert.ok(largestDifference([logits], [await logitsOf(gguf, prompt, plain)]) > 0.01);
      await withTinyModel(rw, name, async (folder) => {
        const other = await logitsOf(folder, prompt, [await load(folder, known)]);
        const difference = largestDifference([logits], [other]);
        assert.ok(difference < LIMIT, `${difference}, with ${known.length} of ${all.length} weights`);
      });
      t.diagnostic(`${known.length} of ${all.length} weights`);
      compared++;
    });
  });

test("most models can be compared", () => assert.ok(compared > 30, `${compared}`));
