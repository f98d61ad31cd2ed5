// OLMo.
import type { Architecture } from "./architecture.js";
import { slidingWindows } from "../sliding_windows.js";
import { llamaNames } from "../tensor_names.js";
import { llama, POST_NORMS, QK_NORMS } from "./common.js";

/** OLMo 2. @internal */
export const OLMO_ROWS: readonly Architecture[] = [
  {
    ...llama,
    huggingFace: ["olmo2"],
    gguf: ["olmo2"],
    norms: () => [...POST_NORMS, ...QK_NORMS],
    queryKeyNorm: () => "all_heads",
    window: slidingWindows(() => false),
    names: llamaNames({
      attention_post_norm: "post_attention_layernorm",
      feed_forward_post_norm: "post_feedforward_layernorm",
    }),
  },
];
