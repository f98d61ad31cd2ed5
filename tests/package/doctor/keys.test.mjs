// Keys of a config.json that are misspelt or have a wrong type, and LFM3's share without sliding layers.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { LFM3 } from "../config/example_configs.mjs";
import { FAMILY_ROWS, textPart } from "../helpers/family_defaults.mjs";
import { codesOf, diagnosed, qwen } from "./cases.mjs";

const qwen3 = { ...qwen, model_type: "qwen3", head_dim: 128, use_sliding_window: true, sliding_window: 4096 };

test("keys of sliding windows with a wrong value are errors, as of rw.model()", async () => {
  for (const [key, value, reason] of [
    ["use_sliding_window", "yes", /^must be true or false \(got "yes"\)\.$/],
    ["sliding_window", "4096", /^must be an integer from 0 to 2147483647 \(got "4096"\)\.$/],
    ["max_window_layers", "14", /^must be an integer from 0 /],
    ["layer_types", "sliding_attention", /^must be a list\b/],
    [
      "layer_types",
      Array(28).fill("slidng_attention"),
      /^must be "sliding_attention" or "full_attention" for layer 0 /,
    ],
  ]) {
    const { findings, verdict } = await diagnosed({ ...qwen3, [key]: value });
    const [found] = findings.filter(({ severity }) => severity === "error");
    assert.deepEqual([found.code, found.field], ["invalid-config", key]);
    assert.match(found.text, reason);
    assert.match(verdict.text, new RegExp(`${key} has an error`));
  }
  // A family that this package doesn't run has such a list too.
  const { findings } = await diagnosed({ ...qwen, model_type: "aria_text", layer_types: "full_attention" });
  assert.deepEqual(findings.map(({ field }) => field).slice(0, 1), ["layer_types"]);
});

test("the memory of a cache counts the windows of qwen3", async () => {
  const { layers, memory } = await diagnosed({ ...qwen3, max_window_layers: 14 });
  assert.deepEqual(
    layers.map(({ window, layers }) => [window, layers.length]),
    [
      [0, 14],
      [4096, 14],
    ],
  );
  const { bytes } = memory.lengths.find(({ length }) => length === 32768);
  assert.equal(bytes, 14 * 2 * 2 * 4 * 128 * (32768 + 4096));
});

test("misspelt keys, with the ones that are meant", async () => {
  for (const [key, value, meant] of [
    ["rope_tetha", 1e6, "rope_theta"],
    ["rope_scalling", { type: "linear", factor: 2 }, "rope_scaling"],
    ["max_postion_embeddings", 40960, "max_position_embeddings"],
    ["partial_rotary_facter", 0.5, "partial_rotary_factor"],
    ["slidng_window", 4096, "sliding_window"],
    ["head_dims", 64, "head_dim"],
    ["num_atention_heads", 32, "num_attention_heads"],
    ["rope-theta", 1e6, "rope_theta"],
    ["rms_norm_esp", 1e-5, "rms_norm_eps"],
  ]) {
    const { "key-misspelt": found } = await codesOf({ ...qwen, [key]: value });
    assert.deepEqual([found.severity, found.field], ["warning", key]);
    assert.ok(found.text.startsWith(`isn't a key that any reader knows; did you mean ${meant}?`), found.text);
  }
  const nested = await codesOf({ model_type: "llava", text_config: { ...qwen, rope_tetha: 1e6 } });
  assert.equal(nested["key-misspelt"].field, "text_config.rope_tetha");
  // It is said of a file that can't be read without the key, too.
  const { hidden_size, ...rest } = qwen;
  const { findings } = await diagnosed({ ...rest, hidden_szie: hidden_size });
  assert.deepEqual(findings.map(({ code }) => code).slice(0, 2), ["invalid-config", "key-misspelt"]);
});

test("no key of a tiny model's config is misspelt", async () => {
  const folder = fileURLToPath(new URL("../../golden/tiny_models/", import.meta.url));
  const files = readdirSync(folder)
    .map((name) => `${folder}${name}/config.json`)
    .filter((name) => existsSync(name));
  const configs = files.map((name) => JSON.parse(readFileSync(name, "utf8")));
  const byType = new Map(configs.map((config) => [config.model_type, config]));
  assert.ok(byType.size > 70, String(byType.size));
  // the keys of all classes of transformers with RoPE, as those of one file
  const keys = FAMILY_ROWS.flatMap(({ config }) => Object.entries(textPart(config)));
  const all = Object.fromEntries(keys.filter(([, value]) => typeof value !== "object"));
  for (const config of [...byType.values(), { ...all, model_type: "some other" }]) {
    const { findings } = await diagnosed(config);
    const found = findings.filter(({ code }) => code === "key-misspelt");
    assert.deepEqual(found, [], config.model_type);
  }
});

test("LFM3 means proportional wherever its layers are", async () => {
  const types = ["conv", "conv", "full_attention", "conv"];
  for (const layer_types of [types, Array(4).fill("full_attention")]) {
    const lfm3 = { ...LFM3, num_hidden_layers: 4, layer_types };
    const { findings, systems } = await diagnosed(lfm3);
    const found = findings.find(({ code }) => code === "share-under-default");
    assert.equal(found?.field, "rope_parameters.full_attention.partial_rotary_factor");
    assert.match(found.text, /which these files write for proportional/);
    assert.deepEqual(
      systems.map(({ same }) => same),
      [false, true, false, false, false],
    );
  }
});
