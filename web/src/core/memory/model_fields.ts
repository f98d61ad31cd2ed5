// Written by scripts/fields.mjs of src/vectors/norm_fields.def and src/transformer/model_fields.def. Enumerators are numbers.
import { defaultQueryTemperature, type QueryTemperature } from "../config/rope_fields.js";

/** @internal */
export interface Norm {
  kind: number;
  /** added to the mean of squares, or to the variance */
  epsilon: number;
}

/** @internal */
export function defaultNorm(): Norm {
  return { kind: 0, epsilon: 1e-5 };
}

/** Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): the cache has one head with a row for each token, [rotated | latent], of which keys and values of all heads are linear maps. Sizes in elements; all 0 without it. @internal */
export interface LatentConfig {
  /** kv_lora_rank */
  latent: number;
  /** qk_rope_head_dim: of a query, and of the key that all heads share */
  rotated: number;
  /** qk_nope_head_dim: of a query and a key of one head, not rotated */
  plain: number;
  /** v_head_dim: of a value of one head */
  value: number;
  /** q_lora_rank: of the latent of queries; 0: there is none */
  query: number;
}

/** @internal */
export function defaultLatentConfig(): LatentConfig {
  return { latent: 0, rotated: 0, plain: 0, value: 0, query: 0 };
}

/** Gemma 3n, Gemma 4 and EmbeddingGemma 2. Each layer has its own small embedding of each token, and in Gemma 3n several residual streams (AltUp, arXiv:2301.13310). @internal */
export interface PerLayerConfig {
  /** of a layer's embedding; 0: there are none */
  size: number;
  /** tokens that have them; the others have those of token 0. 0: all of it is a projection of the hidden states */
  vocabulary_size: number;
  /** residual streams; 0: one, without AltUp */
  streams: number;
  /** the one that layers compute */
  active_stream: number;
  /** rank of the learned residual; 0: there is none */
  laurel: number;
}

/** @internal */
export function defaultPerLayerConfig(): PerLayerConfig {
  return { size: 0, vocabulary_size: 0, streams: 0, active_stream: 0, laurel: 0 };
}

/** Sizes of all recurrent layers, in elements. @internal */
export interface RecurrenceConfig {
  /** taps of the convolution; 2 for rwkv7, whose tokens are mixed with the previous one */
  kernel: number;
  /** of a token after the scan: heads · value size */
  inner: number;
  /** of values; 1 for convolution and mamba */
  heads: number;
  /** divides heads; 1 for convolution and mamba, and heads for rwkv7 */
  key_heads: number;
  /** of a key, or of the state of a value (Mamba); rwkv7: inner / heads */
  key_size: number;
  /** mamba: of Δ before its projection to `inner` */
  step_rank: number;
  /** mamba2: parts of `inner` that are normalized apart */
  norm_groups: number;
  /** delta: as StateScan::is_tiled */
  is_tiled: boolean;
  /** mamba2: the smallest Δ */
  least_step: number;
  /** mamba2: the largest Δ */
  largest_step: number;
  /** mamba: Δ, B and C are normalized if it isn't 0 (Falcon Mamba; Jamba, with weights) */
  select_norm_epsilon: number;
  /** mamba2: false: out = y * silu(W_gate x) */
  has_norm: boolean;
  /** mamba2: true: out = norm(y) * silu(W_gate x) */
  norms_before_gate: boolean;
  /** rwkv7: rank of the product that gives w */
  decay_rank: number;
  /** rwkv7: of that which gives a */
  rate_rank: number;
  /** rwkv7: of that which gives the share of the first layer's v */
  share_rank: number;
  /** rwkv7: of that which gives g */
  gate_rank: number;
  /** rwkv7: added to the square of the length of the key that is removed */
  removal_epsilon: number;
  /** rwkv7: of the norm of a head's outputs */
  head_norm_epsilon: number;
}

/** @internal */
export function defaultRecurrenceConfig(): RecurrenceConfig {
  return {
    kernel: 0,
    inner: 0,
    heads: 1,
    key_heads: 1,
    key_size: 0,
    step_rank: 0,
    norm_groups: 1,
    is_tiled: false,
    least_step: 0,
    largest_step: Infinity,
    select_norm_epsilon: 0,
    has_norm: true,
    norms_before_gate: false,
    decay_rank: 0,
    rate_rank: 0,
    share_rank: 0,
    gate_rank: 0,
    removal_epsilon: 0,
    head_norm_epsilon: 0,
  };
}

/** Factors inside layers, of inputs and of products with their biases (Falcon-H1, arXiv:2507.22448). @internal */
export interface Multipliers {
  /** of the input of queries, keys and values */
  attention_in: number;
  /** of keys */
  key: number;
  /** of the output of attention */
  attention_out: number;
  /** of the gate of a feed-forward block, before its activation */
  gate: number;
  /** of the output of a feed-forward block */
  down: number;
  /** of the input of a recurrent layer's projections */
  recurrent_in: number;
  /** mamba2 */
  recurrent_gate: number;
  /** mamba2: u */
  recurrent_value: number;
  /** mamba2: B */
  recurrent_key: number;
  /** mamba2: C */
  recurrent_query: number;
  /** mamba2: Δ */
  recurrent_step: number;
  /** of the output of a recurrent layer */
  recurrent_out: number;
}

/** @internal */
export function defaultMultipliers(): Multipliers {
  return {
    attention_in: 1,
    key: 1,
    attention_out: 1,
    gate: 1,
    down: 1,
    recurrent_in: 1,
    recurrent_gate: 1,
    recurrent_value: 1,
    recurrent_key: 1,
    recurrent_query: 1,
    recurrent_step: 1,
    recurrent_out: 1,
  };
}

/** How a token's experts are chosen and weighted (router.h). @internal */
export interface Routing {
  /** experts per token */
  used: number;
  weight: number;
  /** true: the weights of a token's experts are scaled to sum to 1 */
  normalizes: boolean;
  /** then multiplies the weights */
  scale: number;
  /** true: weights multiply an expert's input rather than its output (Llama 4) */
  scales_input: boolean;
  /** A token's experts are in the `groups_used` groups of consecutive experts with the largest scores. A group's score is the sum of its `group_best` largest ones: 1 in DeepSeek-V2 (arXiv:2405.04434), 2 in DeepSeek-V3. */
  groups: number;
  groups_used: number;
  group_best: number;
  /** multiplies the scores before they become weights */
  score_scale: number;
  /** normalized weights are divided by at least this: a bias can choose experts whose weights are all 0 */
  least_sum: number;
}

/** @internal */
export function defaultRouting(): Routing {
  return {
    used: 0,
    weight: 0,
    normalizes: false,
    scale: 1,
    scales_input: false,
    groups: 1,
    groups_used: 1,
    group_best: 1,
    score_scale: 1,
    least_sum: 1e-20,
  };
}

/** A linear map of the vector of a text, and an activation (text_vectors.h). @internal */
export interface DenseConfig {
  /** rows; 0: there is none, nor any after it */
  size: number;
  activates: boolean;
  activation: number;
}

/** @internal */
export function defaultDenseConfig(): DenseConfig {
  return { size: 0, activates: false, activation: 7 };
}

/** @internal */
export interface ModelConfig {
  layers: number;
  vocabulary_size: number;
  hidden_size: number;
  heads: number;
  kv_heads: number;
  /** with latent attention: row_size(latent), and kv_heads is 1 */
  head_dim: number;
  /** of layers without experts */
  feed_forward_size: number;
  norm: Norm;
  query_key_norm: number;
  activation: number;
  /** true: down(activation(gate x) · up x); false: down(activation(up x)) */
  is_gated: boolean;
  /** of clamped_silu */
  gate_slope: number;
  /** of clamped_silu */
  gate_limit: number;
  /** true: attention and feed-forward have the same input, x + attention(norm x) + feed_forward(norm x) */
  is_parallel: boolean;
  /** NaN: KvCache::default_scale() */
  attention_scale: number;
  /** as AttentionOptions::soft_cap; 0: none */
  attention_soft_cap: number;
  embedding_scale: number;
  residual_scale: number;
  logit_scale: number;
  logit_soft_cap: number;
  /** each head, by its root mean square */
  normalizes_values: boolean;
  /** of layers that have one */
  temperature: QueryTemperature;
  latent: LatentConfig;
  latent_norm: Norm;
  per_layer: PerLayerConfig;
  recurrence: RecurrenceConfig;
  multipliers: Multipliers;
  /** not with latent attention */
  attention_gate: number;
  /** false: a token attends to its whole text, so there is no cache (encoders) */
  is_causal: boolean;
  /** x = norm(x + attention(x)) with the post-norms, and no final norm (BERT) */
  normalizes_residual: boolean;
  /** embeddings of positions, added to those of tokens; 0: none */
  positions: number;
  /** embeddings of types of tokens; 0: none */
  token_types: number;
  /** biases of scores for this many buckets of distances, the same in all layers (T5Buckets); 0: none; not if causal */
  relative_buckets: number;
  /** as T5Buckets::max_distance */
  relative_max_distance: number;
  dense: [DenseConfig, DenseConfig, DenseConfig];
  /** the first of `dense` is of each token rather than of the pooled vector (EmbeddingGemma 2) */
  projects_tokens: boolean;
  experts: number;
  /** as feed_forward_size, of one expert */
  expert_size: number;
  /** of an expert that every token uses besides those it is routed to; 0: none */
  shared_expert_size: number;
  routing: Routing;
}

/** @internal */
export function defaultModelConfig(): ModelConfig {
  return {
    layers: 0,
    vocabulary_size: 0,
    hidden_size: 0,
    heads: 0,
    kv_heads: 0,
    head_dim: 0,
    feed_forward_size: 0,
    norm: defaultNorm(),
    query_key_norm: 0,
    activation: 0,
    is_gated: true,
    gate_slope: 1,
    gate_limit: 0,
    is_parallel: false,
    attention_scale: NaN,
    attention_soft_cap: 0,
    embedding_scale: 1,
    residual_scale: 1,
    logit_scale: 1,
    logit_soft_cap: 0,
    normalizes_values: false,
    temperature: defaultQueryTemperature(),
    latent: defaultLatentConfig(),
    latent_norm: defaultNorm(),
    per_layer: defaultPerLayerConfig(),
    recurrence: defaultRecurrenceConfig(),
    multipliers: defaultMultipliers(),
    attention_gate: 0,
    is_causal: true,
    normalizes_residual: false,
    positions: 0,
    token_types: 0,
    relative_buckets: 0,
    relative_max_distance: 128,
    dense: [defaultDenseConfig(), defaultDenseConfig(), defaultDenseConfig()],
    projects_tokens: false,
    experts: 0,
    expert_size: 0,
    shared_expert_size: 0,
    routing: defaultRouting(),
  };
}

/** @internal */
export interface LayerConfig {
  /** as AttentionOptions::window */
  window: number;
  has_experts: boolean;
  /** as AttentionOptions::chunk */
  chunk: number;
  /** 0: that of the model */
  head_dim: number;
  /** 0: those of the model */
  kv_heads: number;
  /** 0: that of the model */
  feed_forward_size: number;
  /** an earlier layer of the same shape whose keys and values it reads; not with QueryKeyNorm::rotated */
  keys_of: number;
  /** values are the keys before they are normalized and rotated (Gemma 4) */
  values_are_keys: boolean;
  has_temperature: boolean;
  /** queries and keys of each head are divided by their root mean square (Llama 4); without QueryKeyNorm */
  has_unit_heads: boolean;
  /** as keep_largest() */
  gate_deviations: number;
  recurrence: number;
  /** false: not in parallel layers, and not with PerLayerConfig */
  has_feed_forward: boolean;
  /** with a recurrence too, both read the same input, and their outputs are added */
  has_attention: boolean;
}

/** @internal */
export function defaultLayerConfig(): LayerConfig {
  return {
    window: 2 ** 31 - 1,
    has_experts: false,
    chunk: 0,
    head_dim: 0,
    kv_heads: 0,
    feed_forward_size: 0,
    keys_of: -1,
    values_are_keys: false,
    has_temperature: false,
    has_unit_heads: false,
    gate_deviations: -Infinity,
    recurrence: 0,
    has_feed_forward: true,
    has_attention: true,
  };
}
