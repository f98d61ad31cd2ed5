"""rotations.json: queries and keys, rotated by each model family's own functions in transformers."""

import zlib
from dataclasses import dataclass

import numpy as np
import torch
from transformers.models.gemma4 import modeling_gemma4
from transformers.models.gemma4.configuration_gemma4 import Gemma4VisionConfig
from transformers.models.qwen2_vl import modeling_qwen2_vl
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLVisionConfig

from golden_json import f32
from hf_models import SOURCE, cos_sin, load_config, modeling_module, per_layer, rotary_module
from hf_rotation_presets import ROTATIONS


@dataclass
class Rotated:
    q: torch.Tensor
    k: torch.Tensor
    rotary_dim: int
    function: str  # name of the family's function


def rotation_cases():
    return [rotation_case(rotation) for rotation in ROTATIONS]


def rotation_case(rotation):
    q, k = random_heads(rotation)
    rotated = APPLY[rotation.apply](rotation, q, k, torch.tensor(rotation.positions))
    case = {
        "name": rotation.name,
        "source": f"{SOURCE}, {rotated.function}",
        "hf_config": rotation.hf_config,
        "layer_type": rotation.layer_type,
        "layout": "bhtd",
        "pairing": rotation.pairing,
        "rotary_dim": rotated.rotary_dim,
        "rotary_offset": rotation.rotary_offset,
        "q_shape": list(q.shape),
        "k_shape": list(k.shape),
        "positions": rotation.positions,
        "q": f32(q.flatten()),
        "k": f32(k.flatten()),
        "q_rotated": f32(rotated.q.flatten()),
        "k_rotated": f32(rotated.k.flatten()),
    }
    return {**case, **rotation.flags}


def random_heads(rotation):
    """Multiples of 1/64 in [-2, 2], exact in float32 and float16, from a generator seeded by the case's name."""
    generator = np.random.default_rng(zlib.crc32(rotation.name.encode()))
    batch, tokens = np.shape(rotation.positions)[-2:]

    def heads(count):
        sixty_fourths = generator.integers(-128, 129, size=(batch, count, tokens, rotation.head_dim))
        return torch.tensor(sixty_fourths, dtype=torch.float32) / 64

    return heads(rotation.q_heads), heads(rotation.k_heads)


def family(rotation, positions):
    """The family's modeling file, with cos, sin and rotary_dim from its rotary module."""
    config = load_config(rotation.hf_config)
    rotary = rotary_module(config)
    cos, sin = cos_sin(rotary, positions, rotation.layer_type)
    # Read after the call, when dynamic and longrope modules have chosen their frequencies.
    rotary_dim = 2 * len(per_layer(rotary, "inv_freq", rotation.layer_type))
    return modeling_module(config), cos, sin, rotary_dim


def name_of(function):
    return f"{function.__module__.rsplit('.', 1)[1]}.{function.__name__}"


def apply_to_both(rotation, q, k, positions):
    """apply_rotary_pos_emb(q, k, cos, sin), which also handles the family's partial rotation, if any."""
    module, cos, sin, rotary_dim = family(rotation, positions)
    return Rotated(*module.apply_rotary_pos_emb(q, k, cos, sin), rotary_dim, name_of(module.apply_rotary_pos_emb))


def apply_interleave(rotation, q, k, positions):
    """DeepSeek's variant, on the rotary part of the heads: reads adjacent pairs, writes half-split ones."""
    module, cos, sin, rotary_dim = family(rotation, positions)
    function = module.apply_rotary_pos_emb_interleave
    return Rotated(*function(q, k, cos, sin), rotary_dim, name_of(function))


def apply_to_first_dims(rotation, q, k, positions):
    """Families whose attention splits the head, rotates the first part and concatenates."""
    module, cos, sin, rotary_dim = family(rotation, positions)
    q_first, k_first = module.apply_rotary_pos_emb(q[..., :rotary_dim], k[..., :rotary_dim], cos, sin)
    q = torch.cat((q_first, q[..., rotary_dim:]), dim=-1)
    k = torch.cat((k_first, k[..., rotary_dim:]), dim=-1)
    return Rotated(q, k, rotary_dim, name_of(module.apply_rotary_pos_emb))


def apply_to_one(rotation, q, k, positions):
    """apply_rotary_pos_emb(x, cos, sin) on one tensor at a time. The inverse rotation uses -sin."""
    module, cos, sin, rotary_dim = family(rotation, positions)
    if rotation.flags.get("inverse"):
        sin = -sin
    function = module.apply_rotary_pos_emb
    return Rotated(function(q, cos, sin), function(k, cos, sin), rotary_dim, name_of(function))


def apply_complex(rotation, q, k, positions):
    """Llama-4: adjacent pairs as complex numbers, with tokens before heads in memory."""
    config = load_config(rotation.hf_config)
    freqs_cis = rotary_module(config)(q, positions)
    function = modeling_module(config).apply_rotary_emb
    rotated = function(q.transpose(1, 2), k.transpose(1, 2), freqs_cis)
    return Rotated(*(x.transpose(1, 2) for x in rotated), 2 * freqs_cis.shape[-1], name_of(function))


def apply_complex_heads_first(rotation, q, k, positions):
    """DeepSeek-V2: the same, with heads before tokens."""
    config = load_config(rotation.hf_config)
    freqs_cis = rotary_module(config)(q, positions)
    function = modeling_module(config).apply_rotary_emb
    return Rotated(*function(q, k, freqs_cis), 2 * freqs_cis.shape[-1], name_of(function))


def apply_gptj(rotation, q, k, positions):
    """GPT-J: a table of sines and cosines for every position, indexed by position; tokens before heads in memory."""
    config = load_config(rotation.hf_config)
    module = modeling_module(config)
    table = module.create_sinusoidal_positions(config.max_position_embeddings, config.rotary_dim)
    sin, cos = table[positions].chunk(2, dim=-1)

    def rotate(x):
        x = x.transpose(1, 2)
        first = module.apply_rotary_pos_emb(x[..., : config.rotary_dim], sin, cos)
        return torch.cat((first, x[..., config.rotary_dim :]), dim=-1).transpose(1, 2)

    return Rotated(rotate(q), rotate(k), config.rotary_dim, name_of(module.apply_rotary_pos_emb))


def vision_fields(rotation):
    return {key: value for key, value in rotation.hf_config["vision_config"].items() if key != "model_type"}


def apply_qwen2_vl_vision(rotation, q, k, positions):
    """Rows h and w of positions; no batch dimension, tokens before heads."""
    rotary = modeling_qwen2_vl.Qwen2VLVisionRotaryEmbedding(Qwen2VLVisionConfig(**vision_fields(rotation)))
    cos, sin = rotary(q, positions[:, 0].T)  # the module expects [tokens, 2]
    tokens_first = (x[0].transpose(0, 1) for x in (q, k))
    function = modeling_qwen2_vl.apply_rotary_pos_emb_vision
    rotated = function(*tokens_first, cos, sin)
    return Rotated(*(x.transpose(0, 1)[None] for x in rotated), cos.shape[-1], name_of(function))


def apply_gemma4_vision(rotation, q, k, positions):
    """Rows x and y of positions. Each axis rotates its own half of the head, half-split within it."""
    rotary = modeling_gemma4.Gemma4VisionRotaryEmbedding(Gemma4VisionConfig(**vision_fields(rotation)))
    ids = positions.permute(1, 2, 0)  # [batch, tokens, 2]
    cos, sin = rotary(q, ids)
    function = modeling_gemma4.apply_multidimensional_rope

    def rotate(x):
        return function(x.transpose(1, 2), cos, sin, ids).transpose(1, 2)

    return Rotated(rotate(q), rotate(k), cos.shape[-1], name_of(function))


APPLY = {
    "both": apply_to_both,
    "interleave": apply_interleave,
    "first dims": apply_to_first_dims,
    "one": apply_to_one,
    "complex": apply_complex,
    "complex, heads first": apply_complex_heads_first,
    "gptj": apply_gptj,
    "qwen2-vl vision": apply_qwen2_vl_vision,
    "gemma4 vision": apply_gemma4_vision,
}
