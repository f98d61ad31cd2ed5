"""Shapes of tiny models with recurrent layers. llama.cpp's converter writes their GGUF files: see converted_gguf.py."""

from tiny_models_configs import RMS, rope

SIZES = {
    "vocab_size": 64,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
# Heads of another size than hidden / heads, a window that the prompt is longer than, and kinds of layers in no period.
LFM3 = {
    "model_type": "lfm3",
    **SIZES,
    "num_hidden_layers": 6,
    "norm_eps": 0.01,
    "head_dim": 8,
    "sliding_window": 10,
    "conv_L_cache": 7,
    "layer_types": ["conv", "sliding_attention", "full_attention", "conv", "full_attention", "sliding_attention"],
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
        "full_attention": {"rope_type": "proportional", "rope_theta": 1000.0, "partial_rotary_factor": 0.5},
    },
}
LFM2 = {**SIZES, "norm_eps": 1e-5, **rope(1000.0), "layer_types": ["conv", "conv", "full_attention", "conv"]}
# Three value heads for each key head, of another size than keys. llama.cpp has one size for both.
QWEN = {
    **SIZES,
    "rms_norm_eps": 1e-6,  # that of the norm of keys, which has no key in transformers; llama.cpp has one for all
    **rope(1000.0, partial_rotary_factor=0.5),
    "head_dim": 12,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 6,
    "full_attention_interval": 3,
    "layer_types": ["linear_attention", "linear_attention", "full_attention", "linear_attention"],
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12}
SHARED = {**EXPERTS, "num_experts": 5, "shared_expert_intermediate_size": 20, "decoder_sparse_step": 1, "mlp_only_layers": []}
MROPE = {"mrope_section": [1, 1, 1], "mrope_interleaved": True}
GRANITE = {
    "model_type": "granitemoehybrid",
    **SIZES,
    **RMS,
    "layer_types": ["mamba", "mamba", "attention", "mamba"],
    "shared_intermediate_size": 20,
    "mamba_n_heads": 6,
    "mamba_n_groups": 2,
    "mamba_d_state": 10,
    "mamba_d_head": 8,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "embedding_multiplier": 6.0,
    "logits_scaling": 2.0,
    "residual_multiplier": 0.5,
    "attention_multiplier": 0.3,
}
# Falcon-H1: attention and Mamba-2 in each layer, and multipliers of everything. llama.cpp's converter multiplies weights by them.
FALCON_H1 = {
    "model_type": "falcon_h1",
    **SIZES,
    **RMS,
    **rope(1000.0),
    "num_hidden_layers": 3,
    "head_dim": 6,
    "mamba_d_ssm": 40,
    "mamba_n_heads": 5,
    "mamba_n_groups": 1,
    "mamba_d_head": 8,
    "mamba_d_state": 12,
    "mamba_d_conv": 4,
    "mamba_norm_before_gate": False,
    "embedding_multiplier": 5.5,
    "lm_head_multiplier": 0.6,
    "key_multiplier": 0.45,
    "attention_in_multiplier": 0.9,
    "attention_out_multiplier": 0.7,
    "ssm_in_multiplier": 1.25,
    "ssm_out_multiplier": 0.4,
    "ssm_multipliers": [0.6, 0.8, 0.7, 1.3, 0.5],
    "mlp_multipliers": [0.88, 0.34],
}
BAMBA = {
    "model_type": "bamba",
    **SIZES,
    **RMS,
    **rope(1000.0),
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "attn_rotary_emb": 4,  # read by the converter; transformers rotates half of each head
    "attn_layer_indices": [1, 3],
    "mamba_n_heads": 6,
    "mamba_n_groups": 2,
    "mamba_d_state": 10,
    "mamba_d_head": 8,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
}
NEMOTRON_H = {
    "model_type": "nemotron_h",
    **SIZES,
    "layer_norm_epsilon": 1e-5,
    "head_dim": 12,
    "mamba_num_heads": 8,  # the converter takes an inner size that 64 divides
    "mamba_head_dim": 8,
    "n_groups": 2,
    "ssm_state_size": 10,
    "conv_kernel": 4,
    "layers_block_type": ["linear_attention", "mlp", "full_attention", "mlp", "linear_attention"],
    "num_hidden_layers": 5,
}
JAMBA = {
    "model_type": "jamba",
    **SIZES,
    **RMS,
    "attn_layer_period": 3,
    "attn_layer_offset": 1,
    "expert_layer_period": 2,
    "expert_layer_offset": 1,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "mamba_d_state": 7,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_dt_rank": 5,
}
MAMBA = {
    "vocab_size": 64,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "conv_kernel": 4,
    "expand": 2,
    "layer_norm_epsilon": 1e-5,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}

CONFIGS = {
    "lfm2": {"model_type": "lfm2", **LFM2, "conv_L_cache": 3, "block_multiple_of": 4},
    "lfm2_bias": {"model_type": "lfm2", **LFM2, "conv_L_cache": 5, "conv_bias": True, "block_auto_adjust_ff_dim": False},
    "lfm3": LFM3,
    "lfm3_plain": {
        **LFM3,
        "conv_L_cache": 5,
        "conv_bias": True,
        "attention_bias": True,
        "use_sandwich_norm": False,
        "use_attention_gate": False,
        "tie_word_embeddings": False,
        "num_key_value_heads": 3,
    },
    "lfm2_moe": {"model_type": "lfm2_moe", **LFM2, **EXPERTS, "conv_L_cache": 3, "num_dense_layers": 1},
    "qwen3_next": {"model_type": "qwen3_next", **QWEN, **SHARED},
    "qwen3_next_sizes": {
        "model_type": "qwen3_next",
        **QWEN,
        **SHARED,
        "attention_bias": True,
        "linear_key_head_dim": 6,
        "linear_value_head_dim": 5,
        "linear_conv_kernel_dim": 3,
    },
    "qwen3_5": {
        "model_type": "qwen3_5_text",
        **QWEN,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.5, **MROPE},
        "tie_word_embeddings": True,
    },
    "qwen3_5_moe": {
        "model_type": "qwen3_5_moe_text",
        **QWEN,
        **SHARED,
        "num_experts": 6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.5, **MROPE},
    },
    "granitemoehybrid": {**GRANITE, "intermediate_size": 20, "num_local_experts": 0, "num_experts_per_tok": 0, "position_embedding_type": "nope"},
    "granitemoehybrid_rope": {
        **GRANITE,
        **rope(1000.0),
        "num_local_experts": 3,
        "num_experts_per_tok": 2,
        "intermediate_size": 12,
        "position_embedding_type": "rope",
        "mamba_proj_bias": True,
        "mamba_conv_bias": False,
    },
    "falcon_h1": FALCON_H1,
    "falcon_h1_norm": {
        **FALCON_H1,
        "mamba_rms_norm": True,
        "mamba_n_heads": 4,
        "mamba_n_groups": 2,
        "mamba_d_head": 10,
        "tie_word_embeddings": False,
    },
    "falcon_h1_bias": {
        **FALCON_H1,
        "mamba_rms_norm": True,
        "mamba_norm_before_gate": True,
        "mamba_d_ssm": None,
        "mamba_d_head": "auto",
        "mamba_n_heads": 4,
        "mamba_n_groups": 2,
        "mamba_proj_bias": True,
        "projectors_bias": True,
        "attention_bias": True,
        "mlp_bias": True,
        "tie_word_embeddings": True,
    },
    "bamba": BAMBA,
    "nemotron_h": NEMOTRON_H,
    "nemotron_h_moe": {
        **NEMOTRON_H,
        "layers_block_type": ["linear_attention", "moe", "full_attention", "moe", "linear_attention"],
        "n_routed_experts": 5,
        "num_experts_per_tok": 2,
        "n_group": 1,
        "topk_group": 1,
        "n_shared_experts": 1,
        "moe_intermediate_size": 12,
        "moe_shared_expert_intermediate_size": 20,
        "routed_scaling_factor": 1.5,
    },
    "jamba": JAMBA,
    "mamba2": {"model_type": "mamba2", **MAMBA, "num_heads": 6, "head_dim": 8, "n_groups": 2, "state_size": 10},
    "mamba": {"model_type": "mamba", **MAMBA, "state_size": 6, "time_step_rank": 3},
    # GGUF has one epsilon for all norms.
    "falcon_mamba": {"model_type": "falcon_mamba", **MAMBA, "state_size": 8, "time_step_rank": 5, "mixer_rms_eps": 1e-5},
}

# No bias of the convolution's projections, and one size of keys and values; Granite has RoPE only without mamba layers; the
# converter orders rows of Bamba's queries and keys as if all of a head were rotated, and multiplies biases of Falcon-H1 like weights.
NOT_IN_GGUF = {"lfm2_bias", "lfm3_plain", "qwen3_next_sizes", "granitemoehybrid_rope", "bamba", "falcon_h1_bias"}


def distribution(name):
    """Mean and standard deviation of what only recurrent layers have: states that remember some ten tokens."""
    if name.endswith("A_log"):
        return -1.5, 0.7
    if name.endswith("linear_attn.norm.weight"):
        return 1.0, 0.3
    if name.endswith("linear_attn.conv1d.weight"):
        return 0.0, 1.0  # keys that are longer than the epsilon of their norm
    return None
