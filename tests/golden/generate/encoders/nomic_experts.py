"""Writes a tiny random encoder with experts, nomic-embed-text-v2-moe in small: tiny_models/nomic_bert_moe/model.gguf, its
hidden states by a double-precision definition in PyTorch (expected_embeddings.json), and llama.cpp's embeddings
(expected_llama_cpp_embeddings.json). transformers doesn't have the model.

    python encoders/nomic_experts.py

Experts are in every second layer. The definition follows nomic-ai's modeling code: post-norms, a router whose softmax
isn't normalized over the chosen experts, exact GELU without a gate.
"""

import sys
from pathlib import Path

import gguf
import numpy as np
import torch
from torch.nn.functional import gelu, layer_norm

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from encoders_to_gguf import POOLING, write_embeddings  # noqa: E402
from tiny_encoders import LENGTHS, random_text  # noqa: E402
from tiny_models import generator, write_expected  # noqa: E402
from tiny_models_configs import VOCABULARY  # noqa: E402
from to_gguf import HERE, add_vocabulary  # noqa: E402

NAME = "nomic_bert_moe"
HIDDEN, INNER, LAYERS, HEADS, EXPERTS, USED, EVERY = 24, 40, 4, 3, 5, 2, 2
EPSILON, THETA, CONTEXT = 0.01, 1000.0, 96


def main():
    weights = random_weights()
    (HERE / NAME).mkdir(exist_ok=True)
    write_gguf(weights)
    doubles = {name: torch.from_numpy(array).double() for name, array in weights.items()}
    results = {"texts": [], "mean": [], "cls": [], "last": [], "max": []}
    for length in LENGTHS:
        tokens = random_text(NAME, length)
        hidden = encode(doubles, tokens)
        results["texts"].append(tokens)
        for pooling, row in pooled(hidden).items():
            results[pooling].append(row.tolist())
    write_expected(HERE / NAME / "expected_embeddings.json", results)
    write_embeddings(NAME)


def pooled(hidden):
    return {"mean": hidden.mean(0), "cls": hidden[0], "last": hidden[-1], "max": hidden.max(0).values}


def random_weights():
    """Float32 arrays under GGUF's names, [out, in]. Norms are near one, biases near zero but far enough to be noticed."""
    weights = {}

    def add(name, *shape, center=0.0, spread=None):
        random = generator(f"{NAME}/{name}").standard_normal(shape)
        weights[name] = (center + (spread or 1 / shape[-1] ** 0.5) * random).astype(np.float32)

    def norm(name):
        add(f"{name}.weight", HIDDEN, center=1.0, spread=0.3)
        add(f"{name}.bias", HIDDEN, spread=0.2)

    def dense(name, rows, columns):
        add(f"{name}.weight", rows, columns)
        add(f"{name}.bias", rows, spread=0.2)

    add("token_embd.weight", VOCABULARY, HIDDEN, spread=2 / HIDDEN**0.5)
    add("token_types.weight", 1, HIDDEN, spread=0.3)
    norm("token_embd_norm")
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        dense(f"{at}attn_qkv", 3 * HIDDEN, HIDDEN)
        dense(f"{at}attn_output", HIDDEN, HIDDEN)
        norm(f"{at}attn_output_norm")
        if layer % EVERY == 1:
            add(f"{at}ffn_gate_inp.weight", EXPERTS, HIDDEN, spread=2 / HIDDEN**0.5)  # so that experts differ in weight
            add(f"{at}ffn_up_exps.weight", EXPERTS, INNER, HIDDEN)
            add(f"{at}ffn_down_exps.weight", EXPERTS, HIDDEN, INNER)
        else:
            dense(f"{at}ffn_up", INNER, HIDDEN)
            dense(f"{at}ffn_down", HIDDEN, INNER)
        norm(f"{at}layer_output_norm")
    return weights


def write_gguf(weights):
    writer = gguf.GGUFWriter(HERE / NAME / "model.gguf", gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.NOMIC_BERT_MOE])
    writer.add_name("tiny")
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_causal_attention(False)
    writer.add_pooling_type(POOLING)
    writer.add_layer_norm_eps(EPSILON)
    writer.add_token_type_count(1)
    writer.add_rope_freq_base(THETA)
    writer.add_moe_every_n_layers(EVERY)
    writer.add_expert_count(EXPERTS)
    writer.add_expert_used_count(USED)
    add_vocabulary(writer)
    for name, array in weights.items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def encode(weights, tokens):
    """The hidden states, [tokens, HIDDEN]."""

    def norm(name, rows):
        return layer_norm(rows, (HIDDEN,), weights[f"{name}.weight"], weights[f"{name}.bias"], EPSILON)

    def dense(name, rows):
        return rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    rows = norm("token_embd_norm", weights["token_embd.weight"][tokens] + weights["token_types.weight"][0])
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        queries, keys, values = (heads_of(part) for part in dense(f"{at}attn_qkv", rows).split(HIDDEN, dim=1))
        scores = rotated(queries) @ rotated(keys).transpose(1, 2) / (HIDDEN // HEADS) ** 0.5
        attended = (scores.softmax(-1) @ values).transpose(0, 1).reshape(len(tokens), HIDDEN)
        rows = norm(f"{at}attn_output_norm", rows + dense(f"{at}attn_output", attended))
        if layer % EVERY == 1:
            fed = experts(weights, at, rows)
        else:
            fed = dense(f"{at}ffn_down", gelu(dense(f"{at}ffn_up", rows)))
        rows = norm(f"{at}layer_output_norm", rows + fed)
    return rows


def heads_of(rows):
    return rows.reshape(len(rows), HEADS, -1).transpose(0, 1)


def rotated(heads):
    """RoPE by halves of each head, [HEADS, tokens, width]."""
    tokens, width = heads.shape[1:]
    frequencies = THETA ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.arange(tokens, dtype=torch.float64)[:, None] * frequencies
    cos, sin = angles.cos(), angles.sin()
    x, y = heads.chunk(2, dim=-1)
    return torch.cat([x * cos - y * sin, y * cos + x * sin], dim=-1)


def experts(weights, at, rows):
    probabilities = (rows @ weights[f"{at}ffn_gate_inp.weight"].T).softmax(-1)
    chosen = probabilities.topk(USED, dim=-1)
    distance = (chosen.values[:, -1] - probabilities.topk(USED + 1, dim=-1).values[:, -1]).min()
    assert distance > 1e-4, f"{at}: two experts are too near for float32: {distance}"
    result = torch.zeros_like(rows)
    for row, (factors, indices) in enumerate(zip(chosen.values, chosen.indices)):
        for factor, index in zip(factors, indices):
            inner = gelu(weights[f"{at}ffn_up_exps.weight"][index] @ rows[row])
            result[row] += factor * (weights[f"{at}ffn_down_exps.weight"][index] @ inner)
    return result


if __name__ == "__main__":
    main()
