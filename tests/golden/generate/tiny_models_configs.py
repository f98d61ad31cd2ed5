"""The config.json of each tiny model, a small version of a real architecture.

Sizes are the smallest at which every mechanism has an effect: windows shorter than the prompt, RoPE plans with a
boundary that the steps cross, soft caps that scores reach. Epsilons are a thousand times the usual ones, so that a
wrong one is detected.
"""

VOCABULARY = 64
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
MULTI_HEAD = {key: value for key, value in SIZES.items() if key != "num_key_value_heads"}
RMS = {"rms_norm_eps": 0.01}
LAYER_NORM = {"layer_norm_eps": 0.01}
GEMMA = {**SIZES, **RMS, "head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 16, "tie_word_embeddings": True}

LONGROPE = {
    "rope_type": "longrope",
    "short_factor": [1.0, 1.0625, 1.25, 1.5],
    "long_factor": [1.125, 1.75, 2.5, 3.75],
    "original_max_position_embeddings": 64,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}


# Converters write no theta for these architectures. Readers must default to 10000.
DEFAULT_THETA = 10000.0


def rope(theta, **scaling):
    return {"rope_parameters": {"rope_type": "default", "rope_theta": theta, **scaling}}


CONFIGS = {
    "llama": {"model_type": "llama", **SIZES, **RMS, **rope(1000.0), "tie_word_embeddings": True},
    "llama_bias": {"model_type": "llama", **SIZES, **RMS, **rope(500.0), "attention_bias": True, "mlp_bias": True},
    "llama3": {"model_type": "llama", **SIZES, **RMS, "head_dim": 16, **rope(500.0, **LLAMA3)},
    "mistral": {"model_type": "mistral", **SIZES, **RMS, **rope(2000.0), "sliding_window": 16},
    "smollm3": {
        "model_type": "smollm3",
        **SIZES,
        **RMS,
        **rope(1000.0),
        "num_hidden_layers": 4,
        "intermediate_size": 32,
        "no_rope_layer_interval": 4,
        "tie_word_embeddings": True,
    },
    "qwen2": {"model_type": "qwen2", **SIZES, **RMS, **rope(1000.0, **YARN)},
    "qwen3": {"model_type": "qwen3", **SIZES, **RMS, **rope(1000.0), "head_dim": 16},
    "qwen3_moe": {
        "model_type": "qwen3_moe",
        **SIZES,
        **RMS,
        **rope(1000.0),
        "head_dim": 8,
        "num_experts": 8,
        "num_experts_per_tok": 3,
        "moe_intermediate_size": 16,
        "norm_topk_prob": True,
    },
    "gemma2": {
        "model_type": "gemma2",
        **GEMMA,
        **rope(DEFAULT_THETA),
        "attn_logit_softcapping": 4.0,
        "final_logit_softcapping": 3.0,
    },
    # Gemma-2 27B doesn't scale scores by its head width. GGUF has no key for it.
    "gemma2_query_scale": {
        "model_type": "gemma2",
        **GEMMA,
        **rope(DEFAULT_THETA),
        "query_pre_attn_scalar": 3,
        "attn_logit_softcapping": 4.0,
        "final_logit_softcapping": 3.0,
    },
    "gemma3": {
        "model_type": "gemma3_text",
        **GEMMA,
        "num_hidden_layers": 6,
        "intermediate_size": 16,
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
            "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1000.0},
        },
    },
    "phi3": {"model_type": "phi3", **SIZES, **RMS, **rope(1000.0, **LONGROPE), "original_max_position_embeddings": 64},
    "phi": {
        "model_type": "phi",
        **MULTI_HEAD,
        **LAYER_NORM,
        **rope(DEFAULT_THETA, partial_rotary_factor=0.75),
    },
    "gpt_neox": {"model_type": "gpt_neox", **MULTI_HEAD, **LAYER_NORM, **rope(DEFAULT_THETA, partial_rotary_factor=0.5)},
    "gpt_neox_sequential": {
        "model_type": "gpt_neox",
        **MULTI_HEAD,
        **LAYER_NORM,
        **rope(DEFAULT_THETA, partial_rotary_factor=0.5),
        "use_parallel_residual": False,
    },
    "gpt2": {
        "model_type": "gpt2",
        "vocab_size": VOCABULARY,
        "n_embd": 30,
        "n_layer": 3,
        "n_head": 5,
        "n_inner": 72,
        "n_positions": 256,
        "layer_norm_epsilon": 0.01,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    },
    # scores without 1/sqrt, a head of its own, exact GELU; GGUF has no key for them
    "gpt2_plain": {
        "model_type": "gpt2",
        "vocab_size": VOCABULARY,
        "n_embd": 24,
        "n_layer": 2,
        "n_head": 3,
        "n_positions": 259,
        "layer_norm_epsilon": 0.01,
        "activation_function": "gelu",
        "scale_attn_weights": False,
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    },
    "gptj": {
        "model_type": "gptj",
        "vocab_size": VOCABULARY,
        "n_embd": 32,
        "n_inner": 64,
        "n_layer": 2,
        "n_head": 4,
        "n_positions": 128,
        "rotary_dim": 4,
        "layer_norm_epsilon": 0.01,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "tie_word_embeddings": False,
    },
    "stablelm": {
        "model_type": "stablelm",
        **SIZES,
        **LAYER_NORM,
        **rope(DEFAULT_THETA, partial_rotary_factor=0.25),
        "use_qkv_bias": True,
    },
    "stablelm_parallel": {
        "model_type": "stablelm",
        **SIZES,
        **LAYER_NORM,
        **rope(DEFAULT_THETA, partial_rotary_factor=0.5),
        "use_parallel_residual": True,
        "qk_layernorm": True,
    },
    "olmo2": {"model_type": "olmo2", **SIZES, **RMS, **rope(1000.0)},
    "granite": {
        "model_type": "granite",
        **SIZES,
        **RMS,
        **rope(1000.0),
        "embedding_multiplier": 3.0,
        "residual_multiplier": 0.4,
        "attention_multiplier": 0.2,
        "logits_scaling": 2.0,
    },
    "glm4": {"model_type": "glm4", **SIZES, **RMS, **rope(1000.0, partial_rotary_factor=0.5), "head_dim": 8},
}
