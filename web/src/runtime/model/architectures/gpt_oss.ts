// gpt-oss.
import type { ConfigReader } from "../config/config_reader.js";
import { allButEvery, slidingWindows } from "./parts/sliding_windows.js";
import { llamaNames } from "./parts/tensor_names.js";
import type { Architecture } from "./parts/architecture.js";
import { llama, QKV } from "./parts/common.js";
import { readExperts } from "./parts/experts.js";

/** gpt-oss: attention sinks, and experts with biases and a clamped gate. @internal */
export const GPT_OSS_ROWS: readonly Architecture[] = [
  {
    ...llama,
    huggingFace: ["gpt_oss"],
    gguf: ["gpt-oss"],
    readsSlidingBase: true,
    activation: "clamped_silu",
    biases: (reader) => (reader.boolean(["attention_bias", ""], true) ? [...QKV, "output"] : []),
    hasSinks: true,
    factors: (reader) => ({
      gate_slope: reader.number(["swiglu_alpha", ""], 1.702),
      gate_limit: reader.number(["swiglu_limit", ""], 7),
    }),
    window: slidingWindows({ tokens: 128, slides: allButEvery(2) }, { slides: allButEvery(2) }),
    experts: (reader: ConfigReader) =>
      readExperts(reader, {
        experts: ["num_local_experts", "num_experts"],
        used: ["num_experts_per_tok", "experts_per_token"],
        size: ["intermediate_size"],
        normalizes: [true, true],
      }),
    expertLayout: "alternating",
    names: llamaNames({
      sinks: "self_attn.sinks",
      router: "mlp.router",
      expert_gate_up: "mlp.experts.gate_up_proj",
      expert_down: "mlp.experts.down_proj",
      expert_gate_up_bias: "mlp.experts.gate_up_proj_bias",
      expert_down_bias: "mlp.experts.down_proj_bias",
    }),
    ggufNames: { feed_forward_norm: "post_attention_norm" },
  },
];
