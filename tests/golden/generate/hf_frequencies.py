"""frequencies.json: inverse frequencies, attention factors, cos and sin of released models, computed by transformers."""

import sys

import torch

import hf_presets
import hf_presets_yarn
from golden_json import f32
from hf_models import SOURCE, cos_sin, head_dim_of, load_config, per_layer, rotary_module

POSITIONS = [0, 1, 7, 4095, 32768, 131071]

PRESETS = [
    *hf_presets.PLAIN,
    *hf_presets.PARTIAL,
    *hf_presets.MULTI_AXIS,
    *hf_presets.LINEAR,
    *hf_presets.DYNAMIC,
    *hf_presets_yarn.YARN_RELEASED,
    *hf_presets_yarn.YARN_MADE_UP,
    *hf_presets.LONGROPE,
    *hf_presets.LLAMA3,
    *hf_presets.PROPORTIONAL,
]


def frequency_cases():
    return [
        frequency_case(preset, layer_type, seq_len)
        for preset in PRESETS
        for layer_type in preset.layer_types
        for seq_len in preset.seq_lens
    ]


def frequency_case(preset, layer_type, seq_len):
    config = load_config(preset.hf_config)
    rotary = rotary_module(config)
    parameters = config.rope_parameters if layer_type is None else config.rope_parameters[layer_type]
    # Dynamic and longrope modules choose their frequencies by the longest position in a call.
    positions = POSITIONS if seq_len is None else [p for p in POSITIONS if p < seq_len - 1] + [seq_len - 1]
    if seq_len is None and parameters["rope_type"] in ("dynamic", "longrope"):
        positions = [0, 1, 7, 2047]
    inv_freq_at_start = per_layer(rotary, "inv_freq", layer_type).clone()
    cos, sin = cos_sin(rotary, position_ids(rotary, positions), layer_type)
    inv_freq = per_layer(rotary, "inv_freq", layer_type)
    assert seq_len is not None or torch.equal(inv_freq, inv_freq_at_start)

    pairs = printed_pairs(len(inv_freq))
    return {
        "name": case_name(preset.name, layer_type, seq_len),
        "model": preset.model,
        "source": f"{SOURCE}, {type(rotary).__name__}; configuration: {preset.origin}",
        "hf_config": preset.hf_config,
        "layer_type": layer_type,
        "seq_len": seq_len,
        "rope_type": parameters["rope_type"],
        "rotary_dim": 2 * len(inv_freq),
        "head_dim": head_dim_of(config, layer_type),
        "inv_freq": f32(inv_freq),
        "attention_factor": attention_factor(rotary, parameters, layer_type, cos),
        "softmax_scale": softmax_scale(rotary, parameters),
        "positions": positions,
        "pairs": pairs,
        "cos": f32(one_column_per_pair(cos, len(inv_freq))[:, pairs]),
        "sin": f32(one_column_per_pair(sin, len(inv_freq))[:, pairs]),
    }


def case_name(name, layer_type, seq_len):
    return name + (f":{layer_type}" if layer_type else "") + (f"@{seq_len}" if seq_len else "")


def position_ids(rotary, positions):
    """One row of positions, repeated for each of the three axes if the module takes several."""
    ids = torch.tensor([positions])
    return ids.expand(3, 1, -1) if hasattr(rotary, "recomposition_frequencies") else ids


def printed_pairs(count):
    """The first pairs, the last one and the quarters: enough to detect a wrong pairing, range or order."""
    return sorted({0, 1, count // 4, count // 2, 3 * count // 4, count - 1})


def one_column_per_pair(values, count):
    """[positions, pairs], from rows laid out c0 c1 … c0 c1 … (half), c0 c0 c1 c1 … (interleaved) or c0 c1 …"""
    values = values.reshape(-1, values.shape[-1])
    if values.shape[-1] == count:
        return values
    adjacent = torch.equal(values[:, 0::2], values[:, 1::2])
    return values[:, 0::2] if adjacent else values[:, :count]


def attention_factor(rotary, parameters, layer_type, cos):
    """The factor on cos and sin, in double precision, checked against cos at position 0, which equals the factor."""
    factor = float(per_layer(rotary, "attention_scaling", layer_type))
    if "short_mscale" in parameters:  # PhiMoE replaces the longrope scale
        factor = parameters["short_mscale"]
    assert torch.all(cos.reshape(-1, cos.shape[-1])[0] == torch.tensor(factor, dtype=torch.float32))
    return factor


def softmax_scale(rotary, parameters):
    """The factor on 1/sqrt(head_dim) that comes from RoPE scaling (DeepSeek and related families)."""
    apply_mscale = getattr(sys.modules[type(rotary).__module__], "yarn_apply_mscale", None)
    return apply_mscale(parameters, 1.0) if apply_mscale else 1.0
