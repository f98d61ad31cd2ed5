"""Draws the fields that decide which layers have a sliding window, and asks transformers for the logits.

    python random/sliding_windows.py --seed 7 --cases 200 --output sliding_windows.json

Cases that transformers refuses, or whose experts are too close to call, are drawn again.
"""
# compare: --cases 400
# test: tests/package/model/random/sliding_windows.test.mjs

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # of tiny_models.py

from shapes.formula_models import case_of, run
from tiny_models import CONFIGS

SLIDING, FULL = "sliding_attention", "full_attention"

# Fields of each class beside sliding_window.
LISTED = ("layer_types",)
SWITCHED = (*LISTED, "use_sliding_window", "max_window_layers")
PATTERNED = (*LISTED, "sliding_window_pattern")
FIELDS = {
    "mistral": LISTED,
    "ministral": LISTED,
    "mistral3": LISTED,
    "mixtral": LISTED,
    "phi3": LISTED,
    "starcoder2": LISTED,
    "smollm3": (*LISTED, "use_sliding_window", "no_rope_layers", "no_rope_layer_interval"),
    "cwm": PATTERNED,
    "qwen2": SWITCHED,
    "qwen2_vl": SWITCHED,
    "qwen2_moe": SWITCHED,
    "qwen3": SWITCHED,
    "qwen3_moe": SWITCHED,
    "qwen3_vl": SWITCHED,
    "gemma2": PATTERNED,
    "gemma3": PATTERNED,
    "gemma3n": PATTERNED,
    "gemma4": PATTERNED,
    "gemma4_dense": LISTED,
    "cohere2": PATTERNED,
    "exaone4": PATTERNED,
    "exaone_moe": PATTERNED,
    "olmo2": PATTERNED,
    "olmo3": PATTERNED,
    "gpt_oss": PATTERNED,
    "dots1": (*LISTED, "max_window_layers"),
    "mellum": PATTERNED,
    "llama4": (*LISTED, "attention_chunk_size", "no_rope_layers", "no_rope_layer_interval"),
    # Classes without windows: the fields change nothing.
    "llama": SWITCHED,
    "granite": SWITCHED,
    "seed_oss": SWITCHED,
    "apertus": SWITCHED,
    "arcee": SWITCHED,
    "hunyuan": SWITCHED,
    "glm4": SWITCHED,
    "minimax_m2": SWITCHED,
    "hy_v3": SWITCHED,
    "deepseek_v3": SWITCHED,
    "ernie4_5": SWITCHED,
    "olmoe": SWITCHED,
}
ABSENT = object()


def drawn(draw, name):
    config = {key: value for key, value in CONFIGS[name].items() if key != "layer_types"}
    text = config["text_config"] = dict(config["text_config"]) if "text_config" in config else config
    if text is config:
        del config["text_config"]
    else:
        text["model_type"] = config["model_type"] + "_text"
    count = text["num_hidden_layers"] = draw.choice([3, 4]) if "gemma" in name or "exaone" in name else draw.choice([2, 3])
    values = {"sliding_window": draw.choice([ABSENT, None, *[draw.randint(3, 20) for _ in range(6)]])}
    choices = {
        "layer_types": lambda: draw.choice([ABSENT, None, listed(draw, name, count), listed(draw, name, count)]),
        "use_sliding_window": lambda: draw.choice([ABSENT, True, True, True, False]),
        "max_window_layers": lambda: draw.choice([ABSENT, *range(count + 1)]),
        "sliding_window_pattern": lambda: draw.choice([ABSENT, 1, 2, 3]),
        "no_rope_layers": lambda: draw.choice([ABSENT, [draw.randint(0, 1) for _ in range(count)]]),
        "no_rope_layer_interval": lambda: draw.choice([ABSENT, 1, 2, 3]),
        "attention_chunk_size": lambda: draw.choice([ABSENT, None, draw.randint(3, 20)]),
    }
    values |= {field: choices[field]() for field in FIELDS[name]}
    if "exaone" in name and values["sliding_window"] is None and not values["layer_types"]:
        values["layer_types"] = [FULL] * count  # transformers divides by zero where released files have no list
    for field in ("sliding_window", *choices):
        text.pop(field, None)
    text.update({field: value for field, value in values.items() if value is not ABSENT})
    if "num_kv_shared_layers" in text:
        text["num_kv_shared_layers"] = 0
    if "activation_sparsity_pattern" in text:
        text["activation_sparsity_pattern"] = [0.0] * count
    if "mlp_layer_types" in text:
        text["mlp_layer_types"] = ["sparse"] * count
    return config


def listed(draw, name, count):
    other = "chunked_attention" if name == "llama4" else SLIDING
    kinds = [draw.choice([FULL, other]) for _ in range(count)]
    return kinds


if __name__ == "__main__":
    names = list(FIELDS)
    run(__doc__, "sliding_windows", 80, lambda draw, index: case_of(draw, names[index % len(names)], drawn))
