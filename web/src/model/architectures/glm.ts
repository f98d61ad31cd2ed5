// GLM.
import type { Architecture } from "./architecture.js";
import { llamaNames } from "../tensor_names.js";
import { biasesIf, llama, POST_NORMS, PRE_NORMS, QKV } from "./common.js";

/** GLM-4. @internal */
export const GLM_ROWS: readonly Architecture[] = [
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
];
