"""Draws the fields that decide which experts a token uses, and with which weights, and asks transformers for the logits.

    python random/experts.py --seed 7 --cases 200 --output experts.json
"""
# compare: --cases 300
# test: tests/package/model/random/experts.test.mjs

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # of tiny_models.py

from shapes.formula_models import case_of, run
from tiny_models import CONFIGS

# The fields of each class: how many experts, used experts, groups, and what else it reads.
GROUPED = ("norm_topk_prob", "routed_scaling_factor", "first_k_dense_replace")
QWEN = ("norm_topk_prob", "decoder_sparse_step", "mlp_only_layers")
COUNTED = {
    "mistral4": ("n_routed_experts", *GROUPED, "n_group"),
    "glm4_moe": ("n_routed_experts", *GROUPED, "n_group"),
    "glm4_moe_lite": ("n_routed_experts", *GROUPED[:2], "n_group"),
    "deepseek_v2": ("n_routed_experts", *GROUPED[1:], "n_group", "topk_method"),
    "deepseek_v3": ("n_routed_experts", *GROUPED, "n_group"),
    "dots1": ("n_routed_experts", *GROUPED, "n_group"),
    "exaone_moe": ("num_experts", *GROUPED[:2], "n_group"),
    "hy_v3": ("num_experts", "router_scaling_factor"),
    "minimax_m2": ("num_local_experts",),
    "mellum": ("num_experts", "norm_topk_prob"),
    "ernie4_5_moe": ("moe_num_experts", "moe_norm_min", "moe_layer_interval", "moe_layer_start_index"),
    "qwen2_moe": ("num_experts", *QWEN),
    "qwen3_moe": ("num_experts", *QWEN),
    "qwen3_next": ("num_experts", "norm_topk_prob"),
    "olmoe": ("num_experts", "norm_topk_prob"),
    "mixtral": ("num_local_experts",),
    "granitemoe": ("num_local_experts",),
    "lfm2_moe": ("num_experts", "norm_topk_prob", "routed_scaling_factor", "num_dense_layers"),
    "gpt_oss": ("num_local_experts",),
    "gemma4_moe": ("num_experts",),
}
USED = {"ernie4_5_moe": "moe_k", "gemma4_moe": "top_k_experts"}


def drawn(draw, name):
    config = dict(CONFIGS[name])
    count, *fields = COUNTED[name]
    groups = draw.choice([1, 2, 3]) if "n_group" in fields else 1
    experts = config[count] = groups * draw.randint(2, 4)
    used_groups = draw.randint(1, groups)
    used = draw.randint(1, min(4, used_groups * experts // groups))
    config[USED.get(name, "num_experts_per_tok")] = used
    layers = config["num_hidden_layers"]
    values = {
        "norm_topk_prob": draw.random() < 0.5,
        "routed_scaling_factor": draw.choice([0.5, 1.0, 2.5]),
        "router_scaling_factor": draw.choice([0.5, 1.0, 2.5]),
        "first_k_dense_replace": draw.randint(0, layers - 1),
        "num_dense_layers": draw.randint(0, layers - 1),
        "topk_method": draw.choice(["greedy", "group_limited_greedy"]),
        "moe_norm_min": draw.choice([1e-12, 0.25, 0.9]),
        "moe_layer_interval": draw.choice([1, 2]),
        "moe_layer_start_index": draw.randint(0, 1),
        "decoder_sparse_step": draw.choice([1, 2]),
        "mlp_only_layers": draw.sample(range(layers), draw.randint(0, 1)),
        "n_group": groups,
    }
    config |= {field: values[field] for field in fields}
    if "n_group" in fields:
        config["topk_group"] = used_groups
    for absent in fields:
        if draw.random() < 0.15 and absent != "n_group":
            config.pop(absent)  # the default of the class
    return config


if __name__ == "__main__":
    names = list(COUNTED)
    run(__doc__, "experts", 80, lambda draw, index: case_of(draw, names[index % len(names)], drawn))
