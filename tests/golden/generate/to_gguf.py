"""Converts the tiny models to GGUF, with the tensors and keys that llama.cpp's converter writes for each architecture.

    python to_gguf.py               tiny_models/<name>/model.gguf for every model that GGUF supports
    python to_gguf.py llama qwen2   only these
"""

import argparse
import json
import math
import re
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

from shapes import mixtures, near_llama, variants, wider
from tiny_models_configs import CONFIGS as BASE_CONFIGS
from tiny_models_vocabulary import MERGES, SPECIAL, TOKENS

HERE = Path(__file__).parents[1] / "tiny_models"
SHAPES = (variants, wider, mixtures, near_llama)
CONFIGS = {**BASE_CONFIGS, **{name: config for shapes in SHAPES for name, config in shapes.CONFIGS.items()}}
NOT_IN_GGUF = {"gemma2_query_scale", "gpt2_plain"}.union(*(shapes.NOT_IN_GGUF for shapes in SHAPES))  # no key for their scales

known = {name: index for index, name in gguf.MODEL_ARCH_NAMES.items()}
ARCHITECTURES = {
    "llama": gguf.MODEL_ARCH.LLAMA,
    "mistral": gguf.MODEL_ARCH.LLAMA,
    "smollm3": gguf.MODEL_ARCH.SMOLLM3,
    "granite": gguf.MODEL_ARCH.GRANITE,
    "qwen2": gguf.MODEL_ARCH.QWEN2,
    "qwen3": gguf.MODEL_ARCH.QWEN3,
    "qwen3_moe": gguf.MODEL_ARCH.QWEN3MOE,
    "gemma2": gguf.MODEL_ARCH.GEMMA2,
    "gemma3_text": gguf.MODEL_ARCH.GEMMA3,
    "phi3": gguf.MODEL_ARCH.PHI3,
    "phi": gguf.MODEL_ARCH.PHI2,
    "gpt_neox": gguf.MODEL_ARCH.GPTNEOX,
    "gpt2": gguf.MODEL_ARCH.GPT2,
    "gptj": gguf.MODEL_ARCH.GPTJ,
    "stablelm": gguf.MODEL_ARCH.STABLELM,
    "olmo2": gguf.MODEL_ARCH.OLMO2,
    "glm4": gguf.MODEL_ARCH.GLM4,
    **{name: known[gguf_name] for shapes in SHAPES for name, gguf_name in shapes.GGUF.items() if gguf_name in known},
    **{name: known[same] for name, same in mixtures.SAME_NAMES_AS.items()},
}
# GGUF stores their rows of q and k in adjacent pairs.
INTERLEAVED_IN_GGUF = {"llama", "mistral", "smollm3", "granite"} | variants.INTERLEAVED | near_llama.INTERLEAVED


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("names", nargs="*", help="the models; default: all")
    for name in arguments.parse_args().names or [name for name in CONFIGS if name not in NOT_IN_GGUF]:
        path = HERE / name / "model.gguf"
        convert(HERE / name, path)
        print(f"{name}: {path.stat().st_size} bytes")


def convert(folder, path, file_type=gguf.LlamaFileType.ALL_F32, encode=lambda name, array: (array, None)):
    """`encode` returns the bytes and type of a tensor; type None means the array's own type."""
    config = near_llama.usual_keys(text_config(json.loads((folder / "config.json").read_text())))
    architecture = ARCHITECTURES[config["model_type"]]
    writer = gguf.GGUFWriter(path, mixtures.GGUF.get(config["model_type"], gguf.MODEL_ARCH_NAMES[architecture]))
    writer.add_name("tiny")  # llama.cpp recognizes some families by the name, and then expects their tokens
    writer.add_file_type(file_type)
    tensors = text_tensors(load_file(folder / "model.safetensors"))
    add_keys(writer, config, tensors)
    add_vocabulary(writer)
    names = gguf.get_tensor_name_map(architecture, config.get("num_hidden_layers") or config["n_layer"])
    for name, array in rearranged(tensors, config):
        gguf_name = name if name.startswith(("blk.", "altup_")) else names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert gguf_name is not None, f"GGUF has no name for {name}"
        data, data_type = encode(name, array)
        writer.add_tensor(gguf_name, data, raw_dtype=data_type)
    for gguf_name, array in (*rotary_tensors(config), *wider.rotary_tensors(config)):
        writer.add_tensor(gguf_name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def text_config(config):
    """The text part of a multimodal model, under the name of the whole."""
    return {**config.get("text_config", config), "model_type": config["model_type"]}


def text_tensors(tensors):
    named = {re.sub(r"^model\.language_model\.", "model.", name): array for name, array in tensors.items()}
    return {name: array for name, array in named.items() if not name.startswith(("model.visual.", "visual."))}


def add_keys(writer, config, tensors):
    def first(*names):
        return next((config[name] for name in names if config.get(name) is not None), None)

    hidden, heads = first("hidden_size", "n_embd"), first("num_attention_heads", "n_head")
    head_dim = None if config["model_type"] == "minicpm3" else first("head_dim")
    writer.add_block_count(first("num_hidden_layers", "n_layer"))
    writer.add_context_length(first("max_position_embeddings", "n_positions"))
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(first("intermediate_size", "n_inner"))
    writer.add_head_count(heads)
    writer.add_head_count_kv(first("num_key_value_heads") or heads)
    optional_keys = {
        writer.add_vocab_size: first("vocab_size"),
        writer.add_key_length: head_dim,
        writer.add_value_length: head_dim,
        writer.add_layer_norm_rms_eps: first("rms_norm_eps"),
        writer.add_layer_norm_eps: first("layer_norm_eps", "layer_norm_epsilon", "norm_eps", "norm_epsilon"),
        writer.add_parallel_residual: first("use_parallel_residual"),
        writer.add_attn_logit_softcapping: first("attn_logit_softcapping"),
        writer.add_final_logit_softcapping: first("final_logit_softcapping"),
        # llama.cpp has no window for the "llama" architecture, and its converter drops Mistral's.
        writer.add_sliding_window: None if config["model_type"] == "mistral" else first("sliding_window"),
        writer.add_sliding_window_pattern: window_pattern(config),
        writer.add_expert_count: first("num_experts", "num_local_experts", "moe_num_experts") if has_experts(config) else None,
        writer.add_expert_used_count: first("num_experts_per_tok", "moe_topk", "moe_k"),
        writer.add_interleave_moe_layer_step: first("moe_layer_interval"),
        writer.add_leading_dense_block_count: first("moe_layer_start_index"),
        writer.add_expert_shared_feed_forward_length: shared_expert_size(config),
        writer.add_expert_feed_forward_length: first("moe_intermediate_size")
        or (first("intermediate_size") if config["model_type"] == "hunyuan_v1_moe" else None),
        writer.add_embedding_scale: first("embedding_multiplier", "scale_emb"),
        writer.add_residual_scale: first("residual_multiplier") or minicpm_residual_scale(config),
        writer.add_attention_scale: first("attention_multiplier"),
        writer.add_logit_scale: first("logits_scaling", "logit_scale")
        or (config["hidden_size"] / config["dim_model_base"] if "dim_model_base" in config else None),
        writer.add_rope_dimension_sections: mrope_sections(config),
    }
    for add, value in optional_keys.items():
        if value is not None:
            add(value)
    if config["model_type"] == "apertus":
        add_xielu_keys(writer, tensors)
    if config["model_type"] != "gpt2":
        add_rope_keys(writer, config, first("head_dim") or hidden // heads)
    wider.add_keys(writer, config)
    mixtures.add_keys(writer, config)


def add_xielu_keys(writer, tensors):
    """The parameters of each layer's activation, in the order of the layers."""
    adders = {
        "alpha_p": writer.add_xielu_alpha_p,
        "alpha_n": writer.add_xielu_alpha_n,
        "beta": writer.add_xielu_beta,
        "eps": writer.add_xielu_eps,
    }
    for part, add in adders.items():
        add([tensors[name].item() for name in sorted(tensors) if name.endswith(f"act_fn.{part}")])


def minicpm_residual_scale(config):
    return config["scale_depth"] / config["num_hidden_layers"] ** 0.5 if "scale_depth" in config else None


def has_experts(config):
    return config["model_type"] != "hunyuan_v1_dense"  # its class has a num_experts of 1


def window_pattern(config):
    kinds = config.get("layer_types")
    return [kind == "sliding_attention" for kind in kinds] if kinds and config.get("sliding_window") else None


def mrope_sections(config):
    section = config.get("rope_parameters", {}).get("mrope_section")
    return section and [*section, 0]


def shared_expert_size(config):
    if config["model_type"] == "ernie4_5_moe":
        return config["moe_intermediate_size"] * config["moe_num_shared_experts"]
    if config["model_type"] == "hunyuan_v1_moe":
        return config["intermediate_size"]
    return config.get("shared_expert_intermediate_size") or config.get("shared_intermediate_size")


def add_rope_keys(writer, config, head_dim):
    rope = full_rope(config)
    writer.add_rope_dimension_count(config.get("rotary_dim") or int(head_dim * rope.get("partial_rotary_factor", 1)))
    if rope["rope_theta"] != 10000:
        writer.add_rope_freq_base(rope["rope_theta"])
    if "sliding_attention" in config.get("rope_parameters", {}):
        writer.add_rope_freq_base_swa(config["rope_parameters"]["sliding_attention"]["rope_theta"])
    if rope["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        if "mscale_all_dim" in rope:
            writer.add_rope_scaling_yarn_log_mul(rope["mscale_all_dim"])
        if config["model_type"] in ("ministral3", "mistral4"):
            writer.add_attn_temperature_scale(rope["llama_4_scaling_beta"])
    if rope["rope_type"] == "longrope":
        original = rope["original_max_position_embeddings"]
        growth = config["max_position_embeddings"] / original
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(growth) / math.log(original)))


def full_rope(config):
    """The RoPE parameters of the full attention layers. GPT-J's configuration has none."""
    rope = config.get("rope_parameters", {"rope_type": "default", "rope_theta": 10000.0})
    return rope.get("full_attention", rope)


def add_vocabulary(writer):
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([gguf.TokenType.CONTROL if token in SPECIAL else gguf.TokenType.NORMAL for token in TOKENS])
    writer.add_token_merges(MERGES)
    writer.add_unk_token_id(SPECIAL.index("<unk>"))
    writer.add_bos_token_id(SPECIAL.index("<s>"))
    writer.add_eos_token_id(SPECIAL.index("</s>"))
    writer.add_add_bos_token(False)


def rearranged(tensors, config):
    """The tensors under their names in transformers, with rows ordered and tensors joined as in GGUF."""
    model_type = config["model_type"]
    joined = {}
    yield from wider.joined(tensors)
    for name, array in tensors.items():
        if "altup_projections" in name or "altup_unembed_projections" in name:
            continue
        own = mixtures.rearranged(name, array, config)
        if own is None:
            own = wider.rearranged(name, array, config)
        if own is not None:
            yield from own
        elif member := re.match(r"(.*\.(?:experts|[qk]_layernorm\.norms))\.(\d+)(.*)", name):
            prefix, index, suffix = member.groups()
            joined.setdefault(prefix.removesuffix(".norms") + suffix, {})[int(index)] = array
        elif model_type in INTERLEAVED_IN_GGUF and re.search(r"\.[qk]_proj\.", name):
            heads = config["num_attention_heads" if ".q_proj." in name else "num_key_value_heads"]
            yield name, halves_to_pairs(array, heads)
        elif model_type == "gpt_neox" and "query_key_value" in name:
            heads = config["num_attention_heads"]
            by_head = array.reshape(heads, 3, -1, *array.shape[1:])
            yield name, by_head.swapaxes(0, 1).reshape(array.shape)
        elif match := re.match(r"model\.layers\.(\d+)\.(block_sparse_moe|shared_mlp)\.input_linear\.weight", name):
            kind = {"block_sparse_moe": "exps", "shared_mlp": "shexp"}[match[2]]
            for part, half in zip(("gate", "up"), np.split(array, 2, axis=-2), strict=True):
                yield f"blk.{match[1]}.ffn_{part}_{kind}.weight", half
        elif match := re.match(r"model\.layers\.(\d+)\.(self_attn\.attn|mlp\.ffn)_sub_norm\.weight", name):
            yield f"blk.{match[1]}.{match[2].split('.')[1]}_sub_norm.weight", array
        elif model_type == "gpt2" and re.search(r"\.(c_\w+)\.weight$", name):
            yield name, np.ascontiguousarray(array.T)
        elif ".act_fn." in name:
            continue  # these are keys
        elif name.endswith("e_score_correction_bias"):
            yield f"blk.{re.search(r'[0-9]+', name)[0]}.exp_probs_b.bias", array.reshape(-1)
        elif model_type == "internlm2" and "wqkv" in name:
            yield from split_groups(name, array, config)
        elif model_type == "nemotron" and name.endswith("norm.weight"):
            yield name, array + np.float32(1)
        elif model_type in ("gemma", "gemma2", "gemma3_text") and name.endswith("norm.weight"):
            yield name, array + np.float32(1)
        else:
            yield name, array
    for name, members in joined.items():
        yield name, np.stack([members[index] for index in range(len(members))])


def split_groups(name, array, config):
    """InternLM2's wqkv as q, k and v."""
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    by_head = array.reshape(groups, heads // groups + 2, -1, array.shape[-1])
    layer = re.search(r"\d+", name)[0]
    parts = {"q": by_head[:, :-2], "k": by_head[:, -2], "v": by_head[:, -1]}
    for part, rows in parts.items():
        rows = rows.reshape(-1, array.shape[-1])
        if part != "v":
            rows = halves_to_pairs(rows, heads if part == "q" else groups)
        yield f"blk.{layer}.attn_{part}.weight", np.ascontiguousarray(rows)


def halves_to_pairs(array, heads):
    """Reorders rows from (head, half, pair) to (head, pair, half)."""
    return array.reshape(heads, 2, -1, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)


def rotary_tensors(config):
    rope = full_rope(config)
    if rope["rope_type"] == "llama3":
        yield "rope_freqs.weight", llama3_divisors(rope, config["head_dim"]).astype(np.float32)
    if rope["rope_type"] == "longrope":
        yield "rope_factors_long.weight", np.array(rope["long_factor"], dtype=np.float32)
        yield "rope_factors_short.weight", np.array(rope["short_factor"], dtype=np.float32)


def llama3_divisors(rope, head_dim):
    """Llama-3.1's divisors of frequencies: 1 for short wavelengths, `factor` for long ones, interpolated between."""
    wavelengths = 2 * np.pi * rope["rope_theta"] ** (np.arange(0, head_dim, 2) / head_dim)
    rotations = rope["original_max_position_embeddings"] / wavelengths
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    weight = np.clip((rotations - low) / (high - low), 0, 1)
    return 1 / (weight + (1 - weight) / rope["factor"])


if __name__ == "__main__":
    main()
