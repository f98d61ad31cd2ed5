// The names that a config takes: pairings, types, layouts. C++ takes their indices.

/**
 * Which elements of a head form a pair and are rotated together.
 *
 * ```text
 * half                 rotary_dim = 8 → [c c c c s s s s]   pairs (j, j + rotary_dim/2)   NeoX, Hugging Face Llama
 * interleaved          rotary_dim = 8 → [c s c s c s c s]   pairs (2j, 2j + 1)            GPT-J, Meta Llama, GGUF Llama
 * interleaved_to_half  reads interleaved, writes half                                     DeepSeek-V3 in transformers
 * ```
 *
 * The wrong pairing causes no shape error but ruins the model's output, so there is no default.
 */
export const PAIRINGS = ["half", "interleaved", "interleaved_to_half"] as const;
/** One of {@link PAIRINGS}. */
export type Pairing = (typeof PAIRINGS)[number];

export { ROPE_TYPES, type RopeType } from "./rope_fields.js";

/** The system to follow where transformers 5.24 (`hf`), llama.cpp (August 2026) and vLLM 0.33.0 compute different numbers. */
export const COMPATS = ["hf", "llama.cpp", "vllm"] as const;
/** One of {@link COMPATS}. */
export type Compat = (typeof COMPATS)[number];

/**
 * `exact`: computed in f64 and rounded once. `hf`: each step rounded to f32 where PyTorch rounds, with the last bits of
 * PyTorch's `pow` on x86-64, so that angles are those of transformers.
 */
export const PRECISIONS = ["exact", "hf"] as const;
/** One of {@link PRECISIONS}. */
export type Precision = (typeof PRECISIONS)[number];

/**
 * How pairs are assigned to position axes (time, height, width).
 *
 * - `chunked`: t…t h…h w…w (Qwen2-VL).
 * - `interleaved`: t h w t h w … t (Qwen3-VL).
 * - `ernie`: h w h w … t…t (Ernie-4.5-VL).
 * - `vision`: h…h w…w, and the frequencies restart with each section (Qwen2-VL's image encoder).
 */
export const MROPE_LAYOUTS = ["chunked", "interleaved", "ernie", "vision"] as const;
/** One of {@link MROPE_LAYOUTS}. */
export type MropeLayout = (typeof MROPE_LAYOUTS)[number];

/**
 * How the pairs of the axial type are laid out.
 *
 * - `chunked`: t…t h…h w…w, where the frequencies restart on each axis (FLUX, Wan, Qwen-Image, DINOv3, image encoders).
 * - `interleaved`: t h w t h w …, with the same frequencies on each axis (Kimi-K2.5's image encoder).
 * - `shared`: h…h w…w, where the frequencies of the whole width are dealt to the axes in turn (Pixtral).
 */
export const AXES_LAYOUTS = ["chunked", "interleaved", "shared"] as const;
/** One of {@link AXES_LAYOUTS}. */
export type AxesLayout = (typeof AXES_LAYOUTS)[number];

/**
 * How NTK-by-parts and YaRN blend from unchanged to interpolated frequencies.
 *
 * - `pair_index`: one ramp over the pair index, as in every released implementation.
 * - `rotations`: one ramp over the rotations inside the window, as in the text of the paper.
 * - `two_ramps`: from unchanged to NTK-aware to interpolated, as in the YaRN authors' first NTK-by-parts. Only for
 *   ntk_by_parts.
 */
export const RAMPS = ["pair_index", "rotations", "two_ramps"] as const;
/** One of {@link RAMPS}. */
export type Ramp = (typeof RAMPS)[number];
