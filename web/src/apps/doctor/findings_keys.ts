// Findings about keys: which program reads which spelling.
import { isDict } from "../../core/base/dict.js";
import { isAbsent } from "../../core/config/values.js";
import { overrideRopeConfig } from "../../core/config/rope_config.js";
import { type Facts, numberOf, shown, tokens, valueOf } from "./facts.js";
import { type Check, finding, issue } from "./findings.js";
import { compare, differenceText, planIn } from "./plans.js";
import { shareByDefault } from "./readings.js";

/** Families that transformers had by then, and that people extend. */
const OLD_FAMILIES = ["llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe"];

/** Names of the base in a family. */
const baseKeys = ({ traits }: Facts): string[] => ["rope_theta", traits.theta_key ?? "rope_theta"];

const legacyType: Check = ({ scaling, path }) =>
  scaling["type"] === undefined || scaling["rope_type"] !== undefined
    ? undefined
    : finding(
        "legacy-type",
        "note",
        `${path}.type`,
        "is the name of rope_type in files before transformers 4.43. transformers, llama.cpp's converter and vLLM read both; some smaller programs read only rope_type and stop with a KeyError. Write both to be safe.",
        issue("transformers#32167"),
      );

const bothSpellings: Check = ({ facts }) =>
  isDict(valueOf(facts, "rope_scaling")) && isDict(valueOf(facts, "rope_parameters"))
    ? finding(
        "both-spellings",
        "warning",
        `${facts.prefix}rope_parameters`,
        "is in the file together with rope_scaling, its older name. Newer programs take rope_parameters and older ones rope_scaling, so the two must agree. Keep one.",
        issue("transformers#39847"),
      )
    : undefined;

/** Transformers 4 has never read rope_parameters, so what it did wrong with rope_scaling doesn't matter then. */
const isNewSpelling = (facts: Facts): boolean =>
  isDict(valueOf(facts, "rope_parameters")) && !isDict(valueOf(facts, "rope_scaling"));

/** Programs before transformers 5 take the base from the top level, and the scaling from rope_scaling. */
const newSpelling: Check = ({ facts, main, rw, length }) => {
  if (!isNewSpelling(facts)) return undefined;
  // in families whose layers differ, so do the defaults
  const base = numberOf(facts, baseKeys(facts)) ?? facts.traits.rope_theta ?? (main.kind === null ? 10000 : undefined);
  const old = overrideRopeConfig(main.config, { rope_theta: base ?? main.base, rope_scaling: null });
  const difference = compare(planIn(rw, old, "hf", length), planIn(rw, main.config, "hf", length));
  const used =
    base === undefined
      ? "the base that is their default for this family, and no scaling"
      : `base ${shown(base)} and no scaling (${differenceText(difference)})`;
  return finding(
    "new-spelling",
    difference.same && base !== undefined ? "note" : "warning",
    `${facts.prefix}rope_parameters`,
    `is the spelling of transformers 5. Programs made for version 4 read rope_theta and rope_scaling at the top level instead: they would use ${used}. Add the old keys for them.`,
    issue("sglang#26187"),
  );
};

/** From PR #36877 to PR #40320, transformers divided the two lengths and didn't look at the factor. */
const factorIgnored: Check = ({ main, rw, length, scaling, path, facts }) => {
  const { factor, original_max_position_embeddings: original } = main.config.rope_scaling ?? {};
  const max = numberOf(facts, "max_position_embeddings");
  const isYarn = main.rope_type === "yarn" && scaling["factor"] !== undefined && original !== undefined;
  if (
    !isYarn ||
    isNewSpelling(facts) ||
    factor === undefined ||
    max === undefined ||
    max < original ||
    max / original === factor
  )
    return undefined;
  const derived = overrideRopeConfig(main.config, { rope_scaling: { factor: max / original } });
  const difference = compare(planIn(rw, derived, "hf", length), planIn(rw, main.config, "hf", length));
  return finding(
    "factor-ignored",
    "warning",
    `${path}.factor`,
    `is ${shown(factor)}, but versions of transformers before PR #40320 (August 2025) ignore it when original_max_position_embeddings is there, and divide max_position_embeddings by it: ${tokens(max)} / ${tokens(original)} = ${shown(max / original)}. There ${differenceText(difference)}. Set max_position_embeddings to ${tokens(factor * original)}.`,
    issue("transformers#38224"),
  );
};

const factorContradictsLengths: Check = ({ main, path }) => {
  const { factor, original_max_position_embeddings: original, rope_type } = main.config.rope_scaling ?? {};
  const max = main.config.max_position_embeddings;
  const isRatio = rope_type === "yarn" || rope_type === "ntk_by_parts" || rope_type === "longrope";
  if (!isRatio || factor === undefined || original === undefined || max === undefined || factor * original >= max - 1)
    return undefined;
  return finding(
    "factor-contradicts-lengths",
    "warning",
    `${path}.factor`,
    `${shown(factor)} × ${tokens(original)} = ${tokens(factor * original)}, but max_position_embeddings is ${tokens(max)}. transformers warns and uses the factor as it is written${rope_type === "longrope" ? "; vLLM divides the two lengths" : ""}. Beyond ${tokens(factor * original)} tokens, angles leave the trained range.`,
    "docs/scaling_types.md",
  );
};

const originalLengthMissing: Check = ({ main, facts, scaling, path }) => {
  const needs = ["yarn", "longrope", "llama3"].includes(main.rope_type);
  const given =
    scaling["original_max_position_embeddings"] ??
    valueOf(facts, "original_max_position_embeddings", "rope.scaling.original_context_length") ??
    facts.traits.original_max_position_embeddings;
  if (!needs || !isAbsent(given)) return undefined;
  const key = facts.isGguf ? "original_context_length" : "original_max_position_embeddings";
  const used = main.config.rope_scaling?.original_max_position_embeddings;
  return finding(
    "original-length-missing",
    "warning",
    `${path}.${key}`,
    `is missing, so transformers and llama.cpp take the model's whole length${used === undefined ? "" : `, ${tokens(used)},`} for the trained one, and vLLM stops with an error. ${main.rope_type}'s ramp is counted in rotations within the trained length: name it.`,
    issue("vllm#10293"),
  );
};

/** Before PR #36877, transformers took max_position_embeddings for the trained length. */
const originalLengthUnrecognized: Check = ({ main, rw, length, scaling, path, facts }) => {
  const original = scaling["original_max_position_embeddings"];
  const max = numberOf(facts, "max_position_embeddings");
  const isOld = OLD_FAMILIES.includes(facts.family ?? "") && !isNewSpelling(facts);
  if (!isOld || main.rope_type !== "yarn" || typeof original !== "number" || max === undefined) return undefined;
  const old = overrideRopeConfig(main.config, { rope_scaling: { original_max_position_embeddings: max } });
  const difference = compare(planIn(rw, old, "hf", length), planIn(rw, main.config, "hf", length));
  return finding(
    "original-length-unrecognized",
    "note",
    `${path}.original_max_position_embeddings`,
    `"Unrecognized keys in rope_scaling" is printed by versions of transformers before PR #36877 (March 2025), also inside vLLM. They take max_position_embeddings, ${tokens(max)}, for the trained length: ${difference.same ? "the same numbers here, so the message can be ignored" : `${differenceText(difference)}. Update transformers`}.`,
    issue("vllm#10293"),
  );
};

/** Whether a system's numbers change with a key was found by trying; here is why. */
const attnFactor: Check = ({ scaling, path, systems }) => {
  if (scaling["attn_factor"] === undefined) return undefined;
  const readers = systems.filter(({ reads }) => reads.includes("attn_factor")).map(({ system }) => system);
  return finding(
    "attn-factor",
    "warning",
    `${path}.attn_factor`,
    `isn't attention_factor. ${readers.length === 0 ? "None of these systems reads it" : `Only ${readers.join(" and ")} ${readers.length === 1 ? "reads" : "read"} it, as a factor on top of YaRN's own`}; transformers reads attention_factor, which replaces YaRN's own.`,
    "https://huggingface.co/deepseek-ai/DeepSeek-R1-0528-Qwen3-8B/discussions",
  );
};

const attentionFactor: Check = ({ main, path, systems, facts }) => {
  const given = main.config.rope_scaling?.attention_factor;
  const deaf = systems.filter(({ ignores }) => ignores.includes("attention_factor"));
  if (given === undefined || deaf.length === 0) return undefined;
  const byFactor = new Map<string, string[]>();
  for (const { system, layers } of deaf) {
    const factor = shown(layers[0]?.attention_factor ?? 1);
    byFactor.set(factor, [...(byFactor.get(factor) ?? []), system]);
  }
  const computed = [...byFactor].map(
    ([factor, names]) => `${names.join(" and ")} ${names.length === 1 ? "multiplies" : "multiply"} by ${factor}`,
  );
  const isSame = deaf.every(({ same }) => same);
  return finding(
    "attention-factor-ignored",
    isSame ? "note" : "warning",
    facts.isGguf ? `${path}.attn_factor` : `${path}.attention_factor`,
    `is ${shown(given)}, but ${computed.join(", ")}${isSame ? ", which is the same here" : ""}.`,
    issue("vllm#46280"),
  );
};

const shareUnderDefault: Check = ({ main, facts, path, scaling }) => {
  const share = shareByDefault(facts, main.kind);
  if (share === undefined || main.config.rotary_dim === Math.trunc(main.head_dim * share)) return undefined;
  const field =
    scaling["partial_rotary_factor"] === undefined
      ? `${facts.prefix}partial_rotary_factor`
      : `${path}.partial_rotary_factor`;
  const text =
    main.rope_type === "proportional"
      ? `is beside the type default, which these files write for proportional: frequencies are spaced over the whole head, and ${shown(100 * share)} % of the pairs rotate. transformers rotates every pair, llama.cpp reads the factors in the GGUF file, and vLLM would rotate the first ${Math.trunc(main.head_dim * share)} elements. Write rope_type proportional.`
      : `isn't read under the type default by the class of this family: transformers rotates the whole head, and vLLM ${shown(100 * share)} % of it. Leave it out, unless the model was trained that way.`;
  return finding("share-under-default", "warning", field, text, "docs/which_rope.md#the-five-settings");
};

const baseMissing: Check = ({ main, facts, scaling }) => {
  const isGiven = facts.isGguf
    ? valueOf(facts, [], "rope.freq_base") !== undefined
    : main.base !== 10000 || scaling["rope_theta"] !== undefined || valueOf(facts, baseKeys(facts)) !== undefined;
  if (isGiven || main.rope_type === "custom" || main.base !== 10000) return undefined;
  return finding(
    "base-missing",
    "note",
    facts.isGguf ? `${facts.prefix}rope.freq_base` : `${facts.prefix}rope_theta`,
    "isn't in the file, so 10000 is used, as by all systems. If the model was trained with another base, every text is worse.",
    "docs/gibberish.md#the-wrong-base",
  );
};

/** In the order in which they are listed. */
export const KEY_CHECKS: readonly Check[] = [
  factorIgnored,
  factorContradictsLengths,
  originalLengthMissing,
  shareUnderDefault,
  attnFactor,
  attentionFactor,
  bothSpellings,
  newSpelling,
  originalLengthUnrecognized,
  legacyType,
  baseMissing,
];
