// Qwen.
import type { Architecture, ExpertConfig } from "./parts/architecture.js";
import type { ConfigReader } from "../config/config_reader.js";
import { MAX_WIDTH } from "../config/limits.js";
import { everyLayer, fromLayer, type Slides, slidingWindows } from "./parts/sliding_windows.js";
import { type LayerNames, llamaNames } from "./parts/tensor_names.js";
import { biasesIf, llama, PRE_NORMS, QK_NORMS, QKV } from "./parts/common.js";
import { readExperts, withRouting } from "./parts/experts.js";

/** @internal */
export const QWEN_EXPERT_NAMES: LayerNames = {
  router: "mlp.gate",
  expert_gate: "mlp.experts.{e}.gate_proj",
  expert_up: "mlp.experts.{e}.up_proj",
  expert_down: "mlp.experts.{e}.down_proj",
  shared_gate: "mlp.shared_expert.gate_proj",
  shared_up: "mlp.shared_expert.up_proj",
  shared_down: "mlp.shared_expert.down_proj",
  shared_expert_gate: "mlp.shared_expert_gate",
};
const EXPERT_NAMES = llamaNames(QWEN_EXPERT_NAMES);

const qwen3: Architecture = { ...llama, norms: () => [...PRE_NORMS, ...QK_NORMS], queryKeyNorm: () => "head" };

/** The multimodal classes have another default. */
const qwen2Slides: Slides = (reader, hasWindow) =>
  fromLayer(reader.architecture === "qwen2" ? 28 : 80)(reader, hasWindow);

/** Qwen2's mixture: every other layer, before `max_window_layers`. */
const evenLayers: Slides = (reader, hasWindow) => {
  const end = reader.integer(["max_window_layers", ""], 28, 0);
  return (layer) => hasWindow && layer % 2 === 0 && layer < end;
};

/** Qwen2, Qwen3 and their mixtures. @internal */
export const QWEN_ROWS: readonly Architecture[] = [
  {
    ...llama,
    huggingFace: ["qwen2", "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"],
    gguf: ["qwen2", "qwen2vl"],
    biases: () => QKV,
    window: slidingWindows({ tokens: 4096, needsSwitch: true, slides: qwen2Slides }),
  },
  { ...qwen3, huggingFace: ["qwen3_vl", "qwen3_vl_text"], gguf: ["qwen3vl"] },
  {
    ...qwen3,
    huggingFace: ["qwen3"],
    gguf: ["qwen3"],
    window: slidingWindows({ tokens: 4096, needsSwitch: true, slides: fromLayer(28) }),
  },
  {
    ...qwen3,
    huggingFace: ["qwen3_moe"],
    gguf: ["qwen3moe", "qwen3vlmoe"],
    window: slidingWindows({ tokens: 4096, needsSwitch: true, slides: everyLayer, ignoresTypes: true }),
    experts: qwenExperts,
    names: EXPERT_NAMES,
  },
  {
    ...qwen3,
    huggingFace: ["qwen3_vl_moe", "qwen3_vl_moe_text"],
    gguf: [],
    experts: (reader) => withRouting(someExperts(reader), { normalizes: true }),
    expertLayout: "by_shape",
    names: llamaNames({
      router: "mlp.gate",
      expert_gate_up: "mlp.experts.gate_up_proj",
      expert_down: "mlp.experts.down_proj",
    }),
  },
  {
    ...llama,
    huggingFace: ["qwen2_moe"],
    gguf: ["qwen2moe"],
    biases: biasesIf("qkv_bias", QKV, true),
    window: slidingWindows({ tokens: 4096, needsSwitch: true, slides: evenLayers }),
    experts: qwenExperts,
    names: EXPERT_NAMES,
  },
];

/** Undefined for a model without experts, which has a dense feed-forward block in each layer. @internal */
export function qwenExperts(reader: ConfigReader): ExpertConfig | undefined {
  const mayBeDense = ["qwen2_moe", "qwen3_moe", "qwen3_next"].includes(reader.architecture);
  return mayBeDense && reader.find(["num_experts", ""]).value === 0 ? undefined : someExperts(reader);
}

function someExperts(reader: ConfigReader): ExpertConfig {
  const isQwen2 = /^qwen2/.test(reader.architecture);
  const hasShared = isQwen2 || /^qwen3(_?next|_?5)/.test(reader.architecture);
  const step = reader.integer(["decoder_sparse_step", "decoder_sparse_step"], 1);
  const dense = reader.list(["mlp_only_layers", "mlp_only_layers"]) ?? [];
  return readExperts(reader, {
    experts: ["num_experts", "num_local_experts"],
    used: ["num_experts_per_tok"],
    size: ["moe_intermediate_size"],
    normalizes: [hasShared && !isQwen2, !isQwen2],
    hasExperts: (layer) => !dense.includes(layer) && (layer + 1) % step === 0,
    ...(hasShared && {
      shared: () => reader.integer(["shared_expert_intermediate_size", ""], isQwen2 ? 5632 : 512, 1, MAX_WIDTH),
    }),
    hasSharedExpertGate: hasShared,
  });
}
