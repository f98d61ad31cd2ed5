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
    hidden, head_dim, base = config.hidden_size, config.head_dim, config.rope_parameters["rope_theta"]
    with torch.no_grad():
        common, without_common = common_component(model.model.embed_tokens.weight)
        reading = without_common(orthogonal(hidden)[:head_dim])
        writing = orthogonal(hidden)[:, :head_dim]
        attention = first.self_attn
        for head in range(config.num_attention_heads):
            rows = slice(head * head_dim, (head + 1) * head_dim)
            look_back(attention.q_proj.weight[rows], attention.k_proj.weight[rows], head + 1, common, base)
            attention.v_proj.weight[rows] = reading
            attention.o_proj.weight[:, rows] = CARRIED * writing
        for layer in others:
            match_equal(layer.self_attn.q_proj.weight, layer.self_attn.k_proj.weight, without_common)


def common_component(embeddings):
    """Adds a component to all embeddings, for heads that attend by distance alone. Returns its direction, and a function that removes it from a weight."""
    common = torch.randn(embeddings.shape[1])
    embeddings.add_(embeddings.std() * common)
    common /= common.norm()
    return common, lambda weight: weight - (weight @ common)[:, None] * common


def orthogonal(size):
    """A random matrix with orthonormal rows and columns. [size, size]"""
    return torch.linalg.qr(torch.randn(size, size))[0]


def look_back(queries, keys, distance, common, base, scale=1):
    """Sets the weights of a head to attend to the token `distance` places back. `scale` is the size of an element of its input."""
    key, query = looking_back(distance, len(keys), base)
    keys += SHARPNESS / scale * key[:, None] * common
    queries += SHARPNESS / scale * query[:, None] * common


def match_equal(queries, keys, without_common):
    """Sets the weights of a layer's heads to attend to tokens like their own."""
    matching = without_common(torch.randn(keys.shape) * LIKENESS / keys.shape[1] ** 0.5)
    queries.copy_(matching)
    keys.copy_(matching)


def looking_back(distance, head_dim, base):
    """A key and a query whose rotated dot product is largest when the key is `distance` tokens before the query."""
    pairs = head_dim // 2
    fast = (torch.arange(pairs) < REACH).float()
    angles = -distance * base ** (-torch.arange(pairs) / pairs)
    return torch.cat([fast, torch.zeros(pairs)]), torch.cat([fast * angles.cos(), fast * angles.sin()])
