"""Shapes of tiny models whose layers do something of their own: sinks, chunks, latent attention, per-layer embeddings."""

import math
import re
from statistics import NormalDist

import gguf
import numpy as np

from tiny_models_configs import RMS, rope

SIZES = {
    "vocab_size": 64,
    "hidden_size": 24,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "max_position_embeddings": 128,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0}

GPT_OSS = {
    "model_type": "gpt_oss",
    **SIZES,
    **RMS,
    "head_dim": 8,
    "sliding_window": 16,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "swiglu_limit": 0.5,  # reached
}
LLAMA_4 = {
    "model_type": "llama4_text",
    **SIZES,
    **RMS,
    **rope(1000.0),
    "num_hidden_layers": 4,
    "intermediate_size": 12,
    "intermediate_size_mlp": 20,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "interleave_moe_layer_step": 2,
    "no_rope_layer_interval": 4,
}
DEEPSEEK = {
    **SIZES,
    "rms_norm_eps": 1e-6,  # that of the latent's norms in transformers, which have no key; llama.cpp has one for all
    "num_attention_heads": 3,
    "num_key_value_heads": 3,
    "intermediate_size": 20,
    "moe_intermediate_size": 12,
    "kv_lora_rank": 8,
    "q_lora_rank": 10,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 6,
    "v_head_dim": 5,
    "first_k_dense_replace": 1,
    "num_experts_per_tok": 2,
}
del DEEPSEEK["head_dim"]
GEMMA = {
    **SIZES,
    **RMS,
    "num_attention_heads": 4,
    "head_dim": 6,
    "sliding_window": 16,
    "final_logit_softcapping": 3.0,
    "tie_word_embeddings": True,
    "vocab_size_per_layer_input": 64,
    "hidden_size_per_layer_input": 5,
}
SLIDING, FULL = "sliding_attention", "full_attention"

CONFIGS = {
    "gpt_oss": {**GPT_OSS, "swiglu_limit": 7.0, **rope(1000.0, **YARN, original_max_position_embeddings=32, truncate=False)},
    # A ramp of YaRN whose ends aren't whole pairs. llama.cpp always rounds them, and has no key for the limit.
    "gpt_oss_ramp": {**GPT_OSS, **rope(1000.0, **YARN, original_max_position_embeddings=64, truncate=False)},
    "llama4": LLAMA_4,
    # llama.cpp has 8192 in its code for both.
    "llama4_chunks": {**LLAMA_4, "attention_chunk_size": 16, "floor_scale": 8, "num_experts_per_tok": 1},
    "deepseek_v2": {
        "model_type": "deepseek_v2",
        **DEEPSEEK,
        **rope(1000.0, **YARN, original_max_position_embeddings=32, mscale=0.707, mscale_all_dim=0.707),
        "n_routed_experts": 4,
        "n_shared_experts": 2,
        "routed_scaling_factor": 1.5,
    },
    "deepseek_v2_lite": {
        "model_type": "deepseek_v2",
        **DEEPSEEK,
        **rope(1000.0),
        "q_lora_rank": None,
        "intermediate_size": 28,
        "kv_lora_rank": 12,
        "n_routed_experts": 6,
        "moe_intermediate_size": 10,
        "n_shared_experts": 1,
        "topk_method": "group_limited_greedy",
        "n_group": 2,
        "topk_group": 1,
    },
    "deepseek_v3": {
        "model_type": "deepseek_v3",
        **DEEPSEEK,
        **rope(1000.0, **YARN, original_max_position_embeddings=32, mscale=1.0, mscale_all_dim=1.0),
        "n_routed_experts": 8,
        "n_shared_experts": 1,
        "n_group": 4,
        "topk_group": 2,
        "routed_scaling_factor": 2.5,
        "num_nextn_predict_layers": 0,
    },
    "gemma4": {
        "model_type": "gemma4_text",
        **GEMMA,
        "num_hidden_layers": 5,
        "global_head_dim": 8,
        "layer_types": [SLIDING, SLIDING, FULL, SLIDING, FULL],
        "num_kv_shared_layers": 2,
        "use_double_wide_mlp": True,
        "rope_parameters": {
            SLIDING: {"rope_type": "default", "rope_theta": 100.0},
            FULL: {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 1000.0},
        },
    },
    "gemma4_dense": {
        "model_type": "gemma4_text",
        **GEMMA,
        "num_hidden_layers": 4,
        "global_head_dim": 8,
        "num_global_key_value_heads": 1,
        "attention_k_eq_v": True,
        "hidden_size_per_layer_input": 0,
        "layer_types": [SLIDING, FULL, SLIDING, FULL],
        "rope_parameters": {
            SLIDING: {"rope_type": "default", "rope_theta": 100.0},
            FULL: {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 1000.0},
        },
    },
    "gemma3n": {
        "model_type": "gemma3n_text",
        **GEMMA,
        "num_hidden_layers": 4,
        "layer_types": [SLIDING, FULL, SLIDING, FULL],
        "num_kv_shared_layers": 2,
        "altup_num_inputs": 3,
        "laurel_rank": 5,
        "activation_sparsity_pattern": [0.6, 0.0, 0.4, 0.0],
        "rope_parameters": {
            SLIDING: {"rope_type": "default", "rope_theta": 100.0},
            FULL: {"rope_type": "default", "rope_theta": 1000.0},
        },
    },
}

GGUF = {
    "gpt_oss": "gpt-oss",
    "llama4_text": "llama4",
    "deepseek_v2": "deepseek2",
    "deepseek_v3": "deepseek2",
    "gemma4_text": "gemma4",
    "gemma3n_text": "gemma3n",
}
NOT_IN_GGUF = {"gpt_oss_ramp", "llama4_chunks"}
# It needs queries with a latent unless there are 26, 27 or 48 layers, and Gemma 3n with 20 layers that have keys.
NOT_IN_LLAMA_CPP = {"deepseek_v2_lite", "gemma3n"}


def add_keys(writer, config):
    """The keys of llama.cpp's converters beyond those of every model."""
    kind = config["model_type"]
    if kind == "gpt_oss":
        writer.add_expert_feed_forward_length(config["intermediate_size"])
    if kind == "llama4_text":
        writer.add_feed_forward_length(config["intermediate_size_mlp"])
        writer.add_expert_feed_forward_length(config["intermediate_size"])
        writer.add_interleave_moe_layer_step(config["interleave_moe_layer_step"])
    if kind.startswith("deepseek"):
        add_deepseek_keys(writer, config)
    if kind in ("gemma4_text", "gemma3n_text"):
        writer.add_shared_kv_layers(config["num_kv_shared_layers"])
        writer.add_embedding_length_per_layer_input(config["hidden_size_per_layer_input"])
    if kind == "gemma4_text":
        add_gemma4_keys(writer, config)
    if kind == "gemma3n_text":
        deviations = {0.0: -math.inf}
        writer.add_altup_active_idx(config["altup_active_idx"])
        writer.add_altup_num_inputs(config["altup_num_inputs"])
        writer.add_activation_sparsity_scale(
            [deviations.get(share) or NormalDist().inv_cdf(share) for share in config["activation_sparsity_pattern"]]
        )


def add_latent_sizes(writer, config):
    """One head of keys in the cache: the latent, and the rotated part."""
    writer.add_head_count_kv(1)
    if config["q_lora_rank"] is not None:
        writer.add_q_lora_rank(config["q_lora_rank"])
    writer.add_kv_lora_rank(config["kv_lora_rank"])
    writer.add_key_length(config["kv_lora_rank"] + config["qk_rope_head_dim"])
    writer.add_value_length(config["kv_lora_rank"])
    writer.add_key_length_mla(config["qk_nope_head_dim"] + config["qk_rope_head_dim"])
    writer.add_value_length_mla(config["v_head_dim"])


def add_deepseek_keys(writer, config):
    add_latent_sizes(writer, config)
    writer.add_leading_dense_block_count(config["first_k_dense_replace"])
    writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    writer.add_expert_count(config["n_routed_experts"])
    writer.add_expert_shared_count(config["n_shared_experts"])
    writer.add_expert_weights_scale(config["routed_scaling_factor"])
    is_v3 = config["model_type"] == "deepseek_v3"
    if is_v3:
        writer.add_expert_weights_norm(config["norm_topk_prob"])
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID if is_v3 else gguf.ExpertGatingFuncType.SOFTMAX)
    if config.get("n_group"):
        writer.add_expert_group_count(config["n_group"])
        writer.add_expert_group_used_count(config["topk_group"])
    writer.add_rope_dimension_count(config["qk_rope_head_dim"])
    if (all_dim := config["rope_parameters"].get("mscale_all_dim")) is not None:
        writer.add_rope_scaling_yarn_log_mul(0.1 * all_dim)


def add_gemma4_keys(writer, config):
    layers, shared = config["num_hidden_layers"], config["num_kv_shared_layers"]
    full = config["per_layer_config"][str(config["layer_types"].index(FULL))]
    writer.add_key_length(full["head_dim"])
    writer.add_value_length(full["head_dim"])
    writer.add_key_length_swa(config["head_dim"])
    writer.add_value_length_swa(config["head_dim"])
    if config["use_double_wide_mlp"]:
        inner = config["intermediate_size"]
        writer.add_feed_forward_length([inner if layer < layers - shared else 2 * inner for layer in range(layers)])
    if (heads := full.get("num_key_value_heads")) is not None:
        own = config["num_key_value_heads"]
        writer.add_head_count_kv([heads if kind == FULL else own for kind in config["layer_types"]])
    writer.add_rope_dimension_count(full["head_dim"])
    writer.add_rope_dimension_count_swa(config["head_dim"])


def rearranged(name, array, config):
    """Tensors of GGUF that a tensor becomes; None if it has its usual name and order."""
    kind = config["model_type"]
    match = re.match(r"model\.layers\.(\d+)\.(.*)", name)
    block, rest = (f"blk.{match[1]}.", match[2]) if match else ("", name)
    if kind == "gpt_oss":
        return gpt_oss_tensors(block, rest, array)
    if kind == "llama4_text":
        return llama4_tensors(block, rest, array)
    if rest.endswith("kv_b_proj.weight"):
        plain, latent = config["qk_nope_head_dim"], array.shape[-1]
        by_head = array.reshape(config["num_attention_heads"], -1, latent)
        keys = np.ascontiguousarray(by_head[:, :plain].swapaxes(1, 2))
        return [(f"{block}attn_k_b.weight", keys), (f"{block}attn_v_b.weight", np.ascontiguousarray(by_head[:, plain:]))]
    if rest == "layer_scalar":
        return [(f"{block}layer_output_scale.weight", array)]
    if rest == "altup.correct_output_scale":
        return [(f"{block}altup_correct_scale.weight", array)]
    if kind == "gemma4_text" and name.endswith("norm.weight"):
        return [(name, array)]
    return None


def gpt_oss_tensors(block, rest, array):
    gate_up = {"gate": array[..., ::2], "up": array[..., 1::2]}
    if rest == "self_attn.sinks":
        return [(f"{block}attn_sinks.weight", array)]
    if rest == "mlp.experts.gate_up_proj_bias":
        return [(f"{block}ffn_{role}_exps.bias", np.ascontiguousarray(half)) for role, half in gate_up.items()]
    if rest == "mlp.experts.gate_up_proj":
        return [(f"{block}ffn_{role}_exps.weight", np.ascontiguousarray(half.swapaxes(1, 2))) for role, half in gate_up.items()]
    if rest == "mlp.experts.down_proj_bias":
        return [(f"{block}ffn_down_exps.bias", array)]
    if rest == "mlp.experts.down_proj":
        return [(f"{block}ffn_down_exps.weight", np.ascontiguousarray(array.swapaxes(1, 2)))]
    return None


def llama4_tensors(block, rest, array):
    if rest == "feed_forward.experts.gate_up_proj":
        halves = np.split(array.swapaxes(1, 2), 2, axis=1)
        return [(f"{block}ffn_{role}_exps.weight", np.ascontiguousarray(half)) for role, half in zip(("gate", "up"), halves)]
    if rest == "feed_forward.experts.down_proj":
        return [(f"{block}ffn_down_exps.weight", np.ascontiguousarray(array.swapaxes(1, 2)))]
    return None


def joined(tensors):
    """The projections of Gemma 3n's streams, each one tensor in GGUF."""
    for name, gguf_name in (("altup_projections", "altup_proj"), ("altup_unembed_projections", "altup_unembd_proj")):
        parts = [array for key, array in sorted(tensors.items()) if f".{name}." in key]
        if parts:
            yield f"{gguf_name}.weight", np.stack(parts)


def rotary_tensors(config):
    """Gemma 4: pairs that aren't rotated have a divisor that no position survives."""
    if config["model_type"] == "gemma4_text":
        full = config["per_layer_config"][str(config["layer_types"].index(FULL))]["head_dim"] // 2
        rotated = int(full * config["rope_parameters"][FULL]["partial_rotary_factor"])
        yield "rope_freqs.weight", np.array([1.0] * rotated + [1e30] * (full - rotated), dtype=np.float32)
