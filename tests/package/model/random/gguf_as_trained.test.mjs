// Keys of GGUF files that llama.cpp doesn't read, or reads otherwise: the results are those of the config.json from which a converter
// writes them, which config_fields.test.mjs compares with transformers.
import assert from "node:assert/strict";
import test from "node:test";
import { ggufBytes } from "../../../files/gguf_writer.mjs";
import { changedFiles, changedGguf } from "../../helpers/changed_models.mjs";
import { isNear, resultOf } from "../../helpers/field_results.mjs";
import { rejects, rw } from "../../helpers/runtime.mjs";

const f32 = (value) => ["f32", value];
const u32 = (value) => ["u32", value];

/** The GGUF file and the folder with the same change have the same result, which isn't that of a folder with `other`. */
async function assertSame(name, keys, set, other) {
  const numbers = await resultOf(name, changedGguf(name, keys));
  const title = `${name} ${JSON.stringify(keys)}`;
  const ofFolder = async (set) => resultOf(name, changedFiles(name, { set }));
  assert.ok(isNear(numbers, await ofFolder(set)), title);
  assert.ok(!isNear(numbers, await ofFolder(other)), `${title} has no effect`);
}

const YARN = { rope_type: "yarn", rope_theta: 1000, factor: 4, original_max_position_embeddings: 128 };
const YARN_KEYS = {
  "rope.scaling.type": ["string", "yarn"],
  "rope.scaling.factor": f32(4),
  "rope.scaling.original_context_length": u32(128),
};
const YARN_VALUES = { yarn_attn_factor: [1, 1.5], yarn_beta_fast: [2, 3], yarn_beta_slow: [0.0625, 0.25] };
const FIELDS = { yarn_attn_factor: "attention_factor", yarn_beta_fast: "beta_fast", yarn_beta_slow: "beta_slow" };

for (const name of ["qwen2", "llama", "granite", "smollm3"])
  test(`${name}: YaRN's keys mean the fields of rope_parameters`, async () => {
    for (const [key, values] of Object.entries(YARN_VALUES))
      for (const value of values)
        await assertSame(
          name,
          { ...YARN_KEYS, [`rope.scaling.${key}`]: f32(value) },
          { rope_parameters: { ...YARN, [FIELDS[key]]: value } },
          { rope_parameters: YARN },
        );
  });

test("the windows of Phi-3 and of EXAONE 4 with any number of layers", async () => {
  for (const name of ["phi3", "exaone4_full"])
    for (const window of [8, 21, 40]) {
      const types = name === "phi3" ? {} : { layer_types: undefined, sliding_window_pattern: 4 };
      const other = { ...types, sliding_window: 12 };
      await assertSame(name, { "attention.sliding_window": u32(window) }, { ...types, sliding_window: window }, other);
    }
});

test("MiniCPM's logits of files without a scale are those of its class", async () => {
  await assertSame("minicpm", { logit_scale: null }, { dim_model_base: 256 }, { dim_model_base: 16 });
  await assertSame("minicpm", { logit_scale: f32(24 / 64) }, { dim_model_base: 64 }, { dim_model_base: 16 });
});

test("DeepSeek-V2 scores a group by its largest weight, with and without the key of its weights", async () => {
  for (const gating of [null, u32(1)])
    for (const groups of [2, 3]) {
      const keys = { expert_gating_func: gating, expert_group_count: u32(groups), expert_group_used_count: u32(1) };
      await assertSame("deepseek_v2_lite", keys, { n_group: groups, topk_group: 1 }, { n_group: 1, topk_group: 1 });
    }
});

test("EXAONE 4 of 64 layers, for which llama.cpp has a window of its own, needs the key", async () => {
  const keys = { block_count: 64, context_length: 128, embedding_length: 24, "attention.head_count": 3 };
  const own = Object.entries(keys).map(([key, value]) => [`exaone4.${key}`, value]);
  const metadata = { "general.architecture": "exaone4", ...Object.fromEntries(own) };
  const tensors = Array.from({ length: 64 }, (_, layer) => ({ name: `blk.${layer}.x`, type: "f32", shape: [1] }));
  const fileOf = (more) => [new File([ggufBytes({ metadata: { ...metadata, ...more }, tensors })], "model.gguf")];
  const refuses = (more) =>
    rejects(rw.model(fileOf(more)), "UNSUPPORTED_MODEL", "model.gguf: exaone4.attention.sliding_window");
  await refuses({});
  await refuses({ "exaone4.attention.sliding_window": 0 });
});
