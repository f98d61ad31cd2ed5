"""Draws RoPEs with attention factors for models that normalize queries and keys after the rotation, and asks transformers for the logits.

    python random/rotated_norms.py --seed 7 --cases 100 --output rotated_norms.json
"""
# compare: --cases 200
# test: tests/package/model/random/rotated_norms.test.mjs

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # of tiny_models.py

from shapes.formula_models import case_of, run
from tiny_models import CONFIGS

NAMES = ("hunyuan", "hunyuan_moe", "llama4", "qwen3", "llama")  # the last two don't normalize, or before the rotation


def drawn(draw, name):
    config = {**CONFIGS[name], "rms_norm_eps": draw.choice([1e-5, 1e-6])}
    rotary = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    original = draw.choice([8, 16, 64])
    shared = {"rope_theta": draw.choice([100.0, 1000.0]), "original_max_position_embeddings": original}
    factor = {"attention_factor": draw.uniform(0.5, 2)} if draw.random() < 0.5 else {}
    yarn = {"rope_type": "yarn", "factor": draw.choice([2.0, 4.0, 16.0]), **shared, **factor}
    if draw.random() < 0.3:
        yarn |= {"mscale": draw.uniform(0.3, 2), "mscale_all_dim": draw.uniform(0.3, 2)}
    factors = [[draw.uniform(1, 4) for _ in range(rotary // 2)] for _ in range(2)]
    longrope = {"rope_type": "longrope", "short_factor": factors[0], "long_factor": factors[1], **shared, **factor}
    longrope["factor"] = config["max_position_embeddings"] / original
    config["rope_parameters"] = draw.choice([yarn, longrope])
    if name == "llama4":
        config |= {"use_qk_norm": draw.random() < 0.7, "attention_chunk_size": draw.choice([5, 64])}
    return config


if __name__ == "__main__":
    run(__doc__, "rotated_norms", 40, lambda draw, index: case_of(draw, NAMES[index % len(NAMES)], drawn))
