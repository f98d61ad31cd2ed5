// Random RoPE keys in the configs of all model types: the numbers of transformers' own modules, or a refusal.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { load, ropeConfig } from "ropewalk";
import { LFM3 } from "./example_configs.mjs";
import { FAMILY_ROWS, FAMILY_TABLES, outcome, tablesOf, textPart } from "../helpers/family_defaults.mjs";

const FOLDER = process.env.ROPEWALK_RANDOM ?? fileURLToPath(new URL("../../golden/random/", import.meta.url));
const file = JSON.parse(readFileSync(join(FOLDER, "rope_configs.json"), "utf8"));
const tables = tablesOf(file);
const rw = await load();

const ROPE_KEYS = ["rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor"];

/** What is refused although transformers has numbers for it, and why. */
const REFUSALS = {
  "transformers drops these keys in silence": [
    /head_dim: of "\w.*" isn't read by its class/,
    /(rope_scaling|rope_parameters|rope_theta|partial_rotary_factor|rotary_dim): isn't read by the class of "\w/,
    /rope_parameters\.\w+: belongs to a kind of layer/,
    /rope_scaling\.type: isn't read by the class/,
  ],
  "its attention fails, or other layers than the file names are scaled": [
    /partial_rotary_factor: .* in DeepSeek-style attention/,
    /partial_rotary_factor: belongs to a kind of layer/,
    /can't be proportional in "deepseek_v4"/,
    /head_dim: is \d+, but must be \d+ as qk_rope_head_dim/,
  ],
  "its class takes another value than the released models have": [/(rope_theta|partial_rotary_factor): is missing/],
  "a YaRN of three elements, whose second pair is scaled as the first, or of one, which has no frequency": [
    /leaves [13] rotated elements, but yarn needs an even number/,
  ],
  "one pair, whose frequency is 1 under any base, or a rotated part that is wider than the head": [
    /rotary_dim: must be from 2 /,
  ],
  "the model's length is below the original one": [/max_position_embeddings: .* at least the original length/],
  "rotations that no config of this package describes": [
    / is not supported: /,
    /must be even: elements are rotated in/,
  ],
};

/** The config of a case: that of the model type's row, changed as the generator changes it. */
function configOf({ model_type, set, remove = [] }) {
  const config = structuredClone(FAMILY_ROWS.find((row) => row.model_type === model_type).config);
  const part = textPart(config);
  for (const key of [...ROPE_KEYS, ...remove]) delete part[key];
  Object.assign(part, set);
  return config;
}

/** LFM3's files mean the type proportional where transformers, and so the generator, rotates every pair. */
function meansProportional({ model_type, set }) {
  const full = (set.rope_parameters ?? set.rope_scaling)?.full_attention;
  const type = full?.rope_type ?? full?.type ?? "default";
  return model_type.startsWith("lfm3") && type === "default" && (full?.partial_rotary_factor ?? 1) !== 1;
}

const isWhole = (table, head_dim) => 2 * table.length === head_dim;

/** Whether the class's own attention layers have room for the rotated part, or (DeepSeek's) split it off at that width. */
function isRunnable({ model_type, rope = {} }) {
  const { rope: known, config } = FAMILY_ROWS.find((row) => row.model_type === model_type);
  const isSplit = textPart(config).qk_rope_head_dim !== undefined;
  return Object.entries(rope).every(([kind, { head_dim, inv_freq }]) => {
    const own = known[kind];
    if (own === undefined) return true;
    if (isSplit && isWhole(FAMILY_TABLES.get(own.inv_freq), own.head_dim) && !isWhole(tables.get(inv_freq), head_dim))
      return false;
    return head_dim !== null || own.head_dim === null;
  });
}

test(`${file.cases.length} configs with random keys (seed ${file.seed}, ${file.source})`, (t) => {
  const reasons = Object.values(REFUSALS).flat();
  const counts = { agree: 0, refused: 0, "transformers stops": 0, "as released": 0 };
  const wrong = [];
  for (const one of file.cases) {
    if (meansProportional(one)) {
      counts["as released"]++;
      continue;
    }
    const stops = one.error !== undefined || !isRunnable(one);
    const { agrees, refused, wrong: found } = outcome(rw, configOf(one), stops ? {} : one, tables);
    const isKnown = refused !== undefined && reasons.some((reason) => reason.test(refused.message));
    if (stops) counts["transformers stops"]++;
    else if (agrees) counts.agree++;
    else if (isKnown) counts.refused++;
    else {
      const { model_type, set, remove } = one;
      wrong.push(`${found ?? refused.message}\n  ${JSON.stringify({ model_type, set, remove })}`);
    }
  }
  t.diagnostic(JSON.stringify(counts));
  assert.equal(wrong.length, 0, `${wrong.length} differ:\n${wrong.slice(0, 20).join("\n")}`);
  assert.ok(counts.agree > 0.7 * file.cases.length, JSON.stringify(counts));
});

test("partial_rotary_factor under the type default: only some classes read it", () => {
  const share = (model_type, more) => {
    const set = { rope_parameters: { rope_type: "default", rope_theta: 1e4, partial_rotary_factor: 0.5, ...more } };
    const { rotary_dim, head_dim } = ropeConfig(configOf({ model_type, set }));
    return rotary_dim / head_dim;
  };
  for (const whole of ["llama", "qwen2", "qwen3", "mistral", "gemma", "olmo2", "lfm2", "cohere", "gpt_oss"]) {
    assert.equal(share(whole), 1, whole);
    assert.equal(share(whole, { rope_type: "linear", factor: 2 }), 0.5, whole);
  }
  for (const part of ["phi", "phi3", "glm4", "stablelm", "nemotron", "qwen3_next", "minimax_m2", "solar_open"]) {
    assert.equal(share(part), 0.5, part);
  }
});

test("LFM3's released file: frequencies over the whole head, the second half of them zero", () => {
  const { inv_freq, rotary_dim } = rw.rope(ropeConfig(LFM3, { layer_type: "full_attention" })).plan();
  assert.deepEqual([rotary_dim, inv_freq.length], [128, 64]);
  inv_freq.forEach((value, pair) => {
    const trained = pair < 32 ? 1e6 ** (-pair / 64) : 0;
    assert.ok(Math.abs(value - trained) <= 1e-15 * trained, `pair ${pair}: ${value}, not ${trained}`);
  });
  assert.equal(inv_freq[1].toFixed(3), "0.806");
  const { inv_freq: sliding } = rw.rope(ropeConfig(LFM3, { layer_type: "sliding_attention" })).plan();
  assert.ok(Math.abs(sliding[1] - 1e4 ** (-1 / 64)) < 1e-15);
});
