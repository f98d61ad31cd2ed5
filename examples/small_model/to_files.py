"""Writes the files of a trained model that are committed: config.json, model.safetensors in f16, tokenizer.json, training.json, and with
--gguf model.q8_0.gguf.

    python examples/small_model/to_files.py build/small_model examples/small_model --gguf
    python examples/small_model/to_files.py build/small_model_yarn examples/small_model/yarn
"""

import argparse
import json
import shutil
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file, save_file

HERE = Path(__file__).parent


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("trained", type=Path, help="output folder of train.py")
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--gguf", action="store_true", help="also write GGUF in Q8_0")
    options = arguments.parse_args()

    options.out.mkdir(parents=True, exist_ok=True)
    config = json.loads((options.trained / "config.json").read_text())
    (options.out / "config.json").write_text(json.dumps({**config, "dtype": "float16"}, indent=1) + "\n")
    weights = {name: array.astype(np.float16) for name, array in load_file(options.trained / "model.safetensors").items()}
    save_file(weights, options.out / "model.safetensors", metadata={"format": "pt"})
    if options.out.resolve() != HERE.resolve():
        shutil.copy(HERE / "tokenizer.json", options.out)
    shutil.copy(options.trained / "training.json", options.out)
    if options.gguf:
        write_gguf(options.trained, options.out / "model.q8_0.gguf", gguf.GGMLQuantizationType.Q8_0)
    for path in sorted(options.out.glob("model.*")):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


def write_gguf(folder, path, matrix_type=gguf.GGMLQuantizationType.F32):
    """The weights of a folder, with the rows of q and k in llama.cpp's order (half pairing to adjacent pairs). Norms stay f32."""
    config = json.loads((folder / "config.json").read_text())
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Ropewalk stories")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0 if matrix_type == gguf.GGMLQuantizationType.Q8_0 else gguf.LlamaFileType.ALL_F32)
    add_keys(writer, config)
    add_vocabulary(writer)
    for name, array in load_file(folder / "model.safetensors").items():
        if ".q_proj." in name or ".k_proj." in name:
            heads = config["num_attention_heads" if ".q_proj." in name else "num_key_value_heads"]
            array = array.reshape(heads, 2, -1, array.shape[-1]).swapaxes(1, 2).reshape(array.shape)
        tensor_type = matrix_type if array.ndim == 2 else gguf.GGMLQuantizationType.F32
        data = gguf.quants.quantize(np.ascontiguousarray(array, dtype=np.float32), tensor_type)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), data, raw_dtype=tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_keys(writer, config):
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])


def add_vocabulary(writer):
    tokenizer = json.loads((HERE / "tokenizer.json").read_text())
    vocabulary, merges = tokenizer["model"]["vocab"], tokenizer["model"]["merges"]
    special = {token["id"] for token in tokenizer["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(sorted(vocabulary, key=vocabulary.get))
    writer.add_token_types([gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in range(len(vocabulary))])
    writer.add_token_merges([" ".join(merge) if isinstance(merge, list) else merge for merge in merges])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_add_bos_token(True)


if __name__ == "__main__":
    main()
