// Findings about using a model: lengths that programs refuse, cached keys, and conversions between formats.
import { RopewalkError } from "../../core/base/errors.js";
import {
  largestDistance,
  mapAsOption,
  mapFor,
  mapInWords,
  type PositionMapType,
  swappedNumbers,
} from "../../core/config/position_map.js";
import type { FrequencyPlan } from "../../core/rope/plan.js";
import { capital, numberOf, shown, tokens, valueOf } from "./facts.js";
import { type Case, type Check, finding, issue } from "./findings.js";
import { scaledLength, servedLength, serves } from "./lengths.js";
import { measuredText } from "./past_window.js";
import { compare, differenceText, planIn } from "./plans.js";

/** A pair that needs more than the trained length for a full turn shows new angles past it. */
const pastTrained: Check = ({ main, length, rw, extension, isEncoder }) => {
  const { config, trained } = main;
  const served = servedLength(config);
  if (served === null || trained === null || serves(config, length)) return undefined;
  const { pairs } = rw.describe(config, length);
  const slow = pairs.filter(({ wavelength }) => wavelength > served && Number.isFinite(wavelength));
  return finding(
    "past-trained-length",
    "warning",
    "",
    `${tokens(length)} tokens are more than the ${tokens(served)} that the model is made for. ${slow.length} of its ${pairs.length} pairs need more than ${tokens(served)} tokens for a full turn, so past that length they reach angles that training never showed, and the ${isEncoder ? "results become worse" : "output becomes wrong"}.${extension === undefined ? "" : " A scaling slows them down."}`,
    isEncoder ? "docs/long_embeddings.md" : "docs/extend_context.md",
  );
};

/** What the methods are worth, measured, and that another model can differ. */
const measuredPastWindow: Check = ({ main, length, extension, isEncoder }) => {
  const served = servedLength(main.config);
  if (isEncoder || served === null || main.trained === null || length <= served || !extension?.changes)
    return undefined;
  return finding(
    "measured-past-window",
    "note",
    "",
    `${measuredText(length / main.trained)} A short fine-tune under a scaling makes it hold in every system. Another model can differ: measure yours.`,
    "docs/long_context.md",
  );
};

/** Distances never leave the trained range if every layer has a window within it. */
const windowOfAllLayers: Check = ({ main, length, hasLayersWithoutRope }) => {
  const served = servedLength(main.config);
  const { window } = main;
  if (hasLayersWithoutRope || !window || served === null || window > served || length <= served) return undefined;
  return finding(
    "window-within-length",
    "note",
    "",
    `No layer sees more than ${tokens(window)} tokens, so in a system that applies this window, the model reads any length without a scaling, and forgets what is farther back. Not all systems apply it: llama.cpp doesn't for Mistral 7B v0.1.`,
    "docs/kv_caches.md",
  );
};

const contextCapped: Check = ({ main, facts }) => {
  const scaled = scaledLength(main.config);
  const max = main.config.max_position_embeddings;
  if (scaled === null || max === undefined || max >= scaled - 1) return undefined;
  return finding(
    "context-capped",
    "warning",
    facts.isGguf ? `${facts.prefix}context_length` : `${facts.prefix}max_position_embeddings`,
    `is ${tokens(max)}, though the scaling is for ${tokens(scaled)}. vLLM serves at most ${tokens(max)} tokens, and llama.cpp's server before August 2026 cut its slots to that. Set it to ${tokens(scaled)}.`,
    issue("llama.cpp#17459"),
  );
};

const linearLength: Check = ({ main, systems, facts }) => {
  const max = main.config.max_position_embeddings;
  const vllm = systems.find(({ system }) => system === "vLLM")?.maxLength;
  if (main.rope_type !== "linear" || max === undefined || !vllm || vllm === max) return undefined;
  return finding(
    "linear-length",
    "note",
    `${facts.prefix}max_position_embeddings`,
    `is ${tokens(max)}. transformers and llama.cpp take this for the extended length, vLLM multiplies it by the factor and serves ${tokens(vllm)}. Pass --max-model-len.`,
    "docs/scaling_types.md#differences-between-systems",
  );
};

/** llama.cpp rotates cached keys by the same call that rotated them first, with its factor on cos and sin. */
const contextShift: Check = ({ main, rw, length, path, isEncoder }) => {
  const scales = !isEncoder && (main.rope_type === "yarn" || main.rope_type === "longrope");
  if (!scales) return undefined;
  let plan: FrequencyPlan;
  try {
    plan = planIn(rw, main.config, "llama.cpp", length);
  } catch (error) {
    if (error instanceof RopewalkError) return undefined;
    throw error;
  }
  if (Math.abs(plan.attention_factor - 1) < 1e-3) return undefined; // too little to matter
  return finding(
    "context-shift",
    "warning",
    path,
    `has an attention factor of ${shown(plan.attention_factor)}, which cached keys contain already. llama.cpp's context shift (--context-shift, off by default since August 2025) applies it again, so each shift makes old keys ${shown(plan.attention_factor)} times as large. Leave it off. Ropewalk's shift() rotates by the difference only.`,
    issue("llama.cpp#16693"),
  );
};

const dynamicKeys: Check = ({ main, rw, path, systems, isEncoder }) => {
  const { max_position_embeddings: max } = main.config;
  const isDynamic = main.rope_type === "dynamic" || main.rope_type === "dynamic_yarn";
  if (isEncoder || !isDynamic || max === undefined) return undefined;
  const [short, long] = [max, 2 * max].map((length) => planIn(rw, main.config, "hf", length));
  const unscaled = systems.filter(({ reads, layers }) => layers.length > 0 && !reads.includes("factor"));
  const others =
    unscaled.length === 0 ? "" : ` ${unscaled.map(({ system }) => system).join(" and ")} don't scale at all.`;
  return finding(
    "dynamic-cached-keys",
    "warning",
    `${path}.rope_type`,
    `${main.rope_type} changes the frequencies with each token past ${tokens(max)}: at twice that length ${differenceText(compare(long!, short!))}. transformers doesn't rotate cached keys again, so old keys are wrong.${others} Use a static scaling such as yarn, or Ropewalk, which re-rotates.`,
    issue("transformers#25104"),
  );
};

const longropeLists: Check = ({ main, path }) => {
  const original = main.config.rope_scaling?.original_max_position_embeddings;
  if (main.rope_type !== "longrope" || original === undefined) return undefined;
  return finding(
    "longrope-lists",
    "note",
    path,
    `has two lists of divisors. transformers changes to long_factor when a sequence passes ${tokens(original)} tokens, and then reads the prompt again. llama.cpp and vLLM choose once, by the context they are started with: above ${tokens(original)}, short texts get the long list too.`,
    issue("llama.cpp#8995"),
  );
};

/** Other systems that have a map, by its type. */
const OTHERS_WITH_MAP: Readonly<Record<PositionMapType, string>> = {
  self_extend: "llama.cpp has a Self-Extend of its own (--grp-attn-n, --grp-attn-w)",
  rerope: "Other systems don't have it",
  dual_chunk: "vLLM has it too. transformers and llama.cpp ignore it",
  lm_infinite: "Other systems don't have it",
};

const positionMap: Check = ({ main, length }) => {
  const map = main.config.position_map;
  if (!map) return undefined;
  const served = servedLength(main.config);
  const isNarrow = served === null || serves(main.config, length);
  const wide = isNarrow
    ? ""
    : `, but must stay below ${tokens(served)}: choose numbers that fit, such as ${mapAsOption(mapFor(map.type, served, length))}`;
  const swapped = swappedNumbers(map);
  return finding(
    "position-map",
    swapped === undefined ? "note" : "warning",
    map.type === "dual_chunk" ? "dual_chunk_attention_config" : "position_map",
    `${mapInWords(map)}: at ${tokens(length)} tokens, attention has distances up to ${tokens(largestDistance(map, length))}${wide}. ${OTHERS_WITH_MAP[map.type]}. Keys are stored raw for it.${swapped === undefined ? "" : ` ${capital(swapped)}`}`,
    "docs/apps/position_maps.md",
  );
};

const yarnShortTexts: Check = ({ main, path }) => {
  const original = main.config.rope_scaling?.original_max_position_embeddings;
  if (main.rope_type !== "yarn" || original === undefined || main.factor <= 1) return undefined;
  return finding(
    "yarn-short-texts",
    "note",
    path,
    `scales at every length: texts below ${tokens(original)} tokens are scaled too, which costs a little quality in a model that wasn't trained with it. Remove it for short texts, or use dynamic_yarn in Ropewalk.`,
    issue("vllm#8793"),
  );
};

/** The converter of llama.cpp reorders the rows of q and k in some families. */
const ggufPairing: Check = ({ facts }) => {
  const { pairing, gguf_pairing } = facts.traits;
  // interleaved_to_half has the rows of interleaved
  if (pairing === undefined || gguf_pairing === undefined || (pairing === "half") === (gguf_pairing === "half"))
    return undefined;
  const [here, there] = facts.isGguf ? [gguf_pairing, pairing] : [pairing, gguf_pairing];
  const formats = facts.isGguf ? ["this GGUF file", "its safetensors file"] : ["this file", "a GGUF file of it"];
  return finding(
    "pairing-by-format",
    "note",
    facts.isGguf ? "general.architecture" : `${facts.prefix}model_type`,
    `${capital(formats[0]!)} has ${here} pairs, and ${formats[1]} has ${there} pairs: llama.cpp's converter may permute the rows of q and k. Weights or code taken from one for the other give gibberish from the first token. The command ropewalk convert pairing converts the rows.`,
    "docs/gibberish.md#permuted-weights",
  );
};

/** Llama 3.1 and later: the scaling of the released models. Llama 3 has the same base, but 8,192 tokens. */
const LLAMA_31 = { base: 500000, longest: 8192 };

/** The scaling of Llama 3.1 is a tensor in GGUF files. Without it the file looks unscaled. */
const llama3Forgotten: Check = ({ facts, main, rw, length }) => {
  const max = main.config.max_position_embeddings;
  const isLlama31 =
    (facts.family === "llama" || facts.family === "mllama_text_model") &&
    main.base === LLAMA_31.base &&
    max !== undefined &&
    max > LLAMA_31.longest;
  if (!isLlama31 || main.rope_type !== "default" || main.config.freq_factors !== undefined) return undefined;
  const factor = (numberOf(facts, "hidden_size", "embedding_length") ?? 4096) < 4096 ? 32 : 8;
  const scaling = { rope_type: "llama3", factor, low_freq_factor: 1, high_freq_factor: 4 } as const;
  const scaled = { ...main.config, rope_scaling: { ...scaling, original_max_position_embeddings: LLAMA_31.longest } };
  const difference = compare(planIn(rw, main.config, "hf", length), planIn(rw, scaled, "hf", length));
  const what = facts.isGguf
    ? `has no rope_freqs.weight${facts.tensors === undefined ? " (or only the metadata was passed)" : ""}, the tensor that holds`
    : "has no rope_scaling, which holds";
  return finding(
    facts.isGguf ? "rope-freqs-missing" : "llama3-scaling-missing",
    "error",
    facts.isGguf ? "rope_freqs.weight" : `${facts.prefix}rope_scaling`,
    `The file has the base and length of Llama 3.1 (${tokens(main.base)}, ${tokens(max)}), but ${what} its llama3 scaling. Without it ${differenceText(difference)}, and texts past ${tokens(LLAMA_31.longest)} tokens turn to noise. ${facts.isGguf ? "Convert the model again with a llama.cpp of August 2024 or later" : "Take the config.json of the release"}.`,
    issue("llama.cpp#8650"),
  );
};

/** GGUF can name YaRN's factor on cos and sin in two ways. */
const ggufAttnFactor: Check = ({ facts }: Case) => {
  const keys = ["rope.scaling.attn_factor", "rope.scaling.yarn_attn_factor"];
  const key = keys.find((name) => valueOf(facts, [], name) !== undefined);
  const value = key === undefined ? undefined : numberOf(facts, [], key);
  if (!facts.isGguf || key === undefined || value === undefined || value === 1) return undefined;
  return finding(
    "gguf-attn-factor",
    "note",
    facts.prefix + key,
    `is ${shown(value)}. llama.cpp overwrites --yarn-attn-factor and yarn_attn_factor under YaRN, except for Grok; only rope.scaling.attn_factor multiplies.`,
    issue("llama.cpp#17945"),
  );
};

/** In the order in which they are listed. */
export const USE_CHECKS: readonly Check[] = [
  pastTrained,
  measuredPastWindow,
  windowOfAllLayers,
  llama3Forgotten,
  contextCapped,
  dynamicKeys,
  contextShift,
  linearLength,
  longropeLists,
  positionMap,
  yarnShortTexts,
  ggufAttnFactor,
  ggufPairing,
];
