"""Draws the sizes of heads of Gemma 4's layers, by per_layer_config or without, and asks transformers for the logits.

    python random/layer_configs.py --seed 7 --cases 60 --output layer_configs.json
"""
# compare: --cases 150
# test: tests/package/model/random/layer_configs.test.mjs

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # of tiny_models.py

from shapes.formula_models import case_of, run
from tiny_models import CONFIGS

NAMES = ("gemma4", "gemma4_dense", "gemma4_moe")
SLIDING, FULL = "sliding_attention", "full_attention"


def drawn(draw, name):
    config = {key: value for key, value in CONFIGS[name].items() if key != "num_global_key_value_heads"}
    count = config["num_hidden_layers"] = draw.choice([2, 3])
    types = config["layer_types"] = [*[draw.choice([SLIDING, FULL]) for _ in range(count - 2)], SLIDING, FULL]
    if draw.random() < 0.3:
        del config["layer_types"]
        types = [*[SLIDING] * (count - 1), FULL]
    config |= {
        "num_kv_shared_layers": 0,
        "head_dim": draw.choice([4, 6, 8]),
        "global_head_dim": draw.choice([4, 8, 12]),
        "num_attention_heads": 4,
        "num_key_value_heads": draw.choice([1, 2, 4]),
        "attention_k_eq_v": draw.random() < 0.5,
    }
    if draw.random() < 0.5:
        config["num_global_key_value_heads"] = draw.choice([1, 2, 4])
    kind = draw.choice(["absent", "empty", "listed"])
    if kind == "listed":  # RoPE has one width for each kind of layer
        own = {"head_dim": draw.choice([4, 8, 12]), "num_key_value_heads": draw.choice([1, 2, 4])}
        own.pop(draw.choice(["head_dim", "num_key_value_heads", ""]), None)
        digits = draw.choice([1, 2])  # the class writes as many for each layer
        config["per_layer_config"] = {str(layer).zfill(digits): own for layer in range(count) if types[layer] == FULL}
    elif kind == "empty":
        config["per_layer_config"] = {}
    return config


if __name__ == "__main__":
    run(__doc__, "layer_configs", 24, lambda draw, index: case_of(draw, NAMES[index % len(NAMES)], drawn))
