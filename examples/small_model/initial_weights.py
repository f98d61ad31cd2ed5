"""Weights to begin training from, in which looking things up is already near.

To answer from a text, a model needs heads that carry a few words along and heads that find where the same words stood before (induction heads).
From noise they form late. Begun like this, and shown refrains, they are there after one and a half million tokens (training.json). Nothing is
held fixed: all of it is trained. Near to this: mimetic initialization of attention, Trockman & Kolter 2023.
"""

import torch

REACH = 5  # pairs that turn fast enough to tell one token back from two
SHARPNESS = 0.57
CARRIED = 0.08  # of what a head reads, beside the token's own embedding
LIKENESS = 1.2


def begin(model):
    """Head h of the first layer reads the token h + 1 places before, all of them into the same place; those of the other layers match like with like."""
    config, (first, *others) = model.config, model.model.layers
    hidden, head_dim = config.hidden_size, config.head_dim
    with torch.no_grad():
        # what all tokens have in common is what a head that looks at distances alone goes by
        common = torch.randn(hidden)
        embeddings = model.model.embed_tokens.weight
        embeddings.add_(embeddings.std() * common)
        common /= common.norm()
        without_common = lambda weight: weight - (weight @ common)[:, None] * common

        reading = without_common(torch.linalg.qr(torch.randn(hidden, hidden))[0][:head_dim])
        writing = torch.linalg.qr(torch.randn(hidden, hidden))[0][:, :head_dim]
        attention = first.self_attn
        for head in range(config.num_attention_heads):
            rows = slice(head * head_dim, (head + 1) * head_dim)
            key, query = looking_back(head + 1, head_dim, config.rope_parameters["rope_theta"])
            attention.k_proj.weight[rows] += SHARPNESS * key[:, None] * common
            attention.q_proj.weight[rows] += SHARPNESS * query[:, None] * common
            attention.v_proj.weight[rows] = reading
            attention.o_proj.weight[:, rows] = CARRIED * writing

        for layer in others:
            matching = without_common(torch.randn(hidden, hidden) * LIKENESS / hidden**0.5)
            layer.self_attn.q_proj.weight.copy_(matching)
            layer.self_attn.k_proj.weight.copy_(matching)


def looking_back(distance, head_dim, base):
    """A key and a query whose product, once both are turned, is largest where the key stands `distance` tokens before."""
    pairs = head_dim // 2
    fast = (torch.arange(pairs) < REACH).float()
    angles = -distance * base ** (-torch.arange(pairs) / pairs)
    return torch.cat([fast, torch.zeros(pairs)]), torch.cat([fast * angles.cos(), fast * angles.sin()])
