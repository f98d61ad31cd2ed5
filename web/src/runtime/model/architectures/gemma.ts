// Gemma.
import type { ActivationName, Architecture, Factors } from "./parts/architecture.js";
import type { ConfigReader } from "../config/config_reader.js";
import { allButEvery, bothSides, byPattern, slidingWindows } from "./parts/sliding_windows.js";
import { llamaNames } from "./parts/tensor_names.js";
import { HEADS, HIDDEN, hiddenActivation, LAYERS, llama, POST_NORMS, PRE_NORMS, QK_NORMS } from "./parts/common.js";

const gemma: Architecture = {
  ...llama,
  huggingFace: ["gemma"],
  gguf: ["gemma"],
  activation: gemmaActivation,
  normsLessOne: true,
  factors: (reader) => ({ embedding_scale: Math.sqrt(reader.integer(HIDDEN)) }),
};

const gemma2: Architecture = {
  ...llama,
  huggingFace: ["gemma2"],
  gguf: ["gemma2"],
  readsSlidingBase: true,
  activation: hiddenActivation("gelu_tanh", "gelu_tanh", ["hidden_activation"]),
  norms: () => [...PRE_NORMS, ...POST_NORMS],
  normsLessOne: true,
  factors: gemmaFactors,
  window: slidingWindows({ tokens: 4096, slides: allButEvery(2) }, { tokens: 4096, slides: allButEvery(2) }),
  names: llamaNames({
    attention_post_norm: "post_attention_layernorm",
    feed_forward_norm: "pre_feedforward_layernorm",
    feed_forward_post_norm: "post_feedforward_layernorm",
  }),
};

/** EmbeddingGemma is Gemma 3 with another mask. */
const gemma3: Architecture = {
  ...gemma2,
  huggingFace: ["gemma3_text", "gemma3"],
  gguf: ["gemma3", "gemma-embedding"],
  norms: () => [...PRE_NORMS, ...POST_NORMS, ...QK_NORMS],
  queryKeyNorm: () => "head",
  factors: (reader) => ({ ...gemmaFactors(reader), attention_soft_cap: 0 }), // the class has the key and doesn't use it
  window: (reader) => {
    const windowOf = slidingWindows({ tokens: 4096, slides: byPattern(6) }, { slides: allButEvery(6) })(reader);
    return isEmbeddingGemma(reader) ? (layer) => (windowOf(layer) > 0 ? bothSides(windowOf(layer)) : 0) : windowOf;
  },
  hasTwoRopes: true,
  encoder: (reader) => (isEmbeddingGemma(reader) ? {} : undefined),
};

/** Gemma 1, 2 and 3. @internal */
export const GEMMA_ROWS: readonly Architecture[] = [gemma, gemma2, gemma3];

/** Released files of Gemma 1 say gelu and mean its approximation by tanh. */
function gemmaActivation(reader: ConfigReader): ActivationName {
  const activation = hiddenActivation("gelu_tanh", "gelu_tanh", ["hidden_act"])(reader);
  return activation === "gelu" ? "gelu_tanh" : activation;
}

function isEmbeddingGemma(reader: ConfigReader): boolean {
  return reader.architecture === "gemma-embedding" || reader.boolean(["use_bidirectional_attention", ""], false);
}

function gemmaFactors(reader: ConfigReader): Partial<Factors> {
  const hidden = reader.integer(HIDDEN);
  const isGemma2 = reader.isGguf && reader.architecture === "gemma2"; // the defaults are llama.cpp's
  const isLargest = reader.isGguf && [46, 62].includes(reader.integer(LAYERS));
  const equalWidth = Math.floor(hidden / reader.integer(HEADS));
  const headDim = isLargest
    ? equalWidth
    : reader.integer(["head_dim", "attention.key_length"], reader.isGguf ? equalWidth : 256);
  const scalar = reader.number(["query_pre_attn_scalar", "attention.query_pre_attn_scalar"], headDim);
  return {
    attention_scale: scalar ** -0.5,
    attention_soft_cap: reader.number(["attn_logit_softcapping", "attn_logit_softcapping"], isGemma2 ? 50 : 0),
    embedding_scale: Math.sqrt(hidden),
    logit_soft_cap: reader.number(["final_logit_softcapping", "final_logit_softcapping"], isGemma2 ? 30 : 0),
  };
}
