// OLMo.
import type { Architecture } from "./parts/architecture.js";
import type { ConfigReader } from "../config/config_reader.js";
import { allButEvery, slidingWindows } from "./parts/sliding_windows.js";
import { llamaNames } from "./parts/tensor_names.js";
import { llama, POST_NORMS, PRE_NORMS, QK_NORMS } from "./parts/common.js";
import { readExperts } from "./parts/experts.js";

const olmo2: Architecture = {
  ...llama,
  huggingFace: ["olmo2"],
  gguf: [],
  norms: () => [...POST_NORMS, ...QK_NORMS],
  queryKeyNorm: () => "all_heads",
  names: llamaNames({
    attention_post_norm: "post_attention_layernorm",
    feed_forward_post_norm: "post_feedforward_layernorm",
  }),
};

/** OLMo 2 and 3, and OLMoE. @internal */
export const OLMO_ROWS: readonly Architecture[] = [
  olmo2,
  {
    ...olmo2,
    huggingFace: ["olmo3"],
    gguf: ["olmo2"], // both have this name in GGUF
    window: slidingWindows({ tokens: 4096, slides: allButEvery(4) }, { slides: allButEvery(4) }),
    hasTwoRopes: true,
  },
  {
    ...llama,
    huggingFace: ["olmoe"],
    gguf: ["olmoe"],
    norms: () => [...PRE_NORMS, ...QK_NORMS],
    queryKeyNorm: () => "all_heads",
    experts: (reader) =>
      readExperts(reader, {
        experts: ["num_experts"],
        used: ["num_experts_per_tok"],
        size: ["intermediate_size"],
        normalizes: [false, false],
      }),
    check: refuseClipping,
    names: llamaNames({
      router: "mlp.gate",
      expert_gate: "mlp.experts.{e}.gate_proj",
      expert_up: "mlp.experts.{e}.up_proj",
      expert_down: "mlp.experts.{e}.down_proj",
    }),
  },
];

function refuseClipping(reader: ConfigReader): void {
  const { value, path } = reader.find(["clip_qkv", "attention.clamp_kqv"]);
  if (value !== undefined && value !== 0)
    reader.refuse("UNSUPPORTED_MODEL", path, "clipped queries, keys and values are not supported");
}
