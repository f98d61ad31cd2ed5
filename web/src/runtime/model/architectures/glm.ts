// GLM.
import type { Architecture } from "./parts/architecture.js";
import { llamaNames } from "./parts/tensor_names.js";
import { biasesIf, llama, POST_NORMS, PRE_NORMS, QK_NORMS, QKV } from "./parts/common.js";
import type { ConfigReader } from "../config/config_reader.js";
import { GROUPED_NAMES, groupedExperts } from "./parts/grouped_experts.js";

/** GLM-4 and 4.5. @internal */
export const GLM_ROWS: readonly Architecture[] = [
  { ...llama, huggingFace: ["glm"], gguf: ["chatglm"], biases: biasesIf("attention_bias", QKV) },
  {
    ...llama,
    huggingFace: ["glm4"],
    gguf: ["glm4"],
    norms: () => [...PRE_NORMS, ...POST_NORMS],
    biases: biasesIf("attention_bias", QKV, true),
    names: llamaNames({
      attention_post_norm: "post_self_attn_layernorm",
      feed_forward_post_norm: "post_mlp_layernorm",
    }),
  },
  {
    ...llama,
    huggingFace: ["glm4_moe"],
    gguf: ["glm4moe"],
    norms: (reader) => [...PRE_NORMS, ...(hasHeadNorms(reader) ? QK_NORMS : [])],
    queryKeyNorm: (reader) => (hasHeadNorms(reader) ? "head" : "none"),
    biases: biasesIf("attention_bias", QKV),
    experts: (reader) =>
      groupedExperts(reader, {
        weight: "sigmoid",
        gguf: { weight: "sigmoid" },
        normalizes: true,
        dense: 1,
        shared: 1,
      }),
    names: llamaNames(GROUPED_NAMES),
    ggufNames: { feed_forward_norm: "post_attention_norm" },
  },
];

function hasHeadNorms(reader: ConfigReader): boolean {
  return reader.isGguf ? reader.hasTensor("blk.0.attn_q_norm.weight") : reader.boolean(["use_qk_norm", ""], false);
}
