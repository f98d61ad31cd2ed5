// Architectures with norms of queries and keys or names of their own: EXAONE and HunYuan.
import { allButEvery, type Slides, slidingWindows, byPattern } from "./parts/sliding_windows.js";
import { llamaNames } from "./parts/tensor_names.js";
import type { ConfigReader } from "../config/config_reader.js";
import type { Architecture } from "./parts/architecture.js";
import { hiddenActivation, biasesIf, LAYERS, llama, POST_NORMS, PRE_NORMS, QK_NORMS, QKV } from "./parts/common.js";
import { readExperts } from "./parts/experts.js";

const HUNYUAN_NORMS = { query_norm: "self_attn.query_layernorm", key_norm: "self_attn.key_layernorm" };

/** EXAONE without a window has full attention in every layer. @internal */
export const exaoneSlides: Slides = (reader, hasWindow) => (hasWindow ? byPattern(4)(reader, true) : () => false);

/** llama.cpp has a window of 4096 in each model of 64 layers, and this package has what a file says. */
function requireWindow(reader: ConfigReader): void {
  const { value, path } = reader.find(["", "attention.sliding_window"]);
  if (reader.isGguf && reader.integer(LAYERS) === 64 && !value)
    reader.refuse(
      "UNSUPPORTED_MODEL",
      path,
      "must be the window of a model of 64 layers, for llama.cpp has 4096 without it",
    );
}

const hunyuan: Architecture = {
  ...llama,
  huggingFace: ["hunyuan_v1_dense"],
  gguf: ["hunyuan-dense"],
  norms: () => [...PRE_NORMS, ...QK_NORMS],
  queryKeyNorm: () => "rotated",
  biases: biasesIf("attention_bias", [...QKV, "output"]),
  names: llamaNames(HUNYUAN_NORMS),
};

/** EXAONE 3 and 4, HunYuan and its mixture. @internal */
export const EXAONE_HUNYUAN_ROWS: readonly Architecture[] = [
  {
    ...llama,
    huggingFace: ["exaone"],
    gguf: ["exaone"],
    activation: hiddenActivation("silu", "silu", ["activation_function", "hidden_act"]),
    names: {
      layer: "transformer.h.{n}.",
      embedding: "transformer.wte",
      final_norm: "transformer.ln_f",
      head: "lm_head",
      layers: {
        attention_norm: "ln_1",
        query: "attn.attention.q_proj",
        key: "attn.attention.k_proj",
        value: "attn.attention.v_proj",
        output: "attn.attention.out_proj",
        feed_forward_norm: "ln_2",
        gate: "mlp.c_fc_0",
        up: "mlp.c_fc_1",
        down: "mlp.c_proj",
      },
    },
  },
  {
    ...llama,
    huggingFace: ["exaone4"],
    gguf: ["exaone4"],
    norms: () => [...POST_NORMS, ...QK_NORMS],
    queryKeyNorm: () => "head",
    window: slidingWindows({ tokens: 4096, slides: exaoneSlides }, { slides: allButEvery(4) }),
    hasTwoRopes: true,
    check: requireWindow,
    names: llamaNames({
      attention_post_norm: "post_attention_layernorm",
      feed_forward_post_norm: "post_feedforward_layernorm",
    }),
  },
  hunyuan,
  {
    ...hunyuan,
    huggingFace: ["hunyuan_v1_moe"],
    gguf: ["hunyuan-moe"],
    experts: (reader) =>
      readExperts(reader, {
        experts: ["num_experts"],
        used: ["moe_topk"],
        size: ["intermediate_size"],
        normalizes: [true, true],
        shared: () => reader.integer(["intermediate_size", ""]),
      }),
    names: llamaNames({
      ...HUNYUAN_NORMS,
      router: "mlp.gate.wg",
      expert_gate: "mlp.experts.{e}.gate_proj",
      expert_up: "mlp.experts.{e}.up_proj",
      expert_down: "mlp.experts.{e}.down_proj",
      shared_gate: "mlp.shared_mlp.gate_proj",
      shared_up: "mlp.shared_mlp.up_proj",
      shared_down: "mlp.shared_mlp.down_proj",
    }),
  },
];
