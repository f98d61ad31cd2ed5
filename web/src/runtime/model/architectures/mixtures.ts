// Mixtures of experts whose attention is that of Qwen3 or near it: dots.llm1, MiniMax-M2, Mellum, K-EXAONE and HunYuan 3.
import { allButEvery, fromLayer, slidingWindows } from "./parts/sliding_windows.js";
import { llamaNames } from "./parts/tensor_names.js";
import type { Architecture } from "./parts/architecture.js";
import { biasesIf, llama, PRE_NORMS, QK_NORMS, QKV } from "./parts/common.js";
import { GROUPED_NAMES, groupedExperts } from "./parts/grouped_experts.js";
import { exaoneSlides } from "./exaone_hunyuan.js";

const qwen3: Architecture = { ...llama, norms: () => [...PRE_NORMS, ...QK_NORMS], queryKeyNorm: () => "head" };

/** dots.llm1, MiniMax-M2, Mellum, K-EXAONE and HunYuan 3. @internal */
export const MIXTURE_ROWS: readonly Architecture[] = [
  {
    ...qwen3,
    huggingFace: ["dots1"],
    gguf: ["dots1"],
    window: slidingWindows({ tokens: 4096, slides: fromLayer(62) }),
    experts: (reader) => groupedExperts(reader, { weight: "sigmoid", gguf: {} }),
    names: llamaNames(GROUPED_NAMES),
  },
  {
    ...qwen3,
    huggingFace: ["minimax_m2"],
    gguf: ["minimax-m2"],
    queryKeyNorm: () => "all_heads",
    experts: (reader) => groupedExperts(reader, { weight: "sigmoid", normalizes: true, gguf: { normalizes: true } }),
    names: llamaNames({
      router: "block_sparse_moe.gate",
      router_bias: "block_sparse_moe.e_score_correction_bias",
      expert_gate: "block_sparse_moe.experts.{e}.w1",
      expert_up: "block_sparse_moe.experts.{e}.w3",
      expert_down: "block_sparse_moe.experts.{e}.w2",
    }),
  },
  {
    ...qwen3,
    huggingFace: ["mellum"],
    gguf: ["mellum"],
    window: slidingWindows({ tokens: 1024, slides: () => () => false }, { slides: allButEvery(4) }),
    hasTwoRopes: true,
    biases: biasesIf("attention_bias", [...QKV, "output"]),
    experts: (reader) =>
      groupedExperts(reader, {
        weight: "softmax",
        normalizes: true,
        gguf: { weight: "softmax", ignoresKey: true, normalizes: true },
      }),
    names: llamaNames(GROUPED_NAMES),
  },
  {
    ...qwen3,
    huggingFace: ["exaone_moe"],
    gguf: ["exaone-moe"],
    window: slidingWindows({ tokens: 4096, slides: exaoneSlides }, { tokens: 128, slides: allButEvery(4) }),
    hasTwoRopes: true,
    experts: (reader) =>
      groupedExperts(reader, { weight: "sigmoid", gguf: {}, normalizes: true, dense: 1, shared: 1, scale: 2.5 }),
    names: llamaNames({ ...GROUPED_NAMES, router_bias: "mlp.e_score_correction_bias" }),
  },
  {
    ...qwen3,
    huggingFace: ["hy_v3"],
    gguf: ["hy_v3"],
    biases: biasesIf("attention_bias", [...QKV, "output"]),
    experts: (reader) =>
      groupedExperts(reader, {
        ...{ weight: "sigmoid", gguf: { weight: "sigmoid" }, normalizes: true },
        ...{ dense: 1, shared: 1, scale: 2.826 },
      }),
    names: llamaNames({
      ...GROUPED_NAMES,
      router: "mlp.router.gate",
      router_bias: "mlp.expert_bias",
      shared_gate: "mlp.shared_mlp.gate_proj",
      shared_up: "mlp.shared_mlp.up_proj",
      shared_down: "mlp.shared_mlp.down_proj",
    }),
    ggufNames: { router_bias: "exp_probs_b" },
  },
];
