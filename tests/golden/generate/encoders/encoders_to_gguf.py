"""Converts tiny encoders to GGUF, with the tensors and keys that llama.cpp's converter writes, and computes their
embeddings with llama.cpp: expected_llama_cpp_embeddings.json.

    python encoders/encoders_to_gguf.py              every encoder that llama.cpp has
    python encoders/encoders_to_gguf.py bert         only this
"""

import json
import sys
from pathlib import Path

import gguf
from safetensors.numpy import load_file

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from to_gguf import HERE, add_vocabulary  # noqa: E402

ARCHITECTURES = {
    "bert": gguf.MODEL_ARCH.BERT,
    "distilbert": gguf.MODEL_ARCH.BERT,
    "xlm_roberta": gguf.MODEL_ARCH.BERT,
    "modernbert": gguf.MODEL_ARCH.MODERN_BERT,
    "nomic_bert_own_names": gguf.MODEL_ARCH.NOMIC_BERT,
    "jina_embeddings_v3": gguf.MODEL_ARCH.JINA_BERT_V3,
    "eurobert": gguf.MODEL_ARCH.EUROBERT,
    "gemma_embedding": gguf.MODEL_ARCH.GEMMA_EMBEDDING,
}
NORMS_LESS_ONE = {"gemma_embedding"}
POOLING = gguf.PoolingType.MEAN


def main():
    for name in sys.argv[1:] or ARCHITECTURES:
        convert(name, HERE / name)
        write_embeddings(name)
        print(f"{name}: {(HERE / name / 'model.gguf').stat().st_size} bytes")


def convert(name, folder):
    config = json.loads((folder / "config.json").read_text())

    def first(*keys):
        return next((config[key] for key in keys if config.get(key) is not None), None)

    architecture = ARCHITECTURES[name]
    writer = gguf.GGUFWriter(folder / "model.gguf", gguf.MODEL_ARCH_NAMES[architecture])
    layers, hidden = first("num_hidden_layers", "n_layer", "n_layers"), first("hidden_size", "n_embd", "dim")
    heads = first("num_attention_heads", "n_head", "n_heads")
    unused = config["pad_token_id"] + 1 if config["model_type"] == "xlm-roberta" else 0
    writer.add_name("tiny")
    writer.add_block_count(layers)
    writer.add_context_length(first("max_position_embeddings", "n_positions") - unused)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(first("intermediate_size", "n_inner", "hidden_dim"))
    writer.add_head_count(heads)
    writer.add_head_count_kv(first("num_key_value_heads") or heads)
    writer.add_causal_attention(False)
    writer.add_pooling_type(POOLING)
    optional = {
        writer.add_layer_norm_eps: first("layer_norm_eps", "layer_norm_epsilon", "norm_eps")
        or (1e-12 if name == "distilbert" else None),
        writer.add_layer_norm_rms_eps: first("rms_norm_eps"),
        writer.add_key_length: first("head_dim"),
        writer.add_value_length: first("head_dim"),
        writer.add_sliding_window: first("local_attention", "sliding_window"),
        writer.add_token_type_count: first("type_vocab_size") or (1 if name == "distilbert" else None),  # without a tensor of types
    }
    for add, value in optional.items():
        if value is not None:
            add(value)
    ropes = first("rope_parameters") or {"rope_theta": first("rotary_emb_base")}
    full = ropes.get("full_attention", ropes)
    if full.get("rope_theta") is not None:
        writer.add_rope_freq_base(full["rope_theta"])
        writer.add_rope_dimension_count(first("head_dim") or hidden // heads)
    if "sliding_attention" in ropes:
        writer.add_rope_freq_base_swa(ropes["sliding_attention"]["rope_theta"])
    if name == "modernbert":
        writer.add_sliding_window_pattern(3)
    add_vocabulary(writer)
    names = gguf.get_tensor_name_map(architecture, layers)
    for tensor_name, array in stored(name, folder, unused):
        gguf_name = tensor_name
        if not tensor_name.startswith("dense_"):
            gguf_name = names.get_name(tensor_name, try_suffixes=(".weight", ".bias"))
            gguf_name = gguf_name or names.get_name(f"model.{tensor_name}", try_suffixes=(".weight", ".bias"))
        assert gguf_name is not None, f"GGUF has no name for {tensor_name}"
        writer.add_tensor(gguf_name, array)
    if name == "gemma_embedding":
        for number in (2, 3):
            weight = load_file(folder / f"{number}_Dense" / "model.safetensors")["linear.weight"]
            writer.add_dense_features_dims(f"dense_{number}", weight.shape[1], weight.shape[0])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def stored(name, folder, unused):
    for tensor_name, array in load_file(folder / "model.safetensors").items():
        if "pooler" in tensor_name:
            continue
        if "position_embeddings" in tensor_name:
            array = array[unused:]
        if name in NORMS_LESS_ONE and tensor_name.endswith("norm.weight"):
            array = array + 1
        yield tensor_name, array
    if name == "gemma_embedding":
        for number in (2, 3):
            yield f"dense_{number}.weight", load_file(folder / f"{number}_Dense" / "model.safetensors")["linear.weight"]


def write_embeddings(name):
    """Saves llama.cpp's embeddings of the sentences, and their token ids."""
    from llama_cpp import Llama

    from tiny_encoders import SENTENCES
    from tiny_models import write_expected

    model = Llama(str(HERE / name / "model.gguf"), n_ctx=96, n_batch=96, n_ubatch=96, n_threads=1, embedding=True,
                  pooling_type=int(POOLING), flash_attn=False, verbose=False)
    tokens = [model.tokenize(sentence.encode()) for sentence in SENTENCES]
    vectors = [model.embed(sentence, normalize=False) for sentence in SENTENCES]
    write_expected(HERE / name / "expected_llama_cpp_embeddings.json", {"tokens": tokens, "vectors": vectors})
    model.close()


if __name__ == "__main__":
    main()
