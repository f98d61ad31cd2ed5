"""The RoPE of each method with which train.py extends the trained length, as transformers' `rope_parameters`."""

import json

THETA = 10000.0
HEAD_DIM = 32
METHODS = ["linear", "ntk", "yarn", "longrope", "drope"]
"""PI, NTK-aware, YaRN, the factors that `ropewalk search` found, and no RoPE at all (DroPE, Gelberg et al. 2025, arXiv:2512.12167)."""


def rope_parameters(options, trained_length):
    """The RoPE of `options.method` with `options.factor`. Not for drope, whose layers have none."""
    factor = options.factor
    if factor == 1:
        return {"rope_type": "default", "rope_theta": THETA}
    if options.method == "ntk":  # transformers has it only as a larger base
        return {"rope_type": "default", "rope_theta": THETA * factor ** (HEAD_DIM / (HEAD_DIM - 2))}
    own = {"rope_type": options.method, "rope_theta": THETA, "factor": factor}
    if options.method == "linear":
        return own
    if options.method == "yarn":
        return {**own, "original_max_position_embeddings": trained_length}
    found = json.loads(options.searched.read_text())["rope_scaling"]
    assert found["rope_type"] == "longrope" and found["factor"] == factor, found
    return {**found, "rope_theta": THETA}
