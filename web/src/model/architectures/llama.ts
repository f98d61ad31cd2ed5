// Llama and the architectures that differ from it by a number or two.

import type { Architecture, Factors } from "./architecture.js";
import type { ConfigReader } from "../config_reader.js";
import { sameWindow } from "../sliding_windows.js";
import { llama } from "./common.js";

/** Llama, Mistral, SmolLM3 and Granite. @internal */
export const LLAMA_ROWS: readonly Architecture[] = [
  llama,
  { ...llama, huggingFace: ["mistral"], gguf: [], window: sameWindow },
  { ...llama, huggingFace: ["smollm3"], gguf: ["smollm3"] },
  { ...llama, huggingFace: ["granite"], gguf: ["granite"], factors: graniteFactors },
];

function graniteFactors(reader: ConfigReader): Partial<Factors> {
  return {
    attention_scale: reader.number(["attention_multiplier", "attention.scale"], NaN),
    embedding_scale: reader.number(["embedding_multiplier", "embedding_scale"], 1),
    residual_scale: reader.number(["residual_multiplier", "residual_scale"], 1),
    logit_scale: 1 / reader.number(["logits_scaling", "logit_scale"], 1),
  };
}
