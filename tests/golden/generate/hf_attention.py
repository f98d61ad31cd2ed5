"""attention.json: attention of PyTorch, gpt-oss (sinks) and Gemma-2 (soft cap), in float64."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import torch
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention
from transformers.masking_utils import causal_mask_function, sliding_window_causal_mask_function, sliding_window_overlay
from transformers.models.gemma2 import modeling_gemma2
from transformers.models.gpt_oss import modeling_gpt_oss

from attention_numbers import (
    FLOAT32_SOFTMAX,
    FLOAT64,
    OPTIONS,
    TORCH,
    check_close,
    naive_attention,
    nine_digits,
    qkv_fields,
    random_qkv,
    seeded,
)
from hf_models import SOURCE


@dataclass
class Attention:
    name: str
    heads: tuple  # query heads, key-value heads
    tokens: tuple  # queries, keys
    head_dim: int
    options: dict = field(default_factory=dict)  # override OPTIONS and the scale 1/sqrt(head_dim)
    batch: int = 1


# Every query has a visible key. PyTorch has a result without one, but models never do this.
PYTORCH = [
    Attention("full", (2, 2), (7, 7), 8),
    Attention("full, many keys", (1, 1), (3, 200), 8),
    Attention("causal", (2, 2), (9, 9), 8, {"causal": True}),
    Attention("causal, 130 tokens", (1, 1), (130, 130), 4, {"causal": True}),
    Attention("causal, one token", (2, 1), (1, 1), 8, {"causal": True}),
    Attention("grouped-query", (6, 2), (11, 11), 16, {"causal": True}),
    Attention("grouped-query, full", (6, 3), (5, 8), 8),
    Attention("multi-query", (4, 1), (10, 10), 20, {"causal": True}),
    Attention("batch 2", (4, 2), (6, 6), 20, {"causal": True}, batch=2),
    Attention("batch 2, newest 2 of 9", (2, 1), (2, 9), 8, {"causal": True}, batch=2),
    Attention("window 4", (2, 2), (13, 13), 20, {"causal": True, "window": 4}),
    Attention("window 1", (2, 1), (6, 6), 8, {"causal": True, "window": 1}),
    Attention("window wider than the sequence", (2, 1), (6, 6), 8, {"causal": True, "window": 100}),
    Attention("window 64 of 90 tokens", (1, 1), (90, 90), 4, {"causal": True, "window": 64}),
    Attention("window 3, later keys seen", (2, 1), (9, 9), 8, {"window": 3}),
    Attention("one query of 70", (4, 2), (1, 70), 20, {"causal": True}),
    Attention("one query of 70, not causal", (2, 2), (1, 70), 8),
    Attention("one query of 70, window 16", (4, 2), (1, 70), 8, {"causal": True, "window": 16}),
    Attention("newest 5 of 70", (2, 1), (5, 70), 8, {"causal": True}),
    Attention("newest 5 of 70, window 16", (2, 1), (5, 70), 8, {"causal": True, "window": 16}),
    Attention("head_dim 1", (2, 1), (6, 6), 1, {"causal": True}),
    Attention("head_dim 7", (2, 1), (8, 8), 7, {"causal": True}),
    Attention("head_dim 33", (2, 1), (5, 5), 33, {"causal": True}),
    Attention("head_dim 64", (2, 1), (7, 7), 64, {"causal": True}),
    Attention("head_dim 80", (2, 1), (6, 6), 80, {"causal": True}),
    Attention("head_dim 128", (2, 1), (4, 4), 128, {"causal": True}),
    Attention("scale 1", (2, 1), (8, 8), 8, {"causal": True, "scale": 1.0}),
    Attention("scale 0.05", (2, 1), (8, 8), 16, {"causal": True, "scale": 0.05}),
    Attention("scores in the thousands", (2, 1), (9, 9), 64, {"causal": True, "scale": 32.0}),
]
GPT_OSS = [
    Attention("gpt-oss", (4, 2), (9, 9), 16, {"causal": True, "sinks": [-1.5, 0.0, 0.734375, 3.25]}),
    Attention("gpt-oss, window 5", (4, 2), (12, 12), 16,
              {"causal": True, "window": 5, "sinks": [-1.5, 0.0, 0.734375, 3.25]}),
    Attention("gpt-oss, group of 8", (8, 1), (3, 3), 64,
              {"causal": True, "sinks": [-2.0, -1.0, -0.25, 0.0, 0.5, 1.0, 2.0, 4.0]}),
    Attention("gpt-oss, one query of 40, window 16", (4, 2), (1, 40), 16,
              {"causal": True, "window": 16, "sinks": [-1.5, 0.0, 0.734375, 3.25]}),
    Attention("gpt-oss, batch 2", (2, 1), (5, 5), 8, {"causal": True, "sinks": [2.5, -0.5]}, batch=2),
    Attention("gpt-oss, sinks that take all and nothing", (2, 2), (6, 6), 8, {"causal": True, "sinks": [30.0, -200.0]}),
    Attention("gpt-oss, sinks below scores in the thousands", (2, 2), (6, 6), 16,
              {"causal": True, "sinks": [5.0, -5.0], "scale": 64.0}),
]
GEMMA_2 = [
    Attention("gemma-2", (4, 2), (10, 10), 16, {"causal": True, "soft_cap": 50.0, "scale": 16**-0.5}),
    Attention("gemma-2, scale of the 27B", (2, 1), (4, 4), 128, {"causal": True, "soft_cap": 50.0, "scale": 144**-0.5}),
    Attention("gemma-2, window 4", (4, 2), (12, 12), 16,
              {"causal": True, "window": 4, "soft_cap": 50.0, "scale": 16**-0.5}),
    Attention("gemma-2, soft cap 2", (4, 2), (10, 10), 16, {"causal": True, "soft_cap": 2.0, "scale": 24**-0.5}),
    Attention("gemma-2, soft cap 2, window 4", (2, 1), (12, 12), 20,
              {"causal": True, "window": 4, "soft_cap": 2.0, "scale": 1.0}),
    Attention("gemma-2, scores far beyond the cap", (2, 1), (8, 8), 32,
              {"causal": True, "soft_cap": 50.0, "scale": 16.0}),
    Attention("gemma-2, newest 3 of 40, window 16", (4, 2), (3, 40), 16,
              {"causal": True, "window": 16, "soft_cap": 50.0, "scale": 16**-0.5}),
]


def attention_cases():
    return (
        [attention_case(attention, pytorch_attention, FLOAT64) for attention in PYTORCH]
        + [attention_case(attention, gpt_oss_attention, FLOAT64) for attention in GPT_OSS]
        + [attention_case(attention, gemma_2_attention, FLOAT32_SOFTMAX) for attention in GEMMA_2]
    )


def attention_case(attention, function, tolerance):
    options = {**OPTIONS, "scale": attention.head_dim**-0.5, **attention.options}
    q_shape, kv_shape = (
        (attention.batch, heads, tokens, attention.head_dim) for heads, tokens in zip(attention.heads, attention.tokens)
    )
    q, k, v = random_qkv(seeded(attention.name), q_shape, kv_shape)
    source, out = function(q, k, v, options)
    check_close(attention.name, out, naive_attention(q, k, v, options), tolerance)
    return {
        "name": attention.name,
        "source": source,
        **qkv_fields(q, k, v),
        "options": options,
        "out": nine_digits(out),
    }


def mask(options, queries, keys):
    """transformers' own masks, true where a key is visible. The queries are the newest tokens, as in its caches."""
    position = torch.arange(queries)[:, None] + keys - queries
    key = torch.arange(keys)[None, :]
    window = options["window"]
    if window is None:
        return causal_mask_function(0, 0, position, key)
    function = sliding_window_causal_mask_function(window) if options["causal"] else sliding_window_overlay(window)
    return function(0, 0, position, key)


def pytorch_attention(q, k, v, options):
    queries, keys = q.shape[2], k.shape[2]
    names, arguments = [], {}
    if options["window"] is not None:
        names, arguments = ["attn_mask"], {"attn_mask": mask(options, queries, keys)}
    elif options["causal"] and queries == keys:
        names, arguments = ["is_causal"], {"is_causal": True}
    elif options["causal"]:  # is_causal aligns the first query with the first key, this the last with the last
        names, arguments = ["causal_lower_right"], {"attn_mask": causal_lower_right(queries, keys)}
    if q.shape[1] != k.shape[1]:
        names, arguments = [*names, "enable_gqa"], {**arguments, "enable_gqa": True}
    out = scaled_dot_product_attention(q, k, v, scale=options["scale"], **arguments)
    return f"{TORCH}, scaled_dot_product_attention({', '.join(names)})", out


def eager(module, q, k, v, options, **layer):
    """A family's attention as its eager layers call it: with an additive mask and the layer fields that it reads."""
    visible = mask(options, q.shape[2], k.shape[2])
    added = torch.zeros(visible.shape, dtype=q.dtype).masked_fill(~visible, torch.finfo(q.dtype).min)
    layer = SimpleNamespace(num_key_value_groups=q.shape[1] // k.shape[1], training=False, **layer)
    arguments = {"scaling": options["scale"]}
    if options["soft_cap"] is not None:
        arguments["softcap"] = options["soft_cap"]
    out, _ = module.eager_attention_forward(layer, q, k, v, added, **arguments)
    source = f"{SOURCE}, {module.__name__.rsplit('.', 1)[1]}.eager_attention_forward"
    return source, out.transpose(1, 2)  # the result has tokens before heads


def gpt_oss_attention(q, k, v, options):
    return eager(modeling_gpt_oss, q, k, v, options, sinks=torch.tensor(options["sinks"], dtype=q.dtype))


def gemma_2_attention(q, k, v, options):
    return eager(modeling_gemma2, q, k, v, options)
