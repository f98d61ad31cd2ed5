// The RoPE of a model in the metadata of a GGUF file.
import { fail } from "../../../core/base/errors.js";
import { mscaleOf } from "../../../core/config/gguf.js";
import { mapAsOption, mapInWords, plainUpTo } from "../../../core/config/position_map.js";
import type { RopeConfig, RopeScaling } from "../../../core/config/types.js";
import type { ModelPlan } from "../../../runtime/model/plan/model_plan.js";
import type { GgufValue } from "./gguf_header.js";
import type { PlannedTensor } from "./gguf_plan.js";

/**
 * Keys of YaRN, as llama.cpp's converter writes them. llama.cpp itself reads them for a few architectures only, none of which is written here.
 */
const YARN_KEYS = {
  beta_fast: "scaling.yarn_beta_fast",
  beta_slow: "scaling.yarn_beta_slow",
  extrapolation_factor: "scaling.yarn_ext_factor",
  attn_factor: "scaling.attn_factor",
} as const;

/** What llama.cpp reads. */
const READ_BY_LLAMA_CPP: readonly string[] = ["scaling.attn_factor"];

/** The RoPE of a model in GGUF. */
export interface RopeMetadata {
  readonly entries: [string, GgufValue][];
  readonly tensors: PlannedTensor[];
  readonly warnings: string[];
}

/** Entries and tensors of the RoPE. Throws UNSUPPORTED_MODEL for a type of scaling that GGUF has no keys for. */
export function ropeMetadata(architecture: string, { layers, config }: ModelPlan): RopeMetadata {
  const rope = layers[0]?.rope;
  if (rope === undefined || rope === null) return { entries: [], tensors: [], warnings: [] };
  const { factor, original_max_position_embeddings: original, rope_type: type = "default", ...scaling } = rope.rope_scaling ?? {}; // prettier-ignore
  const numbers: Record<string, number | undefined> = { freq_base: rope.rope_theta ?? 10000 };
  if (type === "linear" || type === "yarn") numbers["scaling.factor"] = factor ?? 1;
  if (type === "yarn") {
    for (const [name, key] of Object.entries(YARN_KEYS)) numbers[key] = scaling[name as keyof typeof YARN_KEYS];
    numbers["scaling.yarn_attn_factor"] = scaling.attention_factor ?? ratioOfMscales(factor ?? 1, scaling);
  }
  const entries: [string, GgufValue][] = [
    ["dimension_count", { type: "u32", value: rope.rotary_dim ?? config.head_dim }],
  ];
  if (type === "linear" || type === "yarn") entries.push(["scaling.type", { type: "string", value: type }]);
  if (type === "yarn" && original !== undefined)
    entries.push(["scaling.original_context_length", { type: "u32", value: original }]);
  for (const [key, value] of Object.entries(numbers))
    if (value !== undefined) entries.push([key, { type: "f32", value }]);
  if (!["default", "linear", "yarn", "llama3"].includes(type))
    fail("UNSUPPORTED_MODEL", "config.json: rope_type", `${type} can't be written as GGUF for this model`);
  const ignored = entries
    .map(([key]) => key)
    .filter((key) => key.includes("yarn_") && !READ_BY_LLAMA_CPP.includes(key));
  return {
    entries: entries.map(([key, value]) => [`${architecture}.rope.${key}`, value]),
    tensors: type === "llama3" ? [llama3Factors(rope, config.head_dim)] : [],
    warnings: [
      ...(ignored.length === 0
        ? []
        : [
            `this package reads ${ignored.map((key) => `rope.${key}`).join(", ")}, but llama.cpp doesn't for this architecture`,
          ]),
      ...lostWarnings(rope),
    ],
  };
}

/** What attention does past some length, which GGUF has no keys for, and the option that sets it again. */
function lostWarnings({ position_map: map, logn }: RopeConfig): string[] {
  const lost = (what: string, length: number, option: string): string =>
    `GGUF has no key for the ${what}: texts of more than ${length} tokens are read without it, unless the file is opened with ${option}`;
  const warnings: string[] = [];
  if (map) warnings.push(lost(mapInWords(map), plainUpTo(map), `--position-map ${mapAsOption(map)}`));
  if (logn) warnings.push(lost("log-n scaling", logn.length, `--set logn='${JSON.stringify(logn)}'`));
  return warnings;
}

/** YaRN's factor on cos and sin with both of DeepSeek's keys, for which GGUF has one number. */
function ratioOfMscales(factor: number, { mscale, mscale_all_dim }: RopeScaling): number | undefined {
  if (!mscale || !mscale_all_dim) return undefined;
  return mscaleOf(factor, mscale) / mscaleOf(factor, mscale_all_dim);
}

/** Divisors of the frequencies: 1 for short wavelengths, `factor` for long ones, and between (llama.cpp's convert_hf_to_gguf.py). */
function llama3Factors({ rope_theta = 10000, rope_scaling }: RopeConfig, headDim: number): PlannedTensor {
  const { factor = 1, low_freq_factor: low = 1, high_freq_factor: high = 4 } = rope_scaling ?? {};
  const original = rope_scaling?.original_max_position_embeddings ?? 8192;
  const divisors = Float32Array.from({ length: headDim / 2 }, (_, pair) => {
    const wavelength = (2 * Math.PI) / (1 / rope_theta ** ((2 * pair) / headDim));
    if (wavelength < original / high) return 1;
    if (wavelength > original / low) return factor;
    const smooth = (original / wavelength - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
  return {
    name: "rope_freqs.weight",
    format: "f32",
    shape: [divisors.length],
    columns: 1,
    parts: [],
    data: new Uint8Array(divisors.buffer),
  };
}
