// Qwen.
import type { Architecture } from "./architecture.js";
import type { ConfigReader } from "../config_reader.js";
import { MAX_EXPERTS, MAX_WIDTH } from "../limits.js";
import { slidingWindows } from "../sliding_windows.js";
import { llamaNames } from "../tensor_names.js";
import { llama, PRE_NORMS, QK_NORMS, QKV } from "./common.js";

/** Qwen2, Qwen3 and its mixture. @internal */
export const QWEN_ROWS: readonly Architecture[] = [
  { ...llama, huggingFace: ["qwen2"], gguf: ["qwen2"], biases: () => QKV, window: slidingWindows(isQwen2Sliding) },
  {
    ...llama,
    huggingFace: ["qwen3"],
    gguf: ["qwen3"],
    norms: () => [...PRE_NORMS, ...QK_NORMS],
    queryKeyNorm: () => "head",
  },
  {
    ...llama,
    huggingFace: ["qwen3_moe"],
    gguf: ["qwen3moe"],
    norms: () => [...PRE_NORMS, ...QK_NORMS],
    queryKeyNorm: () => "head",
    experts: qwenExperts,
    names: llamaNames({
      router: "mlp.gate",
      expert_gate: "mlp.experts.{e}.gate_proj",
      expert_up: "mlp.experts.{e}.up_proj",
      expert_down: "mlp.experts.{e}.down_proj",
    }),
  },
];

function qwenExperts(reader: ConfigReader): ReturnType<NonNullable<Architecture["experts"]>> {
  const step = reader.integer(["decoder_sparse_step", "decoder_sparse_step"], 1);
  const dense = reader.list(["mlp_only_layers", "mlp_only_layers"]) ?? [];
  const experts = reader.integer([["num_experts", "num_local_experts"], "expert_count"], undefined, 1, MAX_EXPERTS);
  return {
    experts,
    experts_used: reader.integer(["num_experts_per_tok", "expert_used_count"], undefined, 1, experts),
    normalizes_experts: reader.boolean(["norm_topk_prob", "norm_topk_prob"], reader.isGguf),
    feed_forward_size: reader.integer(["moe_intermediate_size", "expert_feed_forward_length"], undefined, 1, MAX_WIDTH),
    hasExperts: (layer) => !dense.includes(layer) && (layer + 1) % step === 0,
  };
}

/** Qwen2: layers from max_window_layers on have a sliding window, if use_sliding_window is set. */
function isQwen2Sliding(layer: number, reader: ConfigReader): boolean {
  return (
    reader.boolean(["use_sliding_window", "use_sliding_window"], false) &&
    layer >= reader.integer(["max_window_layers", "max_window_layers"], 2 ** 30, 0)
  );
}
