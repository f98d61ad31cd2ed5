"""Initial weights that help lookup heads form early.

To answer from a text, a model needs heads that copy information from the previous words and heads that find an earlier occurrence of the same
words (induction heads). From random weights they form late. From these weights, and with repeated sequences among the training data, they form
within 1.5 million tokens (training.json). No weight is frozen. Similar: mimetic initialization of attention, Trockman & Kolter 2023.
"""

import torch

REACH = 5  # number of pairs fast enough to distinguish one token back from two
SHARPNESS = 0.57
CARRIED = 0.08  # weight of what a head copies, relative to the token's own embedding
LIKENESS = 1.2


def begin(model):
    """Sets head h of the first layer to copy from the token h + 1 places back, and heads of the other layers to match equal tokens."""
    config, (first, *others) = model.config, model.model.layers
    hidden, head_dim = config.hidden_size, config.head_dim
    with torch.no_grad():
        # a component common to all tokens, which heads that attend by distance alone use
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
    """A key and a query whose rotated dot product is largest when the key is `distance` tokens before the query."""
    pairs = head_dim // 2
    fast = (torch.arange(pairs) < REACH).float()
    angles = -distance * base ** (-torch.arange(pairs) / pairs)
    return torch.cat([fast, torch.zeros(pairs)]), torch.cat([fast * angles.cos(), fast * angles.sin()])
