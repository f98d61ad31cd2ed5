"""Draws whole configs of the newest families, and files as their classes write them, and asks transformers for logits, vectors or scores.

    python random/whole_configs.py --seed 7 --cases 100 --output whole_configs.json
"""
# compare: --cases 300
# test: tests/package/model/random/whole_configs.test.mjs

import copy
import sys
from pathlib import Path

import torch
import transformers

sys.path.insert(0, str(Path(__file__).parents[1]))  # of tiny_models.py

from drawing.families import FAMILIES, VOCABULARY
from shapes.formula_models import build, compact, run

STEPS = 4
FIRST = 3  # tokens before it are special: a class may count those of padding otherwise
# Models whose results change more if each weight changes by the rounding of float32 are left out: the test allows 1e-4.
UNSTABLE, ROUNDING, TRIALS = 2e-5, 2.0**-24, 3


def case_of(draw, name):
    """A case of a family; None if float32 doesn't give its numbers."""
    config, kind, longest = FAMILIES[name](draw)
    model, placed = build(config, getattr(transformers, f"AutoModel{kind}"), without_prefix=kind != "" and draw.random() < 0.3)
    for module in model.modules():
        if hasattr(module, "reorder_and_upcast_attn"):
            module.reorder_and_upcast_attn = False  # it computes the same, and only in float32
    read = {"ForCausalLM": logits, "ForSequenceClassification": scores}.get(kind, vectors)
    inputs, results = read(draw, longest)
    exact = results(model)
    for trial in range(TRIALS):
        near = results(shaken(model, trial))
        if any((a - b).abs().max() > UNSTABLE for key in exact for a, b in zip(exact[key], near[key])):
            return None
    found = {key: [rounded(row) for row in rows] for key, rows in exact.items()}
    return {"name": name, "config": config, "tensors": compact(placed), **inputs, **found}


def shaken(model, seed):
    generator = torch.Generator().manual_seed(seed)
    other = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(1 + ROUNDING * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
    return other


def logits(draw, longest):
    """After a prompt, and after each of some steps."""
    tokens = text(draw, draw.randint(STEPS + 1, longest))
    return {"tokens": tokens}, lambda model: {"logits": call(model, tokens, use_cache=False).logits[0, -1 - STEPS :]}


def scores(draw, longest):
    """Of documents for a query, each as a row of one logit."""
    query, *documents = (text(draw, draw.randint(1, longest // 2)) for _ in range(4))
    return {"query": query, "documents": documents}, lambda model: {
        "scores": [call(model, query + document).logits[0] for document in documents]
    }


def vectors(draw, longest):
    """Of texts one by one, pooled in two ways."""
    texts = [text(draw, length) for length in (1, draw.randint(2, longest), longest)]

    def results(model):
        hidden = [call(model.base_model, tokens).last_hidden_state[0] for tokens in texts]
        return {"mean": [states.mean(0) for states in hidden], "last": [states[-1] for states in hidden]}

    return {"texts": texts}, results


def text(draw, length):
    return [draw.randrange(FIRST, VOCABULARY) for _ in range(length)]


def call(model, tokens, **options):
    with torch.no_grad():
        return model(torch.tensor([tokens]), **options)


def rounded(row):
    assert row.isfinite().all()
    return [float(f"{value:.7g}") for value in row.tolist()]


if __name__ == "__main__":
    names = list(FAMILIES)
    run(__doc__, "whole_configs", 25, lambda draw, index: case_of(draw, names[index % len(names)]))
