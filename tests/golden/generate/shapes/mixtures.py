"""Shapes of more mixtures of experts and of latent attention. See variants.py."""

import re

import gguf
import numpy as np

from tiny_models_configs import RMS, YARN, rope
from shapes.variants import NARROW, QWEN3_VISION, WIDE
from shapes.wider import DEEPSEEK, FULL, GEMMA, SLIDING, add_latent_sizes

EXPERTS = {"n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 12}
BIASED = {**EXPERTS, "n_shared_experts": 2, "first_k_dense_replace": 1, "norm_topk_prob": True, "routed_scaling_factor": 1.5}
DENSE = {key: value for key, value in DEEPSEEK.items() if key not in ("moe_intermediate_size", "first_k_dense_replace", "num_experts_per_tok")}

CONFIGS = {
    "gemma4_moe": {
        "model_type": "gemma4_text",
        **GEMMA,
        "global_head_dim": 8,
        "hidden_size_per_layer_input": 0,
        "enable_moe_block": True,
        "num_experts": 5,
        "top_k_experts": 2,
        "moe_intermediate_size": 10,
        "layer_types": [SLIDING, FULL],
        "rope_parameters": {
            SLIDING: {"rope_type": "default", "rope_theta": 100.0},
            FULL: {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 1000.0},
        },
    },
    "qwen3_vl_moe": {
        "model_type": "qwen3_vl_moe",
        "text_config": {
            **NARROW,
            **RMS,
            "head_dim": 6,
            "num_experts": 5,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 10,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0, "mrope_section": [1, 1, 1]},
        },
        "vision_config": QWEN3_VISION,
    },
    "glm4_moe": {
        "model_type": "glm4_moe",
        **NARROW,
        **RMS,
        **BIASED,
        **rope(1000.0, partial_rotary_factor=0.5),
        "attention_bias": True,
        "use_qk_norm": True,
        "num_nextn_predict_layers": 0,
    },
    "glm4_moe_air": {
        "model_type": "glm4_moe",
        **NARROW,
        **RMS,
        **BIASED,
        **rope(1000.0, partial_rotary_factor=0.5),
        "n_group": 3,
        "topk_group": 2,
        "num_nextn_predict_layers": 0,
    },
    "dots1": {
        "model_type": "dots1",
        **NARROW,
        **RMS,
        **BIASED,
        **rope(1000.0),
        "num_key_value_heads": 6,
        "sliding_window": None,
    },
    "minimax_m2": {
        "model_type": "minimax_m2",
        **NARROW,
        **RMS,
        **rope(1000.0, partial_rotary_factor=0.5),
        "num_key_value_heads": 3,
        "intermediate_size": 12,
        "num_local_experts": 6,
        "num_experts_per_tok": 2,
    },
    "mellum": {
        "model_type": "mellum",
        **NARROW,
        **RMS,
        "sliding_window": 16,
        "layer_types": [SLIDING, FULL],
        "num_experts": 6,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 12,
        "rope_parameters": {
            SLIDING: {"rope_type": "default", "rope_theta": 1000.0},  # llama.cpp has one base
            FULL: {**YARN, "rope_theta": 1000.0},
        },
    },
    "exaone_moe": {
        "model_type": "exaone_moe",
        **NARROW,
        **RMS,
        **rope(1000.0),
        "num_hidden_layers": 4,
        "sliding_window": 16,
        "num_experts": 6,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 12,
        "num_shared_experts": 2,
        "num_nextn_predict_layers": 0,
    },
    "hy_v3": {
        "model_type": "hy_v3",
        **NARROW,
        **RMS,
        **rope(1000.0),
        "num_experts": 6,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 12,
        "num_shared_experts": 2,
        "mlp_layer_types": ["dense", "sparse"],
        "router_scaling_factor": 1.5,
    },
    "minicpm3": {
        "model_type": "minicpm3",
        **DENSE,
        "v_head_dim": 8,  # llama.cpp has no key for it, nor for the three factors
        **rope(1000.0),
        "tie_word_embeddings": False,
    },
    "mistral4": {
        "model_type": "mistral4",
        **DEEPSEEK,
        **rope(1000.0, **YARN, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.5),
        **BIASED,
        "moe_intermediate_size": 10,
    },
    "glm4_moe_lite": {
        "model_type": "glm4_moe_lite",
        **DEEPSEEK,
        **rope(1000.0),
        **BIASED,
        "num_nextn_predict_layers": 0,
    },
    "youtu": {"model_type": "youtu", **DENSE, **rope(1000.0)},
    # Code outside of transformers: the weights of one of its architectures.
    "kimi_k2": {
        "model_type": "deepseek_v3",
        **DEEPSEEK,
        **rope(1000.0, **YARN, mscale=1.0, mscale_all_dim=1.0),
        "n_routed_experts": 6,
        "n_shared_experts": 1,
        "n_group": 1,
        "topk_group": 1,
        "routed_scaling_factor": 2.827,
        "num_nextn_predict_layers": 0,
    },
}

GGUF = {
    "qwen3_vl_moe": "qwen3vlmoe",
    "glm4_moe": "glm4moe",
    "dots1": "dots1",
    "minimax_m2": "minimax-m2",
    "mellum": "mellum",
    "exaone_moe": "exaone-moe",
    "hy_v3": "hy_v3",
    "minicpm3": "minicpm3",
    "mistral4": "mistral4",
    "glm4_moe_lite": "deepseek2",
    "youtu": "deepseek2",
    "kimi_k2": "deepseek2",
}
# Architectures that gguf 0.19.0 doesn't have, and those with the same names of tensors.
SAME_NAMES_AS = {"mellum": "qwen3moe", "hy_v3": "dots1"}
NOT_IN_GGUF = set()
GATING = {"softmax": gguf.ExpertGatingFuncType.SOFTMAX, "sigmoid": gguf.ExpertGatingFuncType.SIGMOID}
GROUPED = {"glm4_moe", "dots1", "exaone_moe", "hy_v3"}
LATENT = {"mistral4", "minicpm3", "glm4_moe_lite", "youtu", "kimi_k2"}


def add_keys(writer, config):
    """The keys of llama.cpp's converters beyond those of every model."""
    kind = config["model_type"]
    if kind == "gemma4_text" and config["enable_moe_block"]:
        writer.add_expert_used_count(config["top_k_experts"])
    if kind in GROUPED:
        add_grouped_keys(writer, config)
    if kind == "minimax_m2":
        writer.add_expert_feed_forward_length(config["intermediate_size"])
        writer.add_expert_gating_func(GATING["sigmoid"])
    if kind == "minicpm3":
        writer.add_q_lora_rank(config["q_lora_rank"])
        writer.add_kv_lora_rank(config["kv_lora_rank"])
        writer.add_key_length(config["qk_nope_head_dim"] + config["qk_rope_head_dim"])
        writer.add_rope_dimension_count(config["qk_rope_head_dim"])
    elif kind in LATENT:
        add_latent_keys(writer, config)


def add_grouped_keys(writer, config):
    shared = config.get("n_shared_experts") or config["num_shared_experts"]
    writer.add_expert_count(config.get("n_routed_experts") or config["num_experts"])
    writer.add_expert_shared_count(shared)
    writer.add_expert_gating_func(GATING["sigmoid"])
    writer.add_expert_weights_scale(config.get("routed_scaling_factor") or config["router_scaling_factor"])
    writer.add_expert_weights_norm(config.get("norm_topk_prob", True))
    if "first_k_dense_replace" in config:
        writer.add_leading_dense_block_count(config["first_k_dense_replace"])
    if config.get("n_group", 1) > 1:
        writer.add_expert_group_count(config["n_group"])
        writer.add_expert_group_used_count(config["topk_group"])
    if config["model_type"] in ("exaone_moe", "hy_v3"):
        writer.add_expert_shared_feed_forward_length(shared * config["moe_intermediate_size"])


def add_latent_keys(writer, config):
    """Those of DeepSeek. Dense models have only leading dense layers."""
    has_experts = "n_routed_experts" in config
    add_latent_sizes(writer, config)
    writer.add_leading_dense_block_count(
        config.get("first_k_dense_replace", 1) if has_experts else config["num_hidden_layers"]
    )
    writer.add_rope_dimension_count(config["qk_rope_head_dim"])
    if config["model_type"] == "mistral4":
        writer.add_attn_temperature_length(config["rope_parameters"]["original_max_position_embeddings"])
    if (all_dim := config["rope_parameters"].get("mscale_all_dim")) is not None:
        writer.add_rope_scaling_yarn_log_mul(0.1 * all_dim)
    writer.add_expert_feed_forward_length(config["moe_intermediate_size" if has_experts else "intermediate_size"])
    writer.add_expert_shared_count(config.get("n_shared_experts", 0))
    if has_experts:
        writer.add_expert_count(config["n_routed_experts"])
        writer.add_expert_weights_scale(config["routed_scaling_factor"])
        writer.add_expert_weights_norm(config["norm_topk_prob"])
        writer.add_expert_gating_func(GATING["softmax" if config["model_type"] == "mistral4" else "sigmoid"])


def rearranged(name, array, config):
    """As in wider.py."""
    kind = config["model_type"]
    match = re.match(r"model\.layers\.(\d+)\.(.*)", name)
    block, rest = (f"blk.{match[1]}.", match[2]) if match else ("", name)
    if rest.endswith("expert_bias"):
        return [(f"{block}exp_probs_b", array)]
    if rest.endswith("e_score_correction_bias"):
        return [(f"{block}exp_probs_b.bias", array)]
    if kind == "minicpm3" and rest.endswith("kv_b_proj.weight"):
        return [(f"{block}attn_kv_b.weight", array)]
    if kind == "hy_v3" and ".router.gate." in rest:
        return [(f"{block}ffn_gate_inp.weight", array)]
    if kind == "hy_v3" and ".shared_mlp." in rest:
        return [(f"{block}ffn_{re.search('gate|up|down', rest)[0]}_shexp.weight", array)]
    if kind == "qwen3_vl_moe" and rest == "mlp.experts.gate_up_proj":
        halves = np.split(array.swapaxes(1, 2), 2, axis=1)
        return [(f"{block}ffn_{role}_exps.weight", np.ascontiguousarray(half)) for role, half in zip(("gate", "up"), halves)]
    if kind == "qwen3_vl_moe" and rest == "mlp.experts.down_proj":
        return [(f"{block}ffn_down_exps.weight", np.ascontiguousarray(array.swapaxes(1, 2)))]
    if kind == "mistral4" and ".experts." in rest:
        return [(f"{block}{GEMMA4[rest.removeprefix('mlp.')]}", array)]
    if kind == "gemma4_text" and rest in GEMMA4:
        return [(f"{block}{GEMMA4[rest]}", array)]
    return None


GEMMA4 = {
    "router.proj.weight": "ffn_gate_inp.weight",
    "router.scale": "ffn_gate_inp.scale",
    "router.per_expert_scale": "ffn_down_exps.scale",
    "experts.gate_up_proj": "ffn_gate_up_exps.weight",
    "experts.down_proj": "ffn_down_exps.weight",
    "pre_feedforward_layernorm_2.weight": "pre_ffw_norm_2.weight",
    "post_feedforward_layernorm_1.weight": "post_ffw_norm_1.weight",
    "post_feedforward_layernorm_2.weight": "post_ffw_norm_2.weight",
}
