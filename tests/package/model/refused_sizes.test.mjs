// Sizes in a config.json that transformers computes nothing sensible for, or stops at: they are refused by their names.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { changedFiles } from "../helpers/changed_models.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";

const open = (name, set) => rw.model(changedFiles(name, { set }));

for (const name of ["stablelm", "phi"])
  test(`${name}: the class cuts rotated elements by its own count, so that one is taken twice and three stop it`, async () => {
    const config = JSON.parse(readFileSync(tinyModel(`${name}/config.json`), "utf8"));
    const headDim = config.hidden_size / config.num_attention_heads;
    const share = (elements) => ({
      rope_parameters: { ...config.rope_parameters, partial_rotary_factor: (elements + 0.01) / headDim },
    });
    for (const elements of [1, 3])
      await assert.rejects(open(name, share(elements)), {
        code: "INVALID_FILE",
        field: "model.safetensors: partial_rotary_factor",
        message: new RegExp(`must leave an even number of rotated elements \\(got ${elements}\\)`),
      });
    const model = await open(name, share(2));
    assert.equal(model.info.layers[0].rope.rotary_dim, 2);
    model.dispose();
  });

test("DeepSeek-V2 can't use more experts than the chosen groups have", async () => {
  // 6 experts in 2 groups, of which a token uses 1
  await assert.rejects(open("deepseek_v2_lite", { num_experts_per_tok: 4 }), {
    code: "INVALID_FILE",
    field: "model.safetensors: num_experts_per_tok",
    message: /must be at most the 3 experts of the groups that a token uses \(got 4\)/,
  });
  (await open("deepseek_v2_lite", { num_experts_per_tok: 3 })).dispose();
  (await open("deepseek_v2_lite", { num_experts_per_tok: 4, topk_method: "greedy" })).dispose();
});
