"""Shapes of more tiny models, architectures near Llama, each with what it does differently. See tiny_models_configs.py.

A shape is all that a test needs: its config, and in GGUF the name of its architecture, whether rows of q and k are
stored in adjacent pairs, and keys that only it has.
"""

from tiny_models_configs import DEFAULT_THETA, LAYER_NORM, LONGROPE, RMS, YARN, rope

NARROW = {
    "vocab_size": 64,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "max_position_embeddings": 128,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
# Three layers with a window for each one without.
FOUR = {"num_hidden_layers": 4, "sliding_window": 16}
WIDE = {key: value for key, value in NARROW.items() if key != "head_dim"}

# transformers builds the vision tower too; nothing reads its weights.
QWEN3_VISION = {
    "depth": 1,
    "hidden_size": 8,
    "intermediate_size": 8,
    "num_heads": 2,
    "patch_size": 2,
    "out_hidden_size": 24,
    "num_position_embeddings": 4,
    "deepstack_visual_indexes": [],
}

CONFIGS = {
    "gemma": {"model_type": "gemma", **NARROW, **RMS, **rope(DEFAULT_THETA), "tie_word_embeddings": True},
    "phi4_mini": {
        "model_type": "phi3",
        **WIDE,
        **RMS,
        "num_attention_heads": 3,
        "num_key_value_heads": 1,
        **rope(1000.0, **{**LONGROPE, "short_factor": [1.0, 1.1, 1.25], "long_factor": [1.1, 1.75, 2.5]},
               partial_rotary_factor=0.75),
        "original_max_position_embeddings": 64,
        "tie_word_embeddings": True,
    },
    "ministral": {"model_type": "ministral", **NARROW, **RMS, **rope(1000.0), "sliding_window": 16,
                  "layer_types": ["sliding_attention", "full_attention"]},
    "mistral3": {
        "model_type": "ministral3",
        **NARROW,
        **RMS,
        "rope_parameters": {
            **YARN,
            "rope_theta": 1000.0,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "llama_4_scaling_beta": 0.5,
        },
    },
    "olmo3": {
        "model_type": "olmo3",
        **WIDE,
        **RMS,
        **FOUR,
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0},
            "full_attention": {**YARN, "rope_theta": 1000.0},
        },
    },
    "cohere": {"model_type": "cohere", **WIDE, **LAYER_NORM, **rope(1000.0), "logit_scale": 0.3},
    "cohere_plus": {"model_type": "cohere", **WIDE, **LAYER_NORM, **rope(1000.0), "use_qk_norm": True},
    "cohere2": {"model_type": "cohere2", **WIDE, **LAYER_NORM, **FOUR, **rope(1000.0), "logit_scale": 0.3},
    "exaone4": {"model_type": "exaone4", **NARROW, **RMS, **FOUR, **rope(1000.0), "tie_word_embeddings": True},
    "exaone4_full": {
        "model_type": "exaone4",
        **NARROW,
        **RMS,
        **rope(1000.0),
        "sliding_window": None,
        "layer_types": ["full_attention"] * 2,
    },
    "ernie4_5": {"model_type": "ernie4_5", **NARROW, **RMS, **rope(1000.0)},
    "hunyuan": {"model_type": "hunyuan_v1_dense", **NARROW, **RMS, **rope(1000.0)},
    "seed_oss": {"model_type": "seed_oss", **NARROW, **RMS, **rope(1000.0), "attention_out_bias": False},
    "arcee": {"model_type": "arcee", **NARROW, **RMS, **rope(1000.0)},
    "apertus": {"model_type": "apertus", **NARROW, **RMS, **rope(1000.0)},
    "nemotron": {
        "model_type": "nemotron",
        **WIDE,
        "norm_eps": 0.01,
        **rope(DEFAULT_THETA, partial_rotary_factor=0.5),
    },
    "starcoder2": {"model_type": "starcoder2", **WIDE, "norm_epsilon": 0.01, **rope(1000.0), "sliding_window": None},
    "starcoder2_window": {"model_type": "starcoder2", **WIDE, "norm_epsilon": 0.01, **rope(1000.0), "sliding_window": 16},
    "bitnet": {"model_type": "bitnet", **WIDE, **RMS, **rope(1000.0), "tie_word_embeddings": True},
    "bitnet_silu": {"model_type": "bitnet", **WIDE, **RMS, **rope(1000.0), "tie_word_embeddings": True, "hidden_act": "silu"},
    "glm4_plain": {
        "model_type": "glm4",
        **NARROW,
        **RMS,
        **rope(1000.0, partial_rotary_factor=0.5),
        "attention_bias": False,
    },
    # Mixtures of experts
    "mixtral": {"model_type": "mixtral", **NARROW, **RMS, **rope(1000.0), "intermediate_size": 16,
                "num_local_experts": 4, "num_experts_per_tok": 2},
    "qwen2_moe": {
        "model_type": "qwen2_moe",
        **WIDE,
        **RMS,
        **rope(1000.0),
        "num_experts": 6,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 12,
        "shared_expert_intermediate_size": 20,
    },
    "qwen2_moe_dense": {
        "model_type": "qwen2_moe",
        **WIDE,
        **RMS,
        **rope(1000.0),
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "norm_topk_prob": True,
        "mlp_only_layers": [1],
        "moe_intermediate_size": 12,
        "shared_expert_intermediate_size": 20,
    },
    "olmoe": {"model_type": "olmoe", **WIDE, **RMS, **rope(1000.0), "intermediate_size": 16, "num_key_value_heads": 6,
              "num_experts": 5, "num_experts_per_tok": 2},
    "granitemoe": {
        "model_type": "granitemoe",
        **WIDE,
        **RMS,
        **rope(1000.0),
        "intermediate_size": 16,
        "num_local_experts": 5,
        "num_experts_per_tok": 2,
        "embedding_multiplier": 3.0,
        "residual_multiplier": 0.4,
        "attention_multiplier": 0.2,
        "logits_scaling": 2.0,
    },
    "granitemoeshared": {
        "model_type": "granitemoeshared",
        **WIDE,
        **RMS,
        **rope(1000.0),
        "intermediate_size": 16,
        "shared_intermediate_size": 20,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "embedding_multiplier": 3.0,
        "residual_multiplier": 0.4,
        "attention_multiplier": 0.2,
        "logits_scaling": 2.0,
    },
    "ernie4_5_moe": {
        "model_type": "ernie4_5_moe",
        **WIDE,
        **RMS,
        **rope(1000.0),
        "moe_num_experts": 5,
        "moe_k": 2,
        "moe_intermediate_size": 12,
        "moe_num_shared_experts": 2,
        "moe_layer_start_index": 1,
    },
    "hunyuan_moe": {"model_type": "hunyuan_v1_moe", **NARROW, **RMS, **rope(1000.0), "intermediate_size": 16,
                    "num_experts": 4, "moe_topk": 2},
    # Vision models, of which only the text part is used.
    "qwen2_vl": {
        "model_type": "qwen2_vl",
        "text_config": {
            **WIDE,
            **RMS,
            "num_attention_heads": 4,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0, "mrope_section": [1, 1, 1]},
        },
        "vision_config": {"depth": 1, "embed_dim": 8, "hidden_size": 24, "num_heads": 2, "mlp_ratio": 1, "patch_size": 2},
    },
    "qwen3_vl": {
        "model_type": "qwen3_vl",
        "text_config": {
            **NARROW,
            **RMS,
            "head_dim": 6,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0, "mrope_section": [1, 1, 1]},
        },
        "vision_config": QWEN3_VISION,
    },
    # Code outside of transformers: the weights of one of its architectures under other names.
    "internlm2": {"model_type": "llama", **NARROW, **RMS, **rope(1000.0)},
    "minicpm": {
        "model_type": "granite",
        **WIDE,
        **RMS,
        **rope(1000.0),
        "embedding_multiplier": 3.0,
        "residual_multiplier": 0.9 / 2**0.5,
        "attention_multiplier": 0.5,  # 1/sqrt(4): the usual scale
        "logits_scaling": 24 / 16,
    },
}

# Names of architectures in GGUF by model_type, and those that store rows of q and k in adjacent pairs there.
GGUF = {
    "gemma": "gemma",
    "ministral": "llama",
    "ministral3": "mistral3",
    "olmo3": "olmo2",
    "cohere": "command-r",
    "cohere2": "cohere2",
    "exaone4": "exaone4",
    "ernie4_5": "ernie4_5",
    "ernie4_5_moe": "ernie4_5-moe",
    "hunyuan_v1_dense": "hunyuan-dense",
    "hunyuan_v1_moe": "hunyuan-moe",
    "seed_oss": "seed_oss",
    "arcee": "arcee",
    "apertus": "apertus",
    "nemotron": "nemotron",
    "starcoder2": "starcoder2",
    "bitnet": "bitnet",
    "mixtral": "llama",
    "qwen2_moe": "qwen2moe",
    "olmoe": "olmoe",
    "granitemoe": "granitemoe",
    "granitemoeshared": "granitemoe",
    "qwen2_vl": "qwen2vl",
    "qwen3_vl": "qwen3vl",
    "internlm2": "internlm2",
    "minicpm": "minicpm",
}
INTERLEAVED = {"ministral", "ministral3", "arcee", "mixtral", "granitemoe", "granitemoeshared", "internlm2", "minicpm"}

# Not in GGUF: windows that its llama and starcoder2 don't have, dense layers among experts, and BitNet's activation,
# which is SiLU in llama.cpp.
NOT_IN_GGUF = {"ministral", "starcoder2_window", "qwen2_moe_dense", "bitnet"}
