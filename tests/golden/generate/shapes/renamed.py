"""Architectures whose code is outside of transformers but equal to one of its own: the same weights under their names."""

import json
import re

import numpy as np
from safetensors.numpy import load_file, save_file

INTERNLM2_NAMES = {
    "model.embed_tokens": "model.tok_embeddings",
    "lm_head": "output",
    "input_layernorm": "attention_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.o_proj": "attention.wo",
    "mlp.gate_proj": "feed_forward.w1",
    "mlp.up_proj": "feed_forward.w3",
    "mlp.down_proj": "feed_forward.w2",
}


def rename(name, folder):
    """Rewrites a folder that transformers saved, if the architecture has a name of its own."""
    if name not in RENAMED:
        return
    config_path, weights_path = folder / "config.json", folder / "model.safetensors"
    config, tensors = RENAMED[name](json.loads(config_path.read_text()), load_file(weights_path))
    config_path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    save_file(tensors, weights_path, metadata={"format": "pt"})


def internlm2(config, tensors):
    """q, k and v are one tensor: for each key head its queries, then the key, then the value (modeling_internlm2.py)."""
    renamed = {}
    groups = config["num_key_value_heads"]
    for name, array in tensors.items():
        if re.search(r"\.[kv]_proj\.", name):
            continue
        if ".q_proj." in name:
            parts = [tensors[name.replace(".q_proj.", f".{part}_proj.")] for part in "qkv"]
            grouped = [part.reshape(groups, -1, part.shape[-1]) for part in parts]
            renamed[name.replace("self_attn.q_proj", "attention.wqkv")] = np.concatenate(grouped, axis=1).reshape(
                -1, array.shape[-1]
            )
            continue
        for old, new in INTERNLM2_NAMES.items():
            name = name.replace(old, new)
        renamed[name] = array
    return {**config, "model_type": "internlm2", "architectures": ["InternLM2ForCausalLM"], "bias": False}, renamed


def minicpm(config, tensors):
    """Granite's factors under the names and in the units of configuration_minicpm.py."""
    layers = config["num_hidden_layers"]
    kept = {key: value for key, value in config.items() if not re.search("multiplier|logits_scaling", key)}
    factors = {
        "scale_emb": config["embedding_multiplier"],
        "scale_depth": config["residual_multiplier"] * layers**0.5,
        "dim_model_base": round(config["hidden_size"] / config["logits_scaling"]),
    }
    return {**kept, **factors, "model_type": "minicpm", "architectures": ["MiniCPMForCausalLM"]}, tensors


def qwen3_vl_moe(config, tensors):
    """Released files have the experts transposed. transformers reads both."""
    is_experts = re.compile(r"\.experts\.")
    turned = {
        name: np.ascontiguousarray(array.swapaxes(1, 2)) if is_experts.search(name) else array
        for name, array in tensors.items()
    }
    return config, turned


def kimi_k2(config, tensors):
    """DeepSeek-V3 under its own name."""
    return {**config, "model_type": "kimi_k2", "scoring_func": "sigmoid", "topk_method": "noaux_tc"}, tensors


EXAONE_NAMES = {
    "model.embed_tokens": "transformer.wte",
    "model.norm": "transformer.ln_f",
    "model.layers": "transformer.h",
    "input_layernorm": "ln_1",
    "post_attention_layernorm": "ln_2",
    "self_attn.o_proj": "attn.attention.out_proj",
    "self_attn": "attn.attention",
    "mlp.gate_proj": "mlp.c_fc_0",
    "mlp.up_proj": "mlp.c_fc_1",
    "mlp.down_proj": "mlp.c_proj",
}


def exaone(config, tensors):
    """EXAONE 3 and 3.5: Llama under GPT-2's names (modeling_exaone.py)."""
    renamed = {}
    for name, array in tensors.items():
        for old, new in EXAONE_NAMES.items():
            name = name.replace(old, new)
        renamed[name] = array
    keys = {"num_hidden_layers": "num_layers", "rms_norm_eps": "layer_norm_epsilon", "hidden_act": "activation_function"}
    return {**{keys.get(key, key): value for key, value in config.items()}, "model_type": "exaone"}, renamed


def xverse(config, tensors):
    return {**config, "model_type": "xverse", "architectures": ["XverseForCausalLM"]}, tensors


def orion(config, tensors):
    """Layer norms whose epsilon is `rms_norm_eps` (modeling_orion.py)."""
    kept = {key: value for key, value in config.items() if key not in ("layer_norm_eps", "qk_layernorm", "use_qkv_bias")}
    return {**kept, "model_type": "orion", "rms_norm_eps": config["layer_norm_eps"]}, tensors


RENAMED = {"exaone": exaone, "xverse": xverse, "orion": orion, "qwen3_vl_moe": qwen3_vl_moe, "kimi_k2": kimi_k2, "internlm2": internlm2, "minicpm": minicpm}
