"""cached_attention.json: the newest token's attention in tiny transformers models, at lengths that change the plan.

Every length is a full forward pass without a cache, so that all keys are rotated with the frequencies of that length.
Generation with a cache must give the same.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from transformers import AutoModel

from attention_numbers import OPTIONS, check_close, naive_attention, nine_digits, qkv_fields, random_qkv, seeded
from hf_hooks import input_of, joined, returning, split
from hf_models import SOURCE, load_config
from other_systems import ntk_theta, plain_inv_freq, yarn_inv_freq, yarn_mscale

# The rotary modules round frequencies, angles, cosines and sines to float32, even in float64 models.
FLOAT32_ROTARY = 2e-6

HEADS, KV_HEADS, HEAD_DIM = 4, 2, 16
SHORT_FACTOR = [1.0, 1.03125, 1.0625, 1.125, 1.1875, 1.3125, 1.5, 1.75]
LONG_FACTOR = [1.0625, 1.25, 1.625, 2.125, 2.75, 3.25, 3.75, 4.0]


@dataclass
class Model:
    name: str
    hf_config: dict
    lengths: list
    exact_plan: callable  # from a length to the exact inv_freq and attention_factor, to measure the float32 error
    layer: int = 0
    options: dict = None  # overrides for a causal layer with scale 1/sqrt(head_dim)


def config(model_type, max_position_embeddings, **more):
    sizes = {
        "hidden_size": HEADS * HEAD_DIM,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "num_hidden_layers": 1,
        "intermediate_size": 8,
        "vocab_size": 8,
        "pad_token_id": 0,
    }
    return {"model_type": model_type, **sizes, "max_position_embeddings": max_position_embeddings, **more}


def dynamic_plan(theta, factor, trained):
    def plan(length):
        growth = factor * max(length, trained) / trained - (factor - 1)
        return plain_inv_freq(ntk_theta(theta, growth, HEAD_DIM), HEAD_DIM), 1.0

    return plan


def longrope_plan(trained, extended):
    attention_factor = math.sqrt(1 + math.log(extended / trained) / math.log(trained))

    def plan(length):
        factors = LONG_FACTOR if length > trained else SHORT_FACTOR
        return [w / by for w, by in zip(plain_inv_freq(10000.0, HEAD_DIM), factors)], attention_factor

    return plan


def linear_plan(theta, factor):
    return lambda length: ([w / factor for w in plain_inv_freq(theta, HEAD_DIM)], 1.0)


GEMMA_3 = config("gemma3_text", 64, num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"],
                 sliding_window=6, query_pre_attn_scalar=24, rope_theta=1000000.0, rope_local_base_freq=10000.0,
                 rope_scaling={"rope_type": "linear", "factor": 8.0})

MODELS = [
    Model("dynamic, factor 2",
          config("llama", 24, rope_theta=10000.0, rope_scaling={"type": "dynamic", "factor": 2.0}),
          [20, 24, 25, 40], dynamic_plan(10000.0, 2.0, 24)),
    Model("dynamic, factor 4, new style",
          config("llama", 16, rope_parameters={"rope_type": "dynamic", "rope_theta": 500000.0, "factor": 4.0}),
          [1, 16, 17, 33], dynamic_plan(500000.0, 4.0, 16)),
    Model("longrope",
          config("phi3", 64, original_max_position_embeddings=16, rope_theta=10000.0, rope_scaling={
              "type": "longrope", "short_factor": SHORT_FACTOR, "long_factor": LONG_FACTOR}),
          [12, 16, 17, 40], longrope_plan(16, 64)),
    Model("yarn",
          config("llama", 64, rope_theta=10000.0,
                 rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}),
          [12, 17, 40], lambda length: (yarn_inv_freq(10000.0, HEAD_DIM, 4.0, 16), yarn_mscale(4.0))),
    Model("gemma-3, sliding layer", GEMMA_3, [5, 25], linear_plan(10000.0, 1.0), layer=0,
          options={"window": 6, "scale": 24**-0.5}),
    Model("gemma-3, full layer", GEMMA_3, [5, 25], linear_plan(1000000.0, 8.0), layer=1, options={"scale": 24**-0.5}),
]


def cached_attention_cases():
    return [cached_attention_case(model) for model in MODELS]


def cached_attention_case(model):
    longest = model.lengths[-1]
    shapes = [(1, heads, longest, HEAD_DIM) for heads in (HEADS, KV_HEADS)]
    q, k, v = random_qkv(seeded(model.name), *shapes)
    options = {**OPTIONS, "causal": True, "scale": HEAD_DIM**-0.5, **(model.options or {})}
    outs = []
    for length in model.lengths:
        now = [x[:, :, :length] for x in (q, k, v)]  # projections don't depend on the length
        out = last_token(model, *now)
        check_close(f"{model.name} at {length}", out, exact_last_token(model, *now, options), FLOAT32_ROTARY)
        outs.append(nine_digits(out))
    return {
        "name": model.name,
        "source": f"{SOURCE}, {type(build(model)).__name__}, layer {model.layer}",
        "hf_config": model.hf_config,
        "layer_type": model.hf_config["layer_types"][model.layer] if "layer_types" in model.hf_config else None,
        **qkv_fields(q, k, v),
        "options": options,
        "lengths": model.lengths,
        "out_shape": [HEADS, HEAD_DIM],
        "outs": outs,
    }


def build(model):
    return AutoModel.from_config(load_config(model.hf_config), attn_implementation="sdpa").double().eval()


def last_token(model, q, k, v):
    """[heads][head_dim] before the output projection. Builds a new model: a dynamic one remembers lengths."""
    network = build(model)
    attention = network.layers[model.layer].self_attn
    ids = torch.zeros(1, q.shape[2], dtype=torch.long)
    with torch.no_grad(), returning(projections(attention, q, k, v)), input_of(attention.o_proj) as seen:
        network(ids, use_cache=False)
    return split(seen[0], HEAD_DIM)[0, :, -1]


def projections(attention, q, k, v):
    """The last modules before the rotation, with the tensors that they must return."""
    if hasattr(attention, "qkv_proj"):
        return [(attention.qkv_proj, torch.cat([joined(x) for x in (q, k, v)], dim=-1))]
    if hasattr(attention, "q_norm"):
        return [(attention.q_norm, q), (attention.k_norm, k), (attention.v_proj, joined(v))]
    return [(attention.q_proj, joined(q)), (attention.k_proj, joined(k)), (attention.v_proj, joined(v))]


def exact_last_token(model, q, k, v, options):
    """The same as last_token(), entirely in float64."""
    inv_freq, attention_factor = model.exact_plan(q.shape[2])
    q, k = (rotate_half_split(x, inv_freq, attention_factor) for x in (q, k))
    return naive_attention(q[:, :, -1:], k, v, options)[0, :, 0]


def rotate_half_split(x, inv_freq, attention_factor):
    x = np.asarray(x)
    angles = np.arange(x.shape[2])[:, None] * np.array(inv_freq)
    cos, sin = np.cos(angles) * attention_factor, np.sin(angles) * attention_factor
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate((first * cos - second * sin, second * cos + first * sin), axis=-1)
