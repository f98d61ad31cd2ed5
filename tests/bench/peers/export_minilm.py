"""Writes the released all-MiniLM-L6-v2 in the formats of other packages, for `npm run bench -- node`:

    python tests/bench/peers/export_minilm.py FOLDER OUT        needs what export_bert.py needs, and gguf

OUT/onnx/model.onnx and model_quantized.onnx with the tokenizer's files beside them are for transformers.js, which calls them fp32 and q8.
OUT/minilm-f32.gguf and OUT/minilm-q8_0.gguf are for llama.cpp, with the keys and names that its converter writes.
"""

import json
import shutil
import sys
from pathlib import Path

import gguf
from safetensors.numpy import load_file
from transformers import BertModel

from export_bert import write_onnx


def main():
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    write_for_transformers_js(source, out)
    for kind in ("F32", "Q8_0"):
        write_gguf(source, out / f"minilm-{kind.lower()}.gguf", gguf.GGMLQuantizationType[kind])


def write_for_transformers_js(source, out):
    (out / "onnx").mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(source / name, out / name)
    model = BertModel.from_pretrained(source, add_pooling_layer=False, attn_implementation="eager").eval()
    write_onnx(model, out / "onnx" / "model.onnx", out / "onnx" / "model_quantized.onnx")


def write_gguf(source, path, kind):
    config = json.loads((source / "config.json").read_text())
    architecture = gguf.MODEL_ARCH.BERT
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[architecture])
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_token_type_count(config["type_vocab_size"])
    add_vocabulary(writer, json.loads((source / "tokenizer.json").read_text()))
    names = gguf.get_tensor_name_map(architecture, config["num_hidden_layers"])
    for name, array in load_file(source / "model.safetensors").items():
        if "pooler" in name or name.endswith("position_ids"):
            continue
        is_matrix = array.ndim == 2 and "position" not in name and "token_type" not in name
        stored = kind if is_matrix else gguf.GGMLQuantizationType.F32
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), gguf.quants.quantize(array, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_vocabulary(writer, tokenizer):
    """WordPiece as GGUF stores it: the beginning of a word is marked, not its continuation."""
    special = {token["id"] for token in tokenizer["added_tokens"] if token["special"]}
    ids = tokenizer["model"]["vocab"]
    words = sorted(ids, key=ids.get)
    marked = [word if ids[word] in special else word[2:] if word.startswith("##") else f"\u2581{word}" for word in words]
    writer.add_tokenizer_model("bert")
    writer.add_token_list(marked)
    writer.add_token_types([gguf.TokenType.CONTROL if ids[word] in special else gguf.TokenType.NORMAL for word in words])
    writer.add_unk_token_id(ids["[UNK]"])
    writer.add_pad_token_id(ids["[PAD]"])
    writer.add_bos_token_id(ids["[CLS]"])
    writer.add_sep_token_id(ids["[SEP]"])
    writer.add_mask_token_id(ids["[MASK]"])


if __name__ == "__main__":
    main()
