// Compares what ropeConfig() makes of the class defaults of transformers' model types with transformers' own modules.
import { readFileSync } from "node:fs";
import { ropeConfig, RopewalkError } from "ropewalk";

/**
 * transformers computes in f32, and PyTorch's vector power differs by processor: its frequencies are within 3e-7 of
 * exact ones (tests/golden/README.md). Its softmax scales are rounded to nine digits here.
 */
const FREQUENCY_TOLERANCE = 3e-7;
const FACTOR_TOLERANCE = 1e-6;

const ROPE_KEYS = ["rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor"];
const NESTED = ["text_config", "thinker_config", "vlm_config", "decoder_config", "decoder"];

const file = JSON.parse(readFileSync(new URL("../../golden/family_defaults.json", import.meta.url), "utf8"));

/** One row per model type: its saved class defaults, and their RoPE in transformers by kind of layer, or why it has none. */
export const FAMILY_ROWS = file.rows;
export const FAMILY_SOURCE = file.source;

/** The tables of frequencies of a file, by name. */
export const tablesOf = (file) =>
  new Map(
    Object.entries(file.tables).map(([name, text]) => {
      const bytes = Uint8Array.from(Buffer.from(text, "base64"));
      return [name, new Float32Array(bytes.buffer)];
    }),
  );

/** Those of the class defaults. */
export const FAMILY_TABLES = tablesOf(file);

/** The part of a config with the language model. */
export function textPart(config) {
  const name = NESTED.find((name) => typeof config[name] === "object" && config[name] !== null);
  return name === undefined ? config : textPart(config[name]);
}

function changed(config, change) {
  const copy = structuredClone(config);
  change(textPart(copy));
  return copy;
}

/** The saved config of a row, and changed ones, each with its RoPE in transformers. */
export function* variants(row) {
  const { config } = row;
  const truth = { rope: row.rope, error: row.error, axial: row.axial, elsewhere: row.elsewhere };
  const withoutKeys = row.without_rope_keys ?? truth;
  const bare = (part) => ROPE_KEYS.forEach((key) => delete part[key]);
  yield { name: "saved", config, truth };
  yield { name: "without rope keys", config: changed(config, bare), truth: withoutKeys };
  const nulls = (part) => Object.assign(part, bare(part), { rope_parameters: null, rope_scaling: null });
  yield { name: "rope keys null", config: changed(config, nulls), truth: withoutKeys };
  const otherWidth = (part) => {
    bare(part);
    delete part.head_dim;
    if (Number.isInteger(part.hidden_size)) part.hidden_size *= 2;
  };
  yield { name: "other width", config: changed(config, otherWidth), truth: row.with_other_width ?? truth };
}

/**
 * What a config gives: { refused: error } or { wrong: [differences] } for any kind of layer, else { agrees: true }. An
 * error that isn't a RopewalkError is thrown.
 */
export function outcome(rw, config, truth, own = FAMILY_TABLES) {
  const kinds = Object.entries(truth.rope ?? { "": null });
  const wrong = [];
  for (const [kind, expected] of kinds) {
    const longer = truth.longer?.[kind];
    const given = attempt(() => read(rw, config, kind, longer?.length));
    if (given.refused) return given;
    if (expected !== null) wrong.push(...differences(given, expected, own).map((text) => `${kind} ${text}`.trim()));
    if (longer?.inv_freq !== undefined) {
      const found = planDifferences(given.longer, longer, own);
      wrong.push(...found.map((text) => `${kind} ${text} at ${longer.length} tokens`.trim()));
    }
  }
  if (wrong.length > 0) return { wrong };
  return truth.rope ? { agrees: true } : { unchecked: true };
}

function attempt(call) {
  try {
    return call();
  } catch (error) {
    if (error instanceof RopewalkError) return { refused: error };
    throw error;
  }
}

function read(rw, config, kind, longer) {
  const rope = ropeConfig(config, kind === "" ? {} : { layer_type: kind });
  const made = rw.rope({ ...rope, precision: "hf" });
  try {
    return { rope, plan: made.plan(), longer: longer === undefined ? undefined : made.plan(longer) };
  } finally {
    made.dispose();
  }
}

function differences({ rope, plan }, expected, tables) {
  const found = planDifferences(plan, expected, tables);
  const compare = (what, value, wanted) => value === wanted || found.push(`${what} ${value}, not ${wanted}`);
  if (expected.pairing !== null) {
    if (plan.inv_freq.length > 1) compare("pairing", rope.pairing, expected.pairing); // one pair is the same in each
    compare("rotary_offset", rope.rotary_offset ?? 0, expected.rotary_offset ?? 0);
    compare("reversed", rope.reversed ?? false, expected.opposite_direction ?? false);
  }
  if (expected.head_dim !== null) compare("head_dim", rope.head_dim, expected.head_dim);
  if (expected.softmax_scale) near(found, "softmax_scale", plan.softmax_scale, expected.softmax_scale);
  return found;
}

const near = (found, what, value, wanted) =>
  Math.abs(value / wanted - 1) <= FACTOR_TOLERANCE || found.push(`${what} ${value}, not ${wanted}`);

function planDifferences(plan, expected, tables) {
  const inv_freq = tables.get(expected.inv_freq);
  const found = [];
  if (plan.inv_freq.length !== inv_freq.length) found.push(`pairs ${plan.inv_freq.length}, not ${inv_freq.length}`);
  const off = inv_freq.map((wanted, j) => Math.abs(plan.inv_freq[j] - wanted) / (wanted || 1));
  const worst = Math.max(...off);
  if (!(worst <= FREQUENCY_TOLERANCE)) found.push(`frequencies off by ${worst.toExponential(1)}`);
  near(found, "attention_factor", plan.attention_factor, expected.attention_factor ?? 1);
  return found;
}
