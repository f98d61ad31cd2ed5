// The RoPE of a model in the metadata of a GGUF file.
import { fail } from "../../base/errors.js";
import type { RopeConfig } from "../../config/types.js";
import type { ModelPlan } from "../../model/model_plan.js";
import type { GgufValue } from "./gguf_header.js";
import type { PlannedTensor } from "./gguf_plan.js";

/** Entries and tensors of the RoPE. Throws UNSUPPORTED_MODEL for a type of scaling that GGUF has no keys for. */
export function ropeMetadata(
  architecture: string,
  { layers, config }: ModelPlan,
): { entries: [string, GgufValue][]; tensors: PlannedTensor[] } {
  const rope = layers[0]?.rope;
  if (rope === undefined || rope === null) return { entries: [], tensors: [] };
  const key = (name: string): string => `${architecture}.rope.${name}`;
  const { factor, original_max_position_embeddings: original, ...scaling } = rope.rope_scaling ?? {};
  const entries: [string, GgufValue][] = [
    [key("dimension_count"), { type: "u32", value: rope.rotary_dim ?? config.head_dim }],
    [key("freq_base"), { type: "f32", value: rope.rope_theta ?? 10000 }],
  ];
  const type = scaling.rope_type ?? "default";
  if (type === "linear" || type === "yarn") {
    entries.push([key("scaling.type"), { type: "string", value: type }]);
    entries.push([key("scaling.factor"), { type: "f32", value: factor ?? 1 }]);
  }
  if (type === "yarn" && original !== undefined)
    entries.push([key("scaling.original_context_length"), { type: "u32", value: original }]);
  if (type === "yarn" && scaling.attention_factor !== undefined)
    fail(
      "UNSUPPORTED_MODEL",
      "config.json: attention_factor",
      "has no key in GGUF that llama.cpp reads for this model",
    );
  if (type === "llama3") return { entries, tensors: [llama3Factors(rope, config.head_dim)] };
  if (!["default", "linear", "yarn"].includes(type))
    fail("UNSUPPORTED_MODEL", "config.json: rope_type", `${type} can't be written as GGUF for this model`);
  return { entries, tensors: [] };
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
