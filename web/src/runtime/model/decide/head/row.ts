// The head of a decision checkpoint as a model of its own: its tokens are the three types of questions, whose embeddings are added to the
// hidden states of the encoder, and the layers after pooling score the token before each option. Names of tensors are those of the laya package.
import { HIDDEN, llama, PRE_NORMS, QKV } from "../../architectures/parts/common.js";
import type { Architecture } from "../../architectures/parts/architecture.js";

/** `model_type` of the config that is made for it. @internal */
export const HEAD_TYPE = "decision head";

/** Types of questions, by the rows of their embeddings. @internal */
export const QUESTION_TYPES = ["choice", "score", "boolean"] as const;

/** Source: laya 0.4.15, common.py, DecisionModel; llama.cpp, src/models/modern-bert.cpp. @internal */
export const HEAD_ROW: Architecture = {
  ...llama,
  huggingFace: [HEAD_TYPE],
  gguf: [],
  norm: "layer",
  activation: "relu",
  isGated: false,
  hasNoRope: true,
  norms: () => PRE_NORMS,
  biases: () => [...QKV, "output", "up", "down"],
  encoder: () => ({}),
  rankingHead: (reader) => ({
    pooling: "first",
    layers: [
      { weight: "scorer.1.weight", bias: "scorer.1.bias", size: reader.integer(HIDDEN), activation: "gelu" },
      { weight: "scorer.3.weight", bias: "scorer.3.bias", size: 1 },
    ],
  }),
  names: {
    layer: "head.layers.{n}.",
    embedding: "type_emb",
    final_norm: "scorer.0",
    head: "",
    layers: {
      attention_norm: "norm1",
      query_key_value: "self_attn.in_proj",
      output: "self_attn.out_proj",
      feed_forward_norm: "norm2",
      up: "linear1",
      down: "linear2",
    },
  },
};
