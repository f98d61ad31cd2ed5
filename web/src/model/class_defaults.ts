/**
 * What a class of transformers takes for keys that config.json leaves out, by `model_type`; where released files do so. Gemma 3's that also see
 * leave out all that is as in the 4B.
 * @internal
 */
export const CLASS_DEFAULTS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  gemma3_text: {
    vocab_size: 262208,
    num_attention_heads: 8,
    num_key_value_heads: 4,
    head_dim: 256,
    rms_norm_eps: 1e-6,
    max_position_embeddings: 131072,
    query_pre_attn_scalar: 256,
  },
};
