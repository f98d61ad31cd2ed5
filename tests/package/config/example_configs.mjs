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
