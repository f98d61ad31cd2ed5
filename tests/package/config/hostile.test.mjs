// Mutated configs and metadata: each ends in a config that plans, or in a RopewalkError. MUTATIONS=75000 looks longer.
import assert from "node:assert/strict";
import test from "node:test";
import { load, overrideRopeConfig, ropeConfig, ropeLayers, RopewalkError } from "ropewalk";
import { randomNumbers } from "../helpers/arrays.mjs";
import { FAMILY_ROWS } from "../helpers/family_defaults.mjs";

const MUTATIONS = Number(process.env.MUTATIONS ?? 3000);

const nested = (depth, wrap) => Array.from({ length: depth }).reduce((inner) => wrap(inner), 1);
const VALUES = [
  ...[null, true, false, 0, -0, 1, -1, 2, 3, 0.5, 1e-320, 1e30, 1e308, -1e308, 2 ** 31, 2 ** 53, 4294967296],
  ...["", "x", "half", "yarn", "1", "\u202e\u001b[2J", "full_attention", "__proto__", "x".repeat(1000)],
  ...[[], [1, 2], ["a"], [null], [[1]], Array(200).fill(7), {}, { a: 1 }, { toString: 1 }, { valueOf: "x" }],
  ...[nested(200, (inner) => [inner]), nested(200, (inner) => ({ text_config: inner })), { rope_type: "yarn" }],
];
const KEYS = (
  "model_type head_dim hidden_size num_attention_heads rope_theta rope_scaling rope_parameters partial_rotary_factor " +
  "rotary_dim max_position_embeddings original_max_position_embeddings layer_types text_config no_rope_layers type " +
  "sliding_window sliding_window_pattern num_hidden_layers rope_type factor mrope_section per_layer_config __proto__ " +
  "layer_rope_theta no_rope_layer_interval position_embedding_type partial_rotary_factors constructor decoder"
).split(" ");

const CONFIGS = FAMILY_ROWS.map(({ config }) => config);

const METADATA = ["llama", "gemma3", "deepseek2", "phi3", "step35", "smallthinker", "glm4", "grok", "deepseek4"].map(
  (arch) => {
    const keys = {
      block_count: 8,
      context_length: 4096,
      embedding_length: 1024,
      "attention.head_count": 8,
      "attention.key_length": 128,
      "attention.sliding_window": 512,
      "attention.sliding_window_pattern": 4,
      "attention.temperature_scale": 0.1,
      "rope.dimension_count": 128,
      "rope.dimension_sections": [24, 20, 20, 0],
      "rope.freq_base": 1e6,
      "rope.freq_base_swa": 1e4,
      "rope.scaling.type": "yarn",
      "rope.scaling.factor": 4,
      "rope.scaling.original_context_length": 1024,
      "rope.scaling.yarn_log_multiplier": 0.1,
    };
    const prefixed = Object.entries(keys).map(([key, value]) => [`${arch}.${key}`, value]);
    return { "general.architecture": arch, ...Object.fromEntries(prefixed) };
  },
);

/** Every object of a JSON value, as places to mutate. */
function objectsIn(value, found = []) {
  if (typeof value !== "object" || value === null) return found;
  if (!Array.isArray(value) || value.length > 0) found.push(value);
  Object.values(value).forEach((item) => objectsIn(item, found));
  return found;
}

/** A copy of a JSON value with a few changes: values of any type, removed, moved, renamed and doubled keys. */
function mutated(source, random) {
  const pick = (list) => list[Math.floor(random() * list.length)];
  const copy = structuredClone(source);
  for (let n = 1 + Math.floor(random() * 3); n > 0; --n) {
    const place = pick(objectsIn(copy));
    if (place === undefined) break;
    const key = pick(Object.keys(place)) ?? pick(KEYS);
    const value = Object.hasOwn(place, key) ? place[key] : null;
    const change = Math.floor(random() * 7);
    if (change === 0) delete place[key];
    if (change === 1) place[pick(KEYS)] = structuredClone(pick(VALUES));
    if (change === 2) place[key] = structuredClone(pick(VALUES));
    if (change === 3 && typeof value === "number") place[key] = value * pick([-1, 0.5, 1e9, 1e300, 1e-9, 1 + 1e-9]);
    if (change === 4) place[key] = pick([[value], { [pick(KEYS)]: value }]);
    const own = pick(Object.values(place)) ?? null;
    if (change === 5) place[pick(KEYS)] = structuredClone(own);
    if (change === 6) place[key] = structuredClone(own);
  }
  // JSON.parse makes own keys of __proto__, and takes the last of two equal keys, as files may have.
  const doubled = `"${pick(KEYS)}":${JSON.stringify(pick(VALUES))},`;
  const text = JSON.stringify(copy);
  return JSON.parse(random() < 0.2 && text.startsWith("{") && text !== "{}" ? `{${doubled}${text.slice(1)}` : text);
}

/** Whether the call ends as it should: true if it returns, false for a RopewalkError. */
function ends(call) {
  try {
    call();
    return true;
  } catch (error) {
    if (error instanceof RopewalkError) return false;
    throw error;
  }
}

async function checkAll(t, sources, seed) {
  const rw = await load();
  const random = randomNumbers(seed);
  const counts = { planned: 0, refused: 0 };
  for (let n = 0; n < MUTATIONS; ++n) {
    const source = mutated(sources[n % sources.length], random);
    const overrides =
      random() < 0.3 ? mutated({ rope_scaling: { rope_type: "yarn", factor: 4 }, head_dim: 64 }, random) : {};
    const layer_type = ["full_attention", "sliding_attention", "main", "conv", undefined][Math.floor(random() * 5)];
    try {
      ends(() => ropeLayers(source));
      const planned = ends(() => {
        const config = ropeConfig(source, { ...(layer_type && { layer_type }), overrides });
        const rope = rw.rope(config);
        try {
          assert.ok(rope.plan().inv_freq.every(Number.isFinite));
        } finally {
          rope.dispose();
        }
        ends(() => overrideRopeConfig(config, overrides));
      });
      ++counts[planned ? "planned" : "refused"];
    } catch (error) {
      error.message = `mutation ${n}: ${error.message}\n${JSON.stringify({ source, overrides, layer_type }).slice(0, 3000)}`;
      throw error;
    }
  }
  t.diagnostic(JSON.stringify(counts));
  assert.ok(counts.planned > MUTATIONS / 50 && counts.refused > MUTATIONS / 50, JSON.stringify(counts));
}

test(`${MUTATIONS} mutated config.json files`, (t) => checkAll(t, CONFIGS, 13));

test(`${MUTATIONS} mutated GGUF metadata`, (t) => checkAll(t, METADATA, 17));
