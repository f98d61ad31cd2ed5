// Roles of a layer's weights, and the names of their tensors in GGUF files and in transformers format.

/** Roles of weight matrices in a layer, in the order of the core's LayerMatrix. @internal */
export const LAYER_MATRICES = [
  "query",
  "key",
  "value",
  "output",
  "router",
  "gate",
  "up",
  "down",
  "query_latent",
  "latent",
  "key_up",
  "value_up",
  "per_layer_gate",
  "per_layer_output",
  "laurel_down",
  "laurel_up",
  "stream_router",
  "stream_prediction",
  "stream_correction",
  "attention_gate",
  "recurrent_in",
  "recurrent_gate",
  "recurrent_step",
  "recurrent_strength",
  "recurrent_select",
  "recurrent_out",
  "recurrent_query",
  "recurrent_key",
  "recurrent_value",
  "decay_down",
  "decay_up",
  "rate_down",
  "rate_up",
  "share_down",
  "share_up",
  "recurrent_gate_down",
  "recurrent_gate_up",
] as const;
/** @internal */
export type MatrixRole = (typeof LAYER_MATRICES)[number];

/** Roles of vectors in a layer, in the order of the core's LayerVector. @internal */
export const LAYER_VECTORS = [
  "attention_norm",
  "attention_norm_bias",
  "query_bias",
  "key_bias",
  "value_bias",
  "output_bias",
  "query_norm",
  "key_norm",
  "attention_post_norm",
  "feed_forward_norm",
  "feed_forward_norm_bias",
  "gate_bias",
  "up_bias",
  "down_bias",
  "feed_forward_post_norm",
  "attention_sub_norm",
  "feed_forward_sub_norm",
  "router_bias",
  "shared_expert_gate",
  "xielu_alpha_p",
  "xielu_alpha_n",
  "xielu_beta",
  "xielu_eps",
  "sinks",
  "router_logit_bias",
  "expert_gate_bias",
  "expert_up_bias",
  "expert_down_bias",
  "query_latent_norm",
  "latent_norm",
  "per_layer_norm",
  "layer_scale",
  "laurel_norm",
  "stream_norm",
  "stream_scale",
  "router_norm",
  "expert_norm",
  "expert_post_norm",
  "shared_expert_post_norm",
  "expert_scales",
  "attention_post_norm_bias",
  "feed_forward_post_norm_bias",
  "recurrent_in_bias",
  "recurrent_gate_bias",
  "recurrent_step_bias",
  "recurrent_step_offset",
  "recurrent_out_bias",
  "convolution",
  "convolution_bias",
  "decay",
  "skip",
  "recurrent_norm",
  "decay_log",
  "attention_gate_bias",
  "recurrent_select_norm",
  "token_shift",
  "decay_bias",
  "rate_bias",
  "share_bias",
  "removal_scale",
  "rate_scale",
  "bonus",
  "recurrent_norm_bias",
  "feed_forward_shift",
] as const;
/** @internal */
export type VectorRole = (typeof LAYER_VECTORS)[number];

/** Norms a layer can have. @internal */
export type NormRole =
  | "attention_norm"
  | "query_norm"
  | "key_norm"
  | "attention_sub_norm"
  | "attention_post_norm"
  | "feed_forward_norm"
  | "feed_forward_sub_norm"
  | "feed_forward_post_norm"
  | "query_latent_norm"
  | "latent_norm"
  | "per_layer_norm"
  | "laurel_norm"
  | "stream_norm"
  | "expert_norm"
  | "expert_post_norm"
  | "shared_expert_post_norm";

/**
 * Tensors that store the rows of several matrices. `recurrent_all` has all that a recurrent layer projects from its
 * input, `recurrent_strength_step` two of them.
 * @internal
 */
export type FusedRole = "query_key_value" | "gate_up" | "up_gate" | "recurrent_all" | "recurrent_strength_step";

/** Tensors of experts, and of the expert that every token uses. @internal */
export type ExpertRole = `${"expert" | "shared"}_${"gate" | "up" | "down" | "gate_up"}`;

/**
 * Names of a layer's tensors, without the layer prefix and without `.weight` (whole names: {@link WholeName}). `{e}`
 * stands for the index of an expert, `{h}` for that of a head, `{x}` for one of the inputs that RWKV mixes with the previous token's.
 * Without `{e}`, one tensor stores all experts in order.
 * @internal
 */
export type LayerNames = Partial<
  Record<
    | MatrixRole
    | NormRole
    | FusedRole
    | ExpertRole
    | WholeName
    | "query_up"
    | "key_value_up"
    | "shared_expert_gate"
    | "convolution"
    | "recurrent_norm"
    | "recurrent_step_norm"
    | "recurrent_key_norm"
    | "recurrent_query_norm",
    string
  >
>;

/** Tensors whose names don't end in `.weight`. @internal */
export type WholeName =
  | "router_bias"
  | "router_norm"
  | "expert_scales"
  | "xielu"
  | "sinks"
  | "layer_scale"
  | "stream_scale"
  | "expert_gate_up_bias"
  | "expert_gate_bias"
  | "expert_up_bias"
  | "expert_down_bias"
  | "recurrent_step_offset"
  | "decay"
  | "decay_log"
  | "skip"
  | "token_shift"
  | "decay_bias"
  | "rate_bias"
  | "share_bias"
  | "removal_scale"
  | "rate_scale"
  | "bonus"
  | "feed_forward_shift";

/** Names of a model's tensors. @internal */
export interface TensorNames {
  /** Prefix of a layer's tensors; `{n}` stands for the index of the layer. */
  readonly layer: string;
  readonly embedding: string;
  readonly final_norm: string;
  readonly head: string;
  readonly per_layer_embedding?: string;
  readonly per_layer_projection?: string;
  readonly per_layer_projection_norm?: string;
  /** `{s}` stands for the index of a stream, from 0; without it, one tensor stores all. */
  readonly streams_in?: string;
  readonly streams_out?: string;
  readonly positions?: string;
  readonly token_types?: string;
  readonly relative_bias?: string;
  readonly embedding_norm?: string;
  /** What some files write before all names but those of heads, such as `bert.`. */
  readonly prefixes?: readonly string[];
  /** Tensors of parts that neither embedding nor ranking uses, such as the head of a masked language model. */
  readonly others?: RegExp;
  readonly layers: LayerNames;
}

/** Names in GGUF, the same for all architectures. @internal */
export const GGUF_NAMES: TensorNames = {
  layer: "blk.{n}.",
  embedding: "token_embd",
  final_norm: "output_norm",
  head: "output",
  per_layer_embedding: "per_layer_token_embd",
  per_layer_projection: "per_layer_model_proj",
  per_layer_projection_norm: "per_layer_proj_norm",
  streams_in: "altup_proj",
  streams_out: "altup_unembd_proj",
  positions: "position_embd",
  token_types: "token_types",
  embedding_norm: "token_embd_norm",
  layers: {
    attention_norm: "attn_norm",
    query: "attn_q",
    key: "attn_k",
    value: "attn_v",
    query_key_value: "attn_qkv",
    output: "attn_output",
    query_norm: "attn_q_norm",
    key_norm: "attn_k_norm",
    attention_post_norm: "post_attention_norm",
    feed_forward_norm: "ffn_norm",
    router: "ffn_gate_inp",
    gate: "ffn_gate",
    up: "ffn_up",
    gate_up: "ffn_up",
    down: "ffn_down",
    expert_gate: "ffn_gate_exps",
    expert_up: "ffn_up_exps",
    expert_down: "ffn_down_exps",
    expert_gate_up: "ffn_gate_up_exps",
    shared_gate: "ffn_gate_shexp",
    shared_up: "ffn_up_shexp",
    shared_down: "ffn_down_shexp",
    shared_expert_gate: "ffn_gate_inp_shexp",
    router_bias: "exp_probs_b.bias",
    attention_sub_norm: "attn_sub_norm",
    feed_forward_sub_norm: "ffn_sub_norm",
    feed_forward_post_norm: "post_ffw_norm",
    sinks: "attn_sinks.weight",
    expert_gate_bias: "ffn_gate_exps.bias",
    expert_up_bias: "ffn_up_exps.bias",
    expert_down_bias: "ffn_down_exps.bias",
    query_latent: "attn_q_a",
    query_latent_norm: "attn_q_a_norm",
    latent: "attn_kv_a_mqa",
    latent_norm: "attn_kv_a_norm",
    key_up: "attn_k_b",
    value_up: "attn_v_b",
    query_up: "attn_q_b",
    key_value_up: "attn_kv_b",
    per_layer_gate: "inp_gate",
    per_layer_output: "proj",
    per_layer_norm: "post_norm",
    layer_scale: "layer_output_scale.weight",
    laurel_down: "laurel_l",
    laurel_up: "laurel_r",
    laurel_norm: "laurel_post_norm",
    stream_router: "altup_router",
    stream_norm: "altup_router_norm",
    stream_prediction: "altup_predict_coef",
    stream_correction: "altup_correct_coef",
    stream_scale: "altup_correct_scale.weight",
    recurrent_in: "attn_qkv",
    recurrent_gate: "attn_gate",
    recurrent_all: "ssm_in",
    recurrent_strength_step: "ssm_ba",
    recurrent_step: "ssm_alpha",
    recurrent_strength: "ssm_beta",
    recurrent_select: "ssm_x",
    recurrent_out: "ssm_out",
    convolution: "ssm_conv1d",
    recurrent_norm: "ssm_norm",
    recurrent_step_norm: "ssm_dt_norm",
    recurrent_key_norm: "ssm_b_norm",
    recurrent_query_norm: "ssm_c_norm",
    recurrent_step_offset: "ssm_dt.bias",
    decay: "ssm_a",
    skip: "ssm_d",
  },
};

/** Names of Llama in transformers, which most architectures share. @internal */
export const LLAMA_NAMES: TensorNames = {
  layer: "model.layers.{n}.",
  embedding: "model.embed_tokens",
  final_norm: "model.norm",
  head: "lm_head",
  layers: {
    attention_norm: "input_layernorm",
    query: "self_attn.q_proj",
    key: "self_attn.k_proj",
    value: "self_attn.v_proj",
    query_key_value: "self_attn.qkv_proj",
    output: "self_attn.o_proj",
    query_norm: "self_attn.q_norm",
    key_norm: "self_attn.k_norm",
    feed_forward_norm: "post_attention_layernorm",
    gate: "mlp.gate_proj",
    up: "mlp.up_proj",
    gate_up: "mlp.gate_up_proj",
    down: "mlp.down_proj",
  },
};

/** The names of Llama with some replaced. @internal */
export function llamaNames(layers: LayerNames, others: Partial<Omit<TensorNames, "layers">> = {}): TensorNames {
  return { ...LLAMA_NAMES, ...others, layers: { ...LLAMA_NAMES.layers, ...layers } };
}
