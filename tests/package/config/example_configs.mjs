// Builds config.json files of models for the tests in this folder.

export const model = (model_type, hidden_size, num_attention_heads, max_position_embeddings, more = {}) => ({
  model_type,
  hidden_size,
  num_attention_heads,
  max_position_embeddings,
  ...more,
});

/** A model with DeepSeek's attention. */
export const mla = (model_type, max, more) => ({
  ...model(model_type, 7168, 128, max),
  qk_nope_head_dim: 128,
  qk_rope_head_dim: 64,
  v_head_dim: 128,
  ...more,
});

export const PLAIN = { rope_type: "default" };

/** The keys of RoPE in LFM3-1.7B's released config.json: `default`, where it means `proportional`. */
export const LFM3 = {
  model_type: "lfm3",
  hidden_size: 2048,
  num_attention_heads: 16,
  head_dim: 128,
  num_hidden_layers: 24,
  max_position_embeddings: 128000,
  sliding_window: 256,
  layer_types: Array.from({ length: 24 }, (_, layer) =>
    layer % 4 === 2 ? "full_attention" : layer % 4 === 0 && layer > 0 ? "sliding_attention" : "conv",
  ),
  rope_parameters: {
    sliding_attention: { rope_type: "default", rope_theta: 1e4 },
    full_attention: { rope_type: "default", rope_theta: 1e6, partial_rotary_factor: 0.5 },
  },
};
