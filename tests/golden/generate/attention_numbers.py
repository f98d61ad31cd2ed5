"""Helpers for attention cases: seeded inputs, rounded outputs, and the naive attention that checks every case."""

import zlib

import numpy as np
import torch

TORCH = f"torch {torch.__version__.split('+')[0]}"
OPTIONS = {"causal": False, "window": None, "sinks": None, "soft_cap": None}

# How much a float64 function may differ from the naive attention, and one that rounds scores of up to 50 to float32
# before its softmax. Outputs are averages of values up to 2.
FLOAT64 = 1e-12
FLOAT32_SOFTMAX = 3e-6


def seeded(name):
    """A generator seeded by the case's name, so that the order of cases doesn't matter."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def sixty_fourths(generator, *shape):
    """Multiples of 1/64 in [-2, 2], exact in float32 and float16. Their dot products are exact in float32 too."""
    return torch.tensor(generator.integers(-128, 129, size=shape), dtype=torch.float64) / 64


def random_qkv(generator, q_shape, kv_shape):
    return [sixty_fourths(generator, *shape) for shape in (q_shape, kv_shape, kv_shape)]


def plain(tensor):
    """Flattened with all digits, for inputs, which have few."""
    return tensor.flatten().tolist()


def nine_digits(tensor):
    """Flattened and rounded to nine significant digits, more than float32 has."""
    return [float(f"{value:.9g}") for value in torch.as_tensor(tensor).flatten().tolist()]


def qkv_fields(q, k, v):
    return {"q_shape": list(q.shape), "kv_shape": list(k.shape), "q": plain(q), "k": plain(k), "v": plain(v)}


def visible_keys(options, queries, keys):
    """[queries][keys]. The queries are the newest tokens: the last query has the position of the last key."""
    position = np.arange(queries)[:, None] + keys - queries
    key = np.arange(keys)[None, :]
    visible = np.ones((queries, keys), dtype=bool)
    if options["causal"]:
        visible &= key <= position
    if options["window"] is not None:
        visible &= key > position - options["window"]
    return visible


def naive_attention(q, k, v, options, bias=0.0):
    """Attention as the fields of a case define it, in the order in which they apply. Returns a float64 tensor."""
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]  # query head h reads key head h // group
    k, v = (np.repeat(x, group, axis=1) for x in (k, v))

    scores = q @ k.swapaxes(-1, -2) * options["scale"]
    if options["soft_cap"] is not None:
        scores = options["soft_cap"] * np.tanh(scores / options["soft_cap"])
    scores = scores + np.asarray(bias)
    scores = np.where(visible_keys(options, *scores.shape[-2:]), scores, -np.inf)
    if options["sinks"] is None:
        sinks = np.full((q.shape[1], 1, 1), -np.inf)
    else:
        sinks = np.asarray(options["sinks"], dtype=np.float64)[:, None, None]  # neither scaled nor capped
    largest = np.maximum(scores.max(-1, keepdims=True), sinks)
    weights = np.exp(scores - largest)
    weights /= weights.sum(-1, keepdims=True) + np.exp(sinks - largest)  # the sink takes weight and has no value
    return torch.from_numpy(weights @ v)


def difference(a, b):
    assert a.shape == b.shape, f"{a.shape} and {b.shape}"
    return float((a - b).abs().max())


def check_close(name, out, expected, tolerance):
    """Checks that the fields of a case describe what the other code computed."""
    assert out.dtype == torch.float64, f"{name}: {out.dtype}"
    assert difference(out, expected) <= tolerance, f"{name}: off by {difference(out, expected)}"
