// What diagnose() returns. Plain JSON.
import type { Support } from "../../runtime/model/plan/support.js";
import type { Compat, Pairing, RopeConfig } from "../../core/config/types.js";

export type { Support } from "../../runtime/model/plan/support.js";

/** How serious a finding is: worth knowing, likely to surprise, or wrong. */
export const SEVERITIES = ["note", "warning", "error"] as const;
/** One of {@link SEVERITIES}. */
export type Severity = (typeof SEVERITIES)[number];

/** Something about a model's RoPE that a user should know. */
export interface Finding {
  /** Stable name, for programs; docs/doctor.md lists all. */
  code: string;
  severity: Severity;
  /** Path of the key in the file that it is about, or "" if it is about the whole file. */
  field: string;
  /** What is the case, and what to do. */
  text: string;
  /** Where this is known from: an address, or a page of this package's documentation. */
  source: string;
}

/**
 * Whether the requested length works. `fits`: nothing to change. `needs_scaling`: with the recipe. `cannot`: not with RoPE, or not with any
 * scaling that is known to work. `unknown`: the file doesn't say enough.
 */
export type VerdictStatus = "fits" | "needs_scaling" | "cannot" | "unknown";

/** The answer in one or two sentences. */
export interface Verdict {
  status: VerdictStatus;
  text: string;
}

/** Layers with the same RoPE and the same window. */
export interface LayerGroup {
  /** Kind of layer as in transformers; null if all layers share a RoPE. */
  kind: string | null;
  /** Indices of the layers; empty if the file doesn't say. */
  layers: number[];
  /** Tokens that a layer sees, or that its chunk has (Llama 4); 0 for all, null if the file doesn't say. */
  window: number | null;
  pairing: Pairing;
  /** Base of the frequencies (rope_theta). */
  base: number;
  head_dim: number;
  rotary_dim: number;
  /** `rope_type` of the scaling. */
  rope_type: string;
  /** Length that the frequencies were trained for before the scaling; null if the file doesn't say. */
  trained: number | null;
  /** Length that the layers are made for, with their scaling; null if the file doesn't say. */
  served: number | null;
  factor: number;
  /** Multiplies cos and sin; logits are multiplied by its square. */
  attention_factor: number;
  softmax_scale: number;
  /** Number of pairs by what the scaling does to them. */
  pairs: { kept: number; blended: number; interpolated: number; scaled: number; unrotated: number };
  /** Shortest and longest wavelength in positions; the longest is null if there is no slowest pair. */
  wavelengths: [shortest: number, longest: number | null];
  /** The whole config of these layers, as `rw.rope()` takes it. */
  config: Readonly<RopeConfig>;
}

/** Memory of a KV cache in f16: what layers keep of their own, and no more tokens than their window or chunk has. */
export interface CacheMemory {
  /** Bytes for each further token, as long as no window or chunk is full. */
  bytesPerToken: number;
  /** Bytes of the states of recurrent layers in f32, at any length and for each sequence; 0 if there are none. */
  stateBytes: number;
  /** Bytes of all copies of them that a session of this package keeps, to rewind to, with the default options. */
  sessionStateBytes: number;
  /** Bytes by length, ascending; the diagnosed length is one of them. */
  lengths: { length: number; bytes: number }[];
}

/** Memory of the weights, by the format that they are loaded in. An estimate: parameters × bits. */
export interface WeightMemory {
  /** Parameters of the language model, with those of all experts. */
  parameters: number;
  /** `this file` first, if a GGUF file was read: the bytes of its tensors. `bits` are those of one weight, on average. */
  formats: { name: string; bits: number; bytes: number }[];
}

/** What a system computes for one group of layers, compared with transformers. */
export interface SystemLayers {
  kind: string | null;
  /** Whether frequencies, attention factor and softmax scale are those of transformers. */
  same: boolean;
  attention_factor: number;
  softmax_scale: number;
  /** The pair whose frequency differs most, and its frequency divided by that of transformers; null if none differs. */
  largestDifference: { pair: number; ratio: number } | null;
}

/** What one system does with the file's keys. Found by computing its frequencies, not by a list. */
export interface SystemReport {
  system: "transformers" | "llama.cpp" | "vLLM" | "SGLang" | "MLX";
  /** The release whose rules these are; of MLX that of mlx-lm. */
  version: string;
  /** The `compat` that follows the system; null for one that the package's own `rope()` doesn't follow. */
  compat: Compat | null;
  /** Whether all layers are as in transformers, or in LFM3 as the model was trained, which transformers isn't. */
  same: boolean;
  layers: SystemLayers[];
  /** Keys that change its numbers, and those that it ignores. */
  reads: string[];
  ignores: string[];
  /** Why it differs, and what else it does. */
  reasons: string[];
  /** Longest sequence that it serves without further options; null if it sets no limit. */
  maxLength: number | null;
}

/** Lines to paste for one system. */
export interface RecipeBlock {
  system: SystemReport["system"] | "Ropewalk";
  title: string;
  language: "json" | "shell" | "js" | "python";
  text: string;
  note: string;
  /** Result of reading these lines again and computing their frequencies: whether they are those of the recommended config. */
  checked: { same: boolean; text: string };
}

/** How to run the model at the requested length. */
export interface Recipe {
  /** In a line: `yarn, factor 4 from 32,768 to 131,072`. */
  summary: string;
  /** The recommended config of each group of layers. */
  configs: { kind: string | null; config: Readonly<RopeConfig> }[];
  blocks: RecipeBlock[];
  /** What to open for the other systems; empty if all have a block. */
  note: string;
}

/** What a model's RoPE is, what each system does with it, and how to run it at a length. Plain JSON. */
export interface Diagnosis {
  /** Name of the file. */
  name: string;
  kind: "config.json" | "gguf";
  /** `model_type`, or `general.architecture`; null if the file has none. */
  family: string | null;
  /** The length that is diagnosed: the requested one, or the longest that the model serves as it is. */
  length: number;
  /** Whether a length was requested. */
  isRequested: boolean;
  /** Length before any extension; null if the file doesn't say. */
  trainedLength: number | null;
  /** Length that the model serves as it is, with its own scaling; null if the file doesn't say. */
  servedLength: number | null;
  verdict: Verdict;
  /** Whether Ropewalk runs the model. */
  support: Support;
  /** Worst first. */
  findings: Finding[];
  layers: LayerGroup[];
  /** Indices of the layers without RoPE, which include recurrent ones without attention. */
  layersWithoutRope: number[];
  /**
   * Indices of the layers known to be recurrent: they remember the text by a state of a fixed size. Those with RoPE have
   * attention beside it; the others have no keys.
   */
  recurrentLayers: number[];
  /** Null for encoders, which have no cache, and if the file doesn't say what its layers keep. */
  memory: CacheMemory | null;
  /** Null if the file doesn't show the number of its parameters: encoders, recurrent models and other architectures in config.json. */
  weights: WeightMemory | null;
  systems: SystemReport[];
  recipe: Recipe | null;
}
