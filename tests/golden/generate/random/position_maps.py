"""Draws position maps (Self-Extend, ReRoPE, Dual Chunk Attention, LM-Infinite) for tiny models of transformers, and computes their logits by definition.

    python random/position_maps.py --seed 7 --cases 100 --output position_maps.json

A model of transformers runs in float64. Its rotation is replaced by none, and its attention by one with the whole matrix of relative positions, as each paper
defines it: the score of a query and a key is that of the query rotated by their relative position and the key rotated at 0.
"""
# compare: --cases 300
# test: tests/package/model/random/position_maps.test.mjs

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # of tiny_models.py

import numpy as np
import torch

from shapes.formula_models import build, compact, run
from tiny_models import CONFIGS, expert_margins

# Models with grouped heads, biases, norms of queries and keys, windows, soft caps, sinks, half and interleaved pairs, partial rotations, layers without RoPE.
NAMES = ("llama", "mistral", "llama_bias", "gemma2", "qwen2", "gpt_oss", "glm4", "qwen3", "smollm3", "phi3", "cohere", "granite", "stablelm", "olmo2")
NAMES = tuple(name for name in NAMES if name in CONFIGS)


def distances(positions, form):
    """The relative position of each query (row) and key (column), and whether the query sees the key."""
    p, k = positions[:, None], positions[None, :]
    d = p - k
    seen = d >= 0
    kind = form["type"]
    if kind == "self_extend":  # algorithm 1 of the paper
        group, window = form["group_size"], form["window"]
        grouped = p // group + window - window // group - k // group
        return np.where(d < window, d, grouped), seen
    if kind == "rerope":
        return np.minimum(d, form["window"]), seen
    if kind == "lm_infinite":
        return np.minimum(d, form["window"]), seen & ((d < form["window"]) | (k < positions[0] + form["sink_tokens"]))
    chunk, size = form["chunk_size"] - form["local_size"], form["chunk_size"]
    own, apart = p % chunk, p // chunk - k // chunk
    query = np.where(apart == 0, own, np.where(apart == 1, np.minimum(own + chunk, size), min(2 * chunk - 1, size)))
    return query - k % chunk, seen


class MappedAttention:
    """Replaces the rotation and the attention of a model."""

    def __init__(self, model, form):
        self.module = sys.modules[type(model).__module__]
        self.rotary = model.model.rotary_emb
        self.form = form
        self.rotates = False

    def __enter__(self):
        self.apply, self.eager = self.module.apply_rotary_pos_emb, self.module.eager_attention_forward
        self.module.apply_rotary_pos_emb = self.keep
        self.module.eager_attention_forward = self.attend

    def __exit__(self, *_):
        self.module.apply_rotary_pos_emb, self.module.eager_attention_forward = self.apply, self.eager

    def keep(self, q, k, cos, sin, *_, **__):
        self.rotates = True
        return q, k

    def rotated(self, x, cos, sin):
        whole = "gpt_oss" in self.module.__name__  # whose cosines are those of half the head
        width = x.shape[-1] if whole else min(x.shape[-1], cos.shape[-1])  # of a partial rotation
        part = x[..., :width]
        return torch.cat([self.apply(part, part, cos, sin)[0], x[..., width:]], dim=-1)

    def attend(self, layer, query, key, value, mask, scaling=None, dropout=0.0, softcap=None, **_):
        groups = query.shape[1] // key.shape[1]
        key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
        scaling = scaling if scaling is not None else layer.head_dim**-0.5
        count = query.shape[2]
        if self.rotates:
            relative, seen = distances(np.arange(count), self.form)
            # the last position is among those asked for, so that lists by length are those of the whole text
            cos, sin = self.rotary(query, torch.arange(max(count, relative.max() + 1))[None])
            at = lambda position: (cos[:, position : position + 1], sin[:, position : position + 1])
            plain = self.rotated(key, *at(0))
            scores = torch.zeros(*query.shape[:2], count, count, dtype=query.dtype)
            for distance in np.unique(relative[seen]):
                turned = self.rotated(query, *at(int(distance)))
                scores = torch.where(torch.tensor(relative == distance), turned @ plain.transpose(2, 3), scores)
        else:
            seen = np.ones((count, count), dtype=bool)
            scores = query @ key.transpose(2, 3)
        self.rotates = False
        scores = scores * scaling
        cap = softcap if softcap is not None else getattr(layer, "attn_logit_softcapping", None)
        if cap is not None:
            scores = torch.tanh(scores / cap) * cap
        if mask is not None:
            scores = scores + mask[..., :count]
        scores = scores.masked_fill(torch.tensor(~(seen & np.tri(count, dtype=bool))), -torch.inf)
        sinks = getattr(layer, "sinks", None)
        if sinks is not None:
            scores = torch.cat([scores, sinks.reshape(1, -1, 1, 1).expand(1, -1, count, 1).to(scores.dtype)], dim=-1)
        weights = torch.softmax(scores, dim=-1)[..., :count]
        return (weights @ value).transpose(1, 2), weights


def drawn_map(draw):
    kind = draw.choice(["self_extend", "rerope", "dual_chunk", "lm_infinite"])
    window = draw.choice([draw.randint(1, 12), draw.randint(10, 70)])
    if kind == "self_extend":
        return {"type": kind, "group_size": draw.randint(1, 9), "window": window}
    if kind == "rerope":
        return {"type": kind, "window": window}
    if kind == "lm_infinite":
        return {"type": kind, "window": window, "sink_tokens": draw.randint(0, 6)}
    size = draw.randint(2, 70)
    return {"type": kind, "chunk_size": size, "local_size": draw.randint(0, size - 1)}


def drawn_rope(draw, own):
    theta = {"rope_theta": draw.choice([100.0, 1000.0, 10000.0])}
    kept = {key: own[key] for key in ("partial_rotary_factor",) if key in own}
    kinds = {
        "default": {},
        "linear": {"factor": draw.choice([2.0, 3.5])},
        "dynamic": {"factor": draw.choice([2.0, 4.0])},
        "yarn": {"factor": draw.choice([2.0, 4.0, 8.0]), "original_max_position_embeddings": draw.choice([16, 32, 64])},
        "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": draw.choice([16, 64])},
    }
    kind = draw.choice(["default", "default", "default", "linear", "dynamic", "yarn", "yarn", "llama3"])
    return {"rope_type": kind, **theta, **kept, **kinds[kind]}


def case(draw, index):
    name = NAMES[index % len(NAMES)]
    config = dict(CONFIGS[name])
    own = config.get("rope_parameters", {})
    if draw.random() < 0.8 and name != "phi3":
        config["rope_parameters"] = own = drawn_rope(draw, own)
        config["max_position_embeddings"] = draw.choice([32, 64, 128])
    form = drawn_map(draw)
    by_length = own.get("rope_type") in ("dynamic", "longrope")
    count = draw.choice([draw.randint(2, 40), draw.randint(30, 120 if by_length else 150)])  # frequencies by length are those of a call, of 128 tokens at most
    tokens = [draw.randrange(3, 64) for _ in range(count)]
    try:
        model, placed = build(config)
    except ZeroDivisionError:  # dynamic scaling of a single pair, whose exponent is d/(d - 2)
        return None
    with torch.no_grad(), expert_margins(model) as margins, MappedAttention(model, form):
        result = model(torch.tensor([tokens]), use_cache=False).logits[0]
    if min(margins, default=1) < 1e-4:
        return None
    assert result.isfinite().all()
    ends = [len(tokens)] if by_length else sorted({draw.randint(1, len(tokens)), draw.randint(1, len(tokens)), len(tokens)})
    logits = {end: [float(f"{value:.7g}") for value in result[end - 1].tolist()] for end in ends}
    return {"name": name, "config": config, "position_map": form, "tensors": compact(placed), "tokens": tokens, "logits": logits}


if __name__ == "__main__":
    run(__doc__, "position_maps", 60, case)
