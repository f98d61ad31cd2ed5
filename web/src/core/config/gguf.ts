// Reads the RoPE of a GGUF file from its metadata and RoPE tensors.
import { type Dict } from "../base/dict.js";
import { fail } from "../base/errors.js";
import { show } from "../base/show.js";
import type { Family } from "./family.js";
import { familyOf } from "./family_lookup.js";
import { failWithoutRope } from "./no_rope.js";
import { decimalOf, firstCountOf, integerOf, type Metadata, numberOf, openMetadata, valueOf } from "./gguf_metadata.js";
import { checkSharedKind, chooseKind, kindOf, type LayerKind } from "./layer_kinds.js";
import type { ConfigDraft } from "./read_config.js";
import { checkScaling, type CheckedScaling } from "./scaling.js";
import type { Pairing, QueryTemperature, RopeScaling } from "./types.js";
import { booleanAt, integersAt, isAbsent, listAt, oneOf, withoutAbsent } from "./values.js";
import { yarnFamilyOf } from "./yarn_families.js";

/** The tensors of a GGUF file that change its RoPE. */
export interface GgufRopeTensors {
  /**
   * Divisors of the frequencies. The converter computes them from llama3 scaling (Llama 3.x) or proportional RoPE
   * (Gemma 4).
   */
  "rope_freqs.weight"?: ArrayLike<number>;
  /** longrope's long_factor (Phi-3, Phi-4, MiniCPM). */
  "rope_factors_long.weight"?: ArrayLike<number>;
  /** longrope's short_factor (Phi-3, Phi-4, MiniCPM). */
  "rope_factors_short.weight"?: ArrayLike<number>;
}

/**
 * Metadata of a GGUF file as `@huggingface/gguf` returns it, and its RoPE tensors. Pass every RoPE tensor that the file
 * has: no metadata key mentions `rope_freqs.weight`, so a Llama 3.1 without it reads as a model without scaling.
 */
export interface GgufSource {
  metadata: Dict;
  tensors?: GgufRopeTensors;
}

/** The values of `rope.scaling.type`. @internal */
export const GGUF_SCALINGS = ["none", "linear", "yarn", "longrope"] as const;

/**
 * Reads the RoPE of a GGUF file. Values that the converter has folded into tensors or into the base stay there.
 *
 * `rope.scaling.attn_factor` becomes longrope's `attention_factor` and YaRN's `attn_factor`. A config.json has one of
 * the two keys, and the converter writes either to `rope.scaling.yarn_attn_factor`. YaRN's own factor is at least 1, so
 * a value below 1 is read as `attn_factor` (DeepSeek-R1-0528-Qwen3-8B). Grok's value is always read as `attn_factor`.
 *
 * @param pairing from the caller, for architectures that this package doesn't know
 * @throws UNKNOWN_FAMILY, UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG, INVALID_ARGUMENT (layer_type)
 */
export function readGguf(
  source: GgufSource,
  layer_type: string | undefined,
  pairing: Pairing | undefined,
): ConfigDraft {
  const file = openMetadata(source.metadata);
  const family = familyOf("gguf", file.arch, pairing);
  checkUsesRope(file);
  const full = fullDraft(file, source.tensors ?? {}, family);
  if (family.rotates_last) return chooseKind(compressKinds(file, full), kindOf(family, layer_type));
  if (!hasSlidingLayers(file, family)) {
    checkSharedKind(layer_type, [], false);
    return full;
  }
  const kinds = new Map([
    ["full_attention", { draft: family.sliding_only ? null : full, present: true }],
    ["sliding_attention", { draft: slidingDraft(file, family, full), present: true }],
  ]);
  return chooseKind(kinds, layer_type === "chunked_attention" ? "sliding_attention" : layer_type);
}

/** Granite's files disable RoPE with a key that is only informative in other files, those of its mixture of experts among them. */
function checkUsesRope(file: Metadata): void {
  const key = "rope.scaling.finetuned";
  const finetuned = valueOf(file, key);
  if (isAbsent(finetuned)) return;
  if (!booleanAt(finetuned, `${file.arch}.${key}`) && file.arch.startsWith("granite") && file.arch !== "granitemoe") {
    failWithoutRope(`${file.arch}.${key}`, "is false");
  }
}

/** Architectures for which llama.cpp rotates sliding layers with `rope.freq_base`, whatever `rope.freq_base_swa` is. */
const WITHOUT_SLIDING_BASE = ["cohere2", "cohere2moe", "exaone4", "exaone-moe", "mellum", "olmo2"];

/** The base of sliding layers, where llama.cpp reads it. */
function slidingBaseOf(file: Metadata, family: Partial<Family>): number | undefined {
  const isRead = family.gguf_sliding !== undefined || family.gguf_pairing === undefined;
  return isRead && !WITHOUT_SLIDING_BASE.includes(file.arch) ? numberOf(file, "rope.freq_base_swa") : undefined;
}

function hasSlidingLayers(file: Metadata, family: Partial<Family>): boolean {
  return (firstCountOf(file, "attention.sliding_window") ?? 0) > 0 || slidingBaseOf(file, family) !== undefined;
}

function fullDraft(file: Metadata, tensors: GgufRopeTensors, family: Partial<Family>): ConfigDraft {
  const key_length = keyLengthOf(file);
  const counted = integerOf(file, "rope.dimension_count") ?? key_length;
  const rotary_dim = counted !== undefined && family.gguf_halves_full ? counted / 2 : counted;
  const context = integerOf(file, "context_length");
  const original = integerOf(file, "rope.scaling.original_context_length");
  const rope_scaling = checkScaling(
    { ...scalingOf(file, tensors), ...sectionsOf(file, family) },
    `${file.arch}.rope.scaling`,
  );
  const freqs = tensors["rope_freqs.weight"];
  return withoutAbsent({
    model_type: file.arch,
    head_dim: family.mla ? rotary_dim : key_length,
    pairing: family.sections_pair_half && rope_scaling.mrope_section ? "half" : family.gguf_pairing,
    rope_theta: numberOf(file, "rope.freq_base") ?? 10000,
    rotary_dim,
    max_position_embeddings: context,
    original_max_position_embeddings: original,
    rope_scaling,
    freq_factors: isAbsent(freqs) ? undefined : freqFactorsOf(freqs, rotary_dim),
    softmax_scale: softmaxScaleOf(file, family, key_length),
    query_temperature: temperatureOf(file, family, original ?? context),
    rotates_last: family.rotates_last,
  });
}

/** The first rotary_dim / 2 of them, as in ggml: Step-3.5's tensor is longer. */
function freqFactorsOf(freqs: ArrayLike<number>, rotary_dim: number | undefined): number[] {
  // Gemma 4 stops a pair's rotation with 1e30, which is slightly larger as a 32-bit float.
  return listAt(freqs, "rope_freqs.weight")
    .slice(0, (rotary_dim ?? Infinity) / 2)
    .map((value) => Math.min(value, 1e30));
}

function keyLengthOf(file: Metadata): number | undefined {
  const width = integerOf(file, "embedding_length");
  const heads = firstCountOf(file, "attention.head_count");
  const derived = width === undefined || heads === undefined ? undefined : Math.floor(width / heads);
  return integerOf(file, "attention.key_length") ?? derived;
}

function scalingOf(file: Metadata, tensors: GgufRopeTensors): RopeScaling {
  const path = `${file.arch}.rope.scaling.type`;
  const given = valueOf(file, "rope.scaling.type");
  if (typeof given === "string" && !GGUF_SCALINGS.includes(given as "none")) {
    fail("UNSUPPORTED_ROPE_TYPE", path, `must be one of ${GGUF_SCALINGS.join(", ")} (got ${show(given)})`);
  }
  // llama.cpp uses linear if no type is named, and reads a factor of 0 as absent.
  const type = isAbsent(given) ? "linear" : oneOf(given, path, GGUF_SCALINGS);
  const factor = numberOf(file, "rope.scaling.factor") ?? numberOf(file, "rope.scale_linear") ?? 0;
  const alpha =
    (file.arch.startsWith("hunyuan") && file.arch !== "hunyuan-moe"
      ? numberOf(file, "rope.scaling.alpha")
      : undefined) ?? 0;
  const attn = numberOf(file, "rope.scaling.attn_factor");
  const attn_factor = attn === undefined || attn === 1 ? {} : { attn_factor: attn };

  const long = tensors["rope_factors_long.weight"];
  const short = tensors["rope_factors_short.weight"];
  // The first Phi-3 files name no type; llama.cpp recognizes them by these tensors.
  if (type === "longrope" || !isAbsent(long) || !isAbsent(short)) {
    // llama.cpp divides frequencies by rope.scaling.factor too.
    const divided = (value: unknown, path: string): number[] =>
      listAt(value, path).map((divisor) => divisor * (type === "none" ? 1 : factor || 1));
    return {
      rope_type: "longrope",
      long_factor: divided(long, "rope_factors_long.weight"),
      short_factor: divided(short, "rope_factors_short.weight"),
      attention_factor: attn ?? 1,
    };
  }
  if (type === "yarn") return withFactor(yarnOf(file, factor || 1), attn_factor);
  if (alpha > 0) return { rope_type: "ntk_alpha", alpha, ...attn_factor };
  if (type === "linear" && factor !== 0 && factor !== 1) return { rope_type: "linear", factor, ...attn_factor };
  return { rope_type: "default", ...attn_factor };
}

/** compat `llama.cpp` reads `attn_factor`, the others the whole factor. */
function withFactor(yarn: RopeScaling, { attn_factor }: Pick<RopeScaling, "attn_factor">): RopeScaling {
  if (attn_factor === undefined) return yarn;
  const { factor = 1, mscale = 1, mscale_all_dim } = yarn;
  const own =
    yarn.attention_factor ?? mscaleOf(factor, mscale) / (mscale_all_dim ? mscaleOf(factor, mscale_all_dim) : 1);
  return { ...yarn, attention_factor: own * attn_factor, attn_factor };
}

/** YaRN's factor on cos and sin, with one of DeepSeek's keys. @internal */
export const mscaleOf = (factor: number, mscale: number): number =>
  factor <= 1 ? 1 : 0.1 * mscale * Math.log(factor) + 1;

function yarnOf(file: Metadata, factor: number): RopeScaling {
  const own = numberOf(file, "rope.scaling.yarn_attn_factor");
  const isGrok = yarnFamilyOf(file.arch) === "grok";
  const multiplies = isGrok || (own !== undefined && own < 1);
  const extrapolation = isGrok ? numberOf(file, "rope.scaling.yarn_ext_factor") : undefined;
  return withoutAbsent<RopeScaling>({
    rope_type: "yarn",
    factor,
    attention_factor: multiplies ? undefined : own,
    attn_factor: multiplies && own !== 1 ? own : undefined,
    // Below 0 means unset, and 1 is the default.
    extrapolation_factor:
      extrapolation === undefined || extrapolation < 0 || extrapolation === 1 ? undefined : extrapolation,
    beta_fast: numberOf(file, "rope.scaling.yarn_beta_fast") ?? (isGrok ? 8 : undefined),
    beta_slow: numberOf(file, "rope.scaling.yarn_beta_slow"),
    ...mscalesOf(file),
  });
}

/**
 * GGUF only stores mscale_all_dim, and llama.cpp's converter writes it for these architectures. llama.cpp uses 1 for
 * mscale, or mscale_all_dim for DeepSeek-V2. For historical reasons files with DeepSeek's attention store a tenth of
 * mscale_all_dim (llama.cpp #17945).
 */
function mscalesOf(file: Metadata): RopeScaling {
  const isRead = ["deepseek2", "deepseek32", "glm-dsa", "mistral3", "mistral4"].includes(file.arch);
  const multiplier = (isRead && numberOf(file, "rope.scaling.yarn_log_multiplier")) || 0;
  if (multiplier === 0) return {};
  const mscale_all_dim = file.arch === "mistral3" ? multiplier : decimalOf(Math.fround(multiplier / 0.1));
  return { mscale: file.arch === "deepseek2" ? mscale_all_dim : 1, mscale_all_dim };
}

function sectionsOf(file: Metadata, family: Partial<Family>): RopeScaling {
  const order = valueOf(file, "rope.section_order");
  if (!isAbsent(order) && order !== "tyxz")
    fail("UNSUPPORTED_ROPE_TYPE", `${file.arch}.rope.section_order`, `must be tyxz (got ${show(order)})`);
  const value = valueOf(file, "rope.dimension_sections");
  // Known architectures without a layout have the key but don't read it.
  if (isAbsent(value) || (family.gguf_pairing !== undefined && family.mrope === undefined)) return {};
  const section = integersAt(value, `${file.arch}.rope.dimension_sections`);
  while (section.at(-1) === 0) section.pop();
  // A single section is a model with one axis, written in the format of related models (Qwen3-TTS).
  return section.length < 2 ? {} : { mrope_section: section, mrope_layout: family.mrope?.layout ?? "chunked" };
}

function softmaxScaleOf(file: Metadata, family: Partial<Family>, key_length: number | undefined): number | undefined {
  const isGranite = file.arch.startsWith("granite");
  const given = isGranite ? (numberOf(file, "attention.scale") ?? 0) : 0; // llama.cpp reads it for no other
  if (given !== 0) return given;
  if (typeof family.softmax === "number") return family.softmax;
  if (family.mla) {
    // llama.cpp's code for MiniCPM 3 doesn't read the key
    const both = (file.arch === "minicpm3" ? undefined : integerOf(file, "attention.key_length_mla")) ?? key_length;
    return both === undefined ? undefined : 1 / Math.sqrt(both);
  }
  const width = integerOf(file, "embedding_length");
  const heads = firstCountOf(file, "attention.head_count");
  const wide =
    family.wide_softmax_blocks !== undefined && integerOf(file, "block_count") === family.wide_softmax_blocks;
  return wide && width !== undefined && heads !== undefined ? 1 / Math.sqrt(Math.floor(width / heads)) : undefined;
}

/**
 * llama.cpp reads it for Ministral 3 (floor: the original length) and DeepSeek-style attention (floor: its own key).
 */
function temperatureOf(
  file: Metadata,
  family: Partial<Family>,
  original: number | undefined,
): QueryTemperature | undefined {
  if (family.no_rope_temperature) {
    // A window of 0 marks small models that have RoPE on all layers.
    if (integerOf(file, "attention.sliding_window") === 0) return undefined;
    return { scale: 0.1, floor_scale: 8192, offset: 1, layers: "no_rope" };
  }
  const scale = numberOf(file, "attention.temperature_scale") ?? 0;
  if (scale === 0) return undefined;
  const length = yarnFamilyOf(file.arch) === "mistral" ? undefined : integerOf(file, "attention.temperature_length");
  const floor_scale = length ?? original;
  if (floor_scale === undefined) {
    return fail(
      "INVALID_CONFIG",
      `${file.arch}.attention.temperature_length`,
      "is missing, and attention.temperature_scale needs it",
    );
  }
  return { scale, floor_scale, offset: 0, layers: "all" };
}

/** Architectures whose layers may rotate different widths in llama.cpp. The others rotate that of the first layer in all. */
const WITH_SLIDING_WIDTH = [
  "gemma4",
  "gemma4-assistant",
  "gemma-embedding2",
  "laguna",
  "maple",
  "spark2_5",
  "step35",
  "mimo2",
  "dots3note",
];

function slidingDraft(file: Metadata, family: Partial<Family>, full: ConfigDraft): ConfigDraft {
  const kind = family.gguf_sliding ?? "same";
  const { freq_factors, ...rest } = full;
  const head_dim = family.mla ? full.head_dim : (integerOf(file, "attention.key_length_swa") ?? full.head_dim);
  const own = integerOf(file, "rope.dimension_count_swa");
  const counted = own ?? integerOf(file, "rope.dimension_count") ?? head_dim;
  if (
    own !== undefined &&
    family.gguf_sliding !== undefined &&
    !WITH_SLIDING_WIDTH.includes(file.arch) &&
    counted !== full.rotary_dim
  ) {
    const message = `must equal the rotated width of the other layers, ${show(full.rotary_dim)}, in ${file.arch} (got ${show(counted)})`;
    fail("INVALID_CONFIG", `${file.arch}.rope.dimension_count_swa`, message);
  }
  const both = integerOf(file, "attention.key_length_mla_swa");
  return withoutAbsent<ConfigDraft>({
    ...rest,
    head_dim,
    rope_theta: slidingBaseOf(file, family) ?? (kind === "plain" ? 10000 : full.rope_theta),
    rotary_dim: counted,
    rope_scaling: kind === "same" ? full.rope_scaling : unscaled(full.rope_scaling),
    freq_factors: kind === "same" ? freq_factors : undefined,
    softmax_scale: family.mla && both !== undefined ? 1 / Math.sqrt(both) : full.softmax_scale,
  });
}

/** DeepSeek-V4: the compressed layers have their own base and the scaling, the sliding ones have neither. */
function compressKinds(file: Metadata, full: ConfigDraft): Map<string, LayerKind> {
  const { rope_scaling } = full;
  const scaling: CheckedScaling =
    rope_scaling.rope_type === "yarn" ? { ...rope_scaling, attention_factor: 1 } : rope_scaling;
  const rope_theta = numberOf(file, "attention.compress_rope_freq_base") ?? full.rope_theta;
  return new Map([
    ["main", { draft: { ...full, rope_scaling: unscaled(rope_scaling) }, present: true }],
    ["compress", { draft: { ...full, rope_theta, rope_scaling: scaling }, present: true }],
  ]);
}

function unscaled({ mrope_section, mrope_layout }: RopeScaling): CheckedScaling {
  return withoutAbsent<CheckedScaling>({ rope_type: "default", mrope_section, mrope_layout });
}
