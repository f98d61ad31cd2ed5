"""Writes model.gguf of tiny models whose architectures the released gguf package doesn't have yet, with the names and keys that llama.cpp reads:
src/models/lfm3.cpp and gemma-embedding2.cpp of b12032.

    python formats/newer_gguf.py          every model
    python formats/newer_gguf.py lfm3     only this
"""

import json
import re
import sys
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

sys.path.insert(0, str(Path(__file__).parents[1]))

from to_gguf import HERE, add_vocabulary  # noqa: E402

# Names after the prefix of a layer.
COMMON = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
          "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
LFM3 = {**COMMON, "self_attn.gate_proj": "attn_gate", "operator_norm": "attn_norm", "post_operator_norm": "post_attention_norm",
        "ffn_norm": "ffn_norm", "post_ffn_norm": "post_ffw_norm", "feed_forward.w1": "ffn_gate", "feed_forward.w2": "ffn_down",
        "feed_forward.w3": "ffn_up", "conv.conv": "shortconv.conv", "conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj"}
GEMMA = {**COMMON, "input_layernorm": "attn_norm", "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
         "post_feedforward_layernorm": "post_ffw_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
         "ple_block.per_layer_input_gate": "inp_gate", "ple_block.per_layer_projection": "proj",
         "ple_block.post_per_layer_input_norm": "post_norm", "layer_scalar": "layer_output_scale"}
WHOLE = {"embed_tokens": "token_embd", "embedding_norm": "output_norm", "norm": "output_norm", "embedding_projection": "output",
         "ple.per_layer_model_projection": "per_layer_model_proj", "ple.per_layer_projection_norm": "per_layer_proj_norm", "lm_head": "output"}
NAMES = {"lfm3": ("lfm3", LFM3), "embedding_gemma2": ("gemma-embedding2", GEMMA)}


def main():
    for name in sys.argv[1:] or NAMES:
        path = HERE / name / "model.gguf"
        convert(HERE / name, path, *NAMES[name])
        print(f"{name}: {path.stat().st_size} bytes")


def convert(folder, path, architecture, names):
    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("tiny")
    layers, kinds, ropes = config["num_hidden_layers"], config["layer_types"], config["rope_parameters"]
    writer.add_block_count(layers)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_rope_freq_base(ropes["full_attention"]["rope_theta"])
    writer.add_rope_freq_base_swa(ropes["sliding_attention"]["rope_theta"])
    writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in kinds])
    {"lfm3": add_lfm3, "gemma-embedding2": add_gemma}[architecture](writer, config, kinds)
    add_vocabulary(writer)
    for name, array in load_file(folder / "model.safetensors").items():
        writer.add_tensor(named(name, names), array.reshape(array.shape[0], -1) if array.ndim == 3 else array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def named(name, names):
    stem, suffix = re.fullmatch(r"(?:model\.|language_model\.)*(.*?)(\.weight|\.bias|(?<=scalar))", name).groups()
    if match := re.fullmatch(r"layers\.(\d+)\.(.*)", stem):
        return f"blk.{match[1]}.{names[match[2]]}{suffix or '.weight'}"
    return WHOLE[stem] + suffix


def add_lfm3(writer, config, kinds):
    writer.add_head_count_kv([0 if kind == "conv" else config["num_key_value_heads"] for kind in kinds])
    writer.add_layer_norm_rms_eps(config["norm_eps"])
    writer.add_shortconv_l_cache(config["conv_L_cache"])
    writer.add_sliding_window(config["sliding_window"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_rope_dimension_count(config["head_dim"])
    pairs = config["head_dim"] // 2
    rotated = int(pairs * config["rope_parameters"]["full_attention"]["partial_rotary_factor"])
    writer.add_tensor("rope_freqs.weight", np.array([1.0] * rotated + [1e30] * (pairs - rotated), dtype=np.float32))


def add_gemma(writer, config, kinds):
    full = config["per_layer_config"][str(kinds.index("full_attention"))]
    writer.add_head_count_kv([(full if kind == "full_attention" else config)["num_key_value_heads"] for kind in kinds])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_sliding_window(2 * config["sliding_window"])  # both sides
    writer.add_key_length(full["head_dim"])
    writer.add_value_length(full["head_dim"])
    writer.add_key_length_swa(config["head_dim"])
    writer.add_value_length_swa(config["head_dim"])
    writer.add_rope_dimension_count(full["head_dim"])
    writer.add_rope_dimension_count_swa(config["head_dim"])
    writer.add_embedding_length_per_layer_input(config["hidden_size_per_layer_input"])
    writer.add_uint32("gemma-embedding2.embedding_length_out", config["embedding_dim"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)


if __name__ == "__main__":
    main()
