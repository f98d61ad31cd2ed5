// RWKV-7: no attention, and blocks that mix each token with the one before. Sources: flash-linear-attention's fla/models/rwkv7, whose files
// are those of fla-hub, and src/models/rwkv7.cpp of llama.cpp.
import type { RecurrenceConfig } from "../../../core/memory/model_fields.js";
import type { ConfigReader } from "../config/config_reader.js";
import { MAX_HEAD_DIM, MAX_WIDTH } from "../config/limits.js";
import type { LayerNames } from "./parts/tensor_names.js";
import type { Architecture } from "./parts/architecture.js";
import { HIDDEN, llama } from "./parts/common.js";
import { size } from "./parts/recurrence_keys.js";

const NAMES: LayerNames = {
  attention_norm: "attn_norm",
  feed_forward_norm: "ffn_norm",
  up: "ffn.key",
  down: "ffn.value",
  feed_forward_shift: "ffn.x_k",
  recurrent_query: "attn.r_proj",
  recurrent_key: "attn.k_proj",
  recurrent_value: "attn.v_proj",
  recurrent_out: "attn.o_proj",
  decay_down: "attn.w_lora.lora.0",
  decay_up: "attn.w_lora.lora.2",
  rate_down: "attn.a_lora.lora.0",
  rate_up: "attn.a_lora.lora.2",
  share_down: "attn.v_lora.lora.0",
  share_up: "attn.v_lora.lora.2",
  recurrent_gate_down: "attn.g_lora.lora.0",
  recurrent_gate_up: "attn.g_lora.lora.2",
  decay_bias: "attn.w_lora.lora.2.bias",
  rate_bias: "attn.a_lora.lora.2.bias",
  share_bias: "attn.v_lora.lora.2.bias",
  token_shift: "attn.x_{x}",
  removal_scale: "attn.k_k",
  rate_scale: "attn.k_a",
  bonus: "attn.r_k",
  recurrent_norm: "attn.g_norm",
};
const GGUF: LayerNames = {
  feed_forward_norm: "attn_norm_2",
  up: "channel_mix_key",
  down: "channel_mix_value",
  feed_forward_shift: "channel_mix_lerp_k.weight",
  recurrent_query: "time_mix_receptance",
  recurrent_key: "time_mix_key",
  recurrent_value: "time_mix_value",
  recurrent_out: "time_mix_output",
  decay_down: "time_mix_w1",
  decay_up: "time_mix_w2",
  rate_down: "time_mix_a1",
  rate_up: "time_mix_a2",
  share_down: "time_mix_v1",
  share_up: "time_mix_v2",
  recurrent_gate_down: "time_mix_g1",
  recurrent_gate_up: "time_mix_g2",
  decay_bias: "time_mix_w0.weight",
  rate_bias: "time_mix_a0.weight",
  share_bias: "time_mix_v0.weight",
  token_shift: "time_mix_lerp_fused.weight",
  removal_scale: "time_mix_k_k.weight",
  rate_scale: "time_mix_k_a.weight",
  bonus: "time_mix_r_k.weight",
  recurrent_norm: "time_mix_ln",
};

/** @internal */
export const RWKV_ROWS: readonly Architecture[] = [
  {
    ...llama,
    huggingFace: ["rwkv7"],
    gguf: ["rwkv7"],
    norm: "layer",
    hasNormBiases: (reader) => reader.isGguf || reader.boolean(["norm_bias", ""], true),
    activation: "relu2",
    isGated: false,
    hasNoAttention: true,
    feedForwardSize,
    recurrence: sizes,
    layer: () => () => ({ recurrence: "rwkv7" }),
    check: requireKnown,
    names: {
      layer: "model.layers.{n}.",
      embedding: "model.embeddings",
      embedding_norm: "model.layers.0.pre_norm",
      final_norm: "model.norm",
      head: "lm_head",
      layers: NAMES,
    },
    ggufNames: GGUF,
  },
];

/** Without a size, it is a multiple of 32 of so many times the hidden size. */
function feedForwardSize(reader: ConfigReader): number {
  const ratio = reader.isGguf ? 4 : reader.number(["hidden_ratio", ""], 4);
  const derived = 32 * Math.ceil(Math.trunc(reader.integer(HIDDEN, undefined, 1, MAX_WIDTH) * ratio) / 32);
  return size(reader, ["intermediate_size", "feed_forward_length"], derived);
}

function sizes(reader: ConfigReader): Partial<RecurrenceConfig> {
  const hidden = reader.integer(HIDDEN, undefined, 1, MAX_WIDTH);
  const headSize = reader.integer(["head_dim", "wkv.head_size"], headSizeOf(reader, hidden), 1, MAX_HEAD_DIM);
  if (hidden % headSize !== 0)
    reader.refuse(
      "INVALID_FILE",
      reader.find(["head_dim", "wkv.head_size"]).path,
      `must divide the hidden size ${hidden} (got ${headSize})`,
    );
  const epsilon = reader.number(["norm_eps", "attention.layer_norm_epsilon"], 1e-5);
  return {
    kernel: 2,
    inner: hidden,
    heads: hidden / headSize,
    key_heads: hidden / headSize,
    key_size: headSize,
    decay_rank: size(reader, ["decay_low_rank_dim", "attention.decay_lora_rank"], 64),
    rate_rank: size(reader, ["a_low_rank_dim", "attention.iclr_lora_rank"], 64),
    share_rank: size(reader, ["v_low_rank_dim", "attention.value_residual_mix_lora_rank"], 16),
    gate_rank: size(reader, ["gate_low_rank_dim", "attention.gate_lora_rank"], 128),
    // the fused kernels of flash-linear-attention add 1e-6 to the square of a length; others divide by at least 1e-12
    removal_epsilon: !reader.isGguf && reader.boolean(["fuse_norm", ""], true) ? 1e-6 : 1e-24,
    // a constant in llama.cpp: that of heads of 64
    head_norm_epsilon: reader.isGguf ? 64e-5 : headSize * epsilon,
  };
}

/** The class's default, unless the config has an empty size of heads and their number. */
function headSizeOf(reader: ConfigReader, hidden: number): number | undefined {
  if (reader.isGguf) return undefined;
  const heads = reader.source["head_dim"] === null ? reader.integer(["num_heads", ""], 0, 0, hidden) : 0;
  return heads > 0 ? Math.floor(hidden / heads) : 64;
}

function requireKnown(reader: ConfigReader): void {
  const need = (key: string, wanted: string, isWanted: (value: unknown) => boolean): void => {
    const { value, path } = reader.find([key, key]);
    if (value !== undefined && !isWanted(value)) reader.refuse("UNSUPPORTED_MODEL", path, `must be ${wanted}`);
  };
  if (reader.isGguf) {
    need("token_shift_count", "2", (value) => value === 2);
    return;
  }
  const hidden = reader.integer(HIDDEN, undefined, 1, MAX_WIDTH);
  need("hidden_act", '"sqrelu"', (value) => value === "sqrelu");
  need("norm_first", "true", (value) => value === true);
  need("attn", "null: layers with attention aren't supported", () => false);
  need("value_dim", `${hidden} in every layer, the hidden size`, (value) =>
    [value].flat().every((width) => width === hidden),
  );
}
