// Cohere's Command-R: layer norms without a bias, and layers whose two halves read the same input.
import type { ConfigReader } from "../config/config_reader.js";
import { allButEvery, byPattern, slidingWindows } from "./parts/sliding_windows.js";
import type { Architecture } from "./parts/architecture.js";
import { biasesIf, llama, QK_NORMS, QKV } from "./parts/common.js";

const cohere: Architecture = {
  ...llama,
  huggingFace: ["cohere"],
  gguf: ["command-r"],
  norm: "layer",
  hasNormBiases: () => false,
  norms: (reader) => ["attention_norm", ...(hasQueryKeyNorm(reader) ? QK_NORMS : [])],
  queryKeyNorm: (reader) => (hasQueryKeyNorm(reader) ? "each_head" : "none"),
  isParallel: () => true,
  biases: biasesIf("attention_bias", [...QKV, "output"]),
  factors: (reader) => ({ logit_scale: reader.number(["logit_scale", "logit_scale"], 1) }),
};

/** Command-R, and Command-R7B with windows. @internal */
export const COHERE_ROWS: readonly Architecture[] = [
  cohere,
  {
    ...cohere,
    huggingFace: ["cohere2"],
    gguf: ["cohere2"],
    norms: () => ["attention_norm"],
    queryKeyNorm: () => "none",
    window: slidingWindows({ tokens: 4096, slides: byPattern(4) }, { slides: allButEvery(4) }),
    hasTwoRopes: true,
  },
];

function hasQueryKeyNorm(reader: ConfigReader): boolean {
  return reader.isGguf ? reader.hasTensor("blk.0.attn_q_norm.weight") : reader.boolean(["use_qk_norm", ""], false);
}
