// The class defaults of every model type of transformers with a rotary module agree, or are refused by name.
import assert from "node:assert/strict";
import test from "node:test";
import { load, ropeConfig, ropeLayers } from "ropewalk";
import { FAMILY_ROWS, FAMILY_SOURCE, outcome, textPart, variants } from "../helpers/family_defaults.mjs";

const rw = await load();

/** Codes with which a family may be refused. */
const REFUSALS = new Set(["UNKNOWN_FAMILY", "UNSUPPORTED_ROPE_TYPE", "INVALID_CONFIG"]);

/** Model types whose class defaults are refused although their family is known: what they say can't be computed. */
const KNOWN_BUT_REFUSED = {
  minimax_m3_vl: "rotary_dim",
  minimax_m3_vl_text: "rotary_dim",
  nemo_speechlm: "model_type",
};

for (const row of FAMILY_ROWS) {
  test(`${row.model_type} (${FAMILY_SOURCE})`, () => {
    for (const { name, config, truth } of variants(row)) {
      const { agrees, refused, wrong } = outcome(rw, config, truth);
      assert.equal(wrong, undefined, `${name}: ${wrong?.join("; ")}`);
      if (agrees || truth.error !== undefined) continue;
      assert.ok(refused !== undefined, `${name}: ${JSON.stringify(truth)} but planned`);
      assert.ok(REFUSALS.has(refused.code), `${name}: ${refused.code} ${refused.message}`);
    }
  });
}

test("families are refused with their name and the reason, whatever pairing is named", () => {
  const refused = FAMILY_ROWS.filter(({ axial, elsewhere }) => axial !== undefined || elsewhere !== undefined);
  assert.ok(refused.length > 50);
  for (const { model_type, config } of refused) {
    for (const options of [{}, { overrides: { pairing: "half", head_dim: 64 } }]) {
      try {
        ropeConfig(config, options);
      } catch (error) {
        const names = [model_type, textPart(config).model_type];
        assert.ok(
          names.some((name) => error.message.includes(`"${name}"`)),
          error.message,
        );
        continue;
      }
      assert.fail(model_type);
    }
  }
});

test("most families agree", () => {
  const count = FAMILY_ROWS.filter((row) =>
    [...variants(row)].every((v) => outcome(rw, v.config, v.truth).agrees),
  ).length;
  assert.ok(count >= 260, `${count} of ${FAMILY_ROWS.length}`);
  for (const model_type of Object.keys(KNOWN_BUT_REFUSED)) {
    const row = FAMILY_ROWS.find((row) => row.model_type === model_type);
    const field = outcome(rw, row.config, row).refused.field;
    assert.ok(field.endsWith(KNOWN_BUT_REFUSED[model_type]), field);
  }
});

test("values of layer_types work as layer_type (DeepSeek-V4)", () => {
  const { config } = FAMILY_ROWS.find(({ model_type }) => model_type === "deepseek_v4");
  for (const layer_type of new Set(config.layer_types)) {
    const { rope_theta } = ropeConfig(config, { layer_type });
    assert.equal(rope_theta, layer_type === "sliding_attention" ? 10000 : 160000, layer_type);
  }
  const rows = FAMILY_ROWS.filter(({ rope, config }) => rope !== undefined && Array.isArray(config.layer_types));
  assert.ok(rows.length > 30);
  for (const { model_type, config } of rows) {
    for (const layer_type of new Set(config.layer_types)) {
      const call = () => ropeConfig(config, { layer_type });
      // Each is the RoPE of some layers, or says that they have none.
      try {
        call();
      } catch (error) {
        assert.ok(error.code !== "INVALID_ARGUMENT", `${model_type} ${layer_type}: ${error.message}`);
      }
    }
  }
});

test("classes with their own scaling bring it where the file says null or nothing", () => {
  const apertus = (more) => ropeConfig({ model_type: "apertus", hidden_size: 4096, num_attention_heads: 32, ...more });
  for (const config of [
    apertus(),
    apertus({ rope_scaling: null }),
    apertus({ rope_parameters: null, rope_scaling: {} }),
  ]) {
    assert.equal(config.rope_scaling.rope_type, "llama3");
    assert.equal(config.rope_theta, 1.2e7);
  }
  // transformers keeps the base of the class's scaling, and takes rope_theta with a scaling of the file.
  assert.equal(apertus({ rope_theta: 5e5 }).rope_theta, 1.2e7);
  assert.equal(apertus({ rope_theta: 5e5, rope_scaling: { type: "linear", factor: 2 } }).rope_theta, 5e5);
});

test("Phi-3's class has an original length, which wins over one inside the scaling", () => {
  const list = Array.from({ length: 48 }, () => 1);
  const rope_scaling = {
    type: "longrope",
    short_factor: list,
    long_factor: list,
    original_max_position_embeddings: 8192,
  };
  const phi = (more) =>
    ropeConfig({
      model_type: "phi3",
      hidden_size: 3072,
      num_attention_heads: 32,
      max_position_embeddings: 131072,
      rope_scaling,
      ...more,
    }).rope_scaling.original_max_position_embeddings;
  assert.equal(phi(), 4096);
  assert.equal(phi({ original_max_position_embeddings: 16384 }), 16384);
});

test("a pairing named by hand needs a width of heads without doubt", () => {
  const unknown = { model_type: "brand_new", hidden_size: 2560, num_attention_heads: 32 };
  const read = (more, overrides) =>
    ropeConfig({ ...unknown, ...more }, { overrides: { pairing: "half", ...overrides } });
  assert.equal(read().head_dim, 80);
  assert.equal(read({ head_dim: 64, attention_head_dim: 160 }).head_dim, 64);
  for (const more of [
    { attention_head_dim: 160, kv_channels: 80 },
    { d_kv: 64 },
    { attention_head_size: 64 },
    { hidden_size_per_head: 64, d_head: 32 },
    { qk_nope_head_dim: 128 },
  ]) {
    assert.throws(() => read(more), { code: "INVALID_CONFIG", field: "head_dim" }, JSON.stringify(more));
    assert.equal(read(more, { head_dim: 64 }).head_dim, 64);
  }
  // A pairing doesn't make a family without RoPE, or with another one, a RoPE of this package.
  assert.throws(() => read({ model_type: "gpt2" }), { code: "INVALID_CONFIG", field: "model_type" });
  assert.throws(() => read({ model_type: "qwen2_vl_vision" }), { code: "UNSUPPORTED_ROPE_TYPE", field: "model_type" });
});

test("nanochat turns pairs the other way", () => {
  const { config } = FAMILY_ROWS.find(({ model_type }) => model_type === "nanochat");
  const rope = ropeConfig(config);
  assert.equal(rope.reversed, true);
  const x = Float32Array.from({ length: rope.head_dim }, (_, i) => (i % 7) - 3);
  const rotated = (config, inverse) => {
    const made = rw.rope(config);
    const out = made.rotate(x.slice(), { layout: "thd", shape: [1, 1, rope.head_dim], positions: 5, inverse });
    made.dispose();
    return out;
  };
  assert.deepEqual(rotated(rope, false), rotated({ ...rope, reversed: false }, true));
  assert.notDeepEqual(rotated(rope, false), rotated({ ...rope, reversed: false }, false));
});

test("layers without RoPE of the families that say so by layer", () => {
  const layers = (model_type) => ropeLayers(FAMILY_ROWS.find((row) => row.model_type === model_type).config);
  for (const model_type of ["muse_glimmer_text", "muse_spark_text", "beam", "kolibri1", "flint"]) {
    const used = layers(model_type);
    assert.ok(used.includes(true) && used.includes(false), model_type);
  }
});
