"""axial.json: queries rotated along several axes, by transformers' image encoders and by the formula of FLUX and Wan."""

import math
import zlib

import numpy as np
import torch
from transformers.models.dinov3_vit import modeling_dinov3_vit as dinov3
from transformers.models.dinov3_vit.configuration_dinov3_vit import DINOv3ViTConfig
from transformers.models.inkling2 import modeling_inkling2 as inkling2
from transformers.models.inkling2.configuration_inkling2 import Inkling2VisionConfig
from transformers.models.kimi_k25 import modeling_kimi_k25 as kimi
from transformers.models.kimi_k25.configuration_kimi_k25 import Kimi_K25VisionConfig
from transformers.models.llama4 import modeling_llama4 as llama4
from transformers.models.llama4.configuration_llama4 import Llama4VisionConfig
from transformers.models.minimax_m3_vl import modeling_minimax_m3_vl as minimax
from transformers.models.minimax_m3_vl.configuration_minimax_m3_vl import MiniMaxM3VLVisionConfig
from transformers.models.pixtral import modeling_pixtral as pixtral
from transformers.models.pixtral.configuration_pixtral import PixtralVisionConfig
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2_vl
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLVisionConfig

from golden_json import f32
from hf_models import SOURCE

GRID = torch.tensor([[0, 0], [0, 1], [1, 0], [31, 57]])  # (h, w) of four patches


def axial_cases():
    return [
        encoder("qwen2-vl", qwen2_vl.Qwen2VLVisionRotaryEmbedding, Qwen2VLVisionConfig(embed_dim=320, num_heads=4), 80,
                qwen2_vl.apply_rotary_pos_emb_vision),
        encoder("pixtral", pixtral.PixtralVisionRotaryEmbedding, PixtralVisionConfig(hidden_size=256, num_attention_heads=4), 64,
                lambda q, k, cos, sin: pixtral.apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1), axes_layout="shared"),
        encoder("kimi-k2.5", kimi.Kimi_K25VisionRotaryEmbedding, Kimi_K25VisionConfig(hidden_size=288, num_attention_heads=4), 72,
                kimi.apply_rotary_pos_emb_vision, width_first=True, axes_layout="interleaved"),
        encoder("inkling2", inkling2.Inkling2VisionRotaryEmbedding, Inkling2VisionConfig(hidden_size=256, num_attention_heads=4), 64,
                inkling2.apply_rotary_pos_emb_vision, width_first=True, pairing="interleaved"),
        minimax_m3(),
        dinov3_case(),
        llama_4(),
        published("flux", [16, 56, 56], 10000, [[0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 63, 47]]),
        published("wan", [44, 42, 42], 10000, [[0, 0, 0], [1, 2, 3], [20, 29, 51]]),
        # Qwen-Image centers its rows and columns
        published("qwen-image", [16, 56, 56], 10000, [[0, -32, -24], [0, 0, 0], [1, 31, 23]]),
    ]


def heads(name, tokens, head_dim):
    """[tokens, 1, head_dim] of multiples of 1/64, exact in float32."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    return torch.tensor(generator.integers(-128, 129, size=(tokens, 1, head_dim)), dtype=torch.float32) / 64


def case(name, source, config, positions, q, rotated):
    return {
        "name": name,
        "source": source,
        "config": {"pairing": "half", **config},
        "shape": list(q.shape),
        "positions": positions,  # [axes][tokens]
        "q": f32(q.flatten()),
        "rotated": f32(rotated.flatten()),
    }


def axial(head_dim, axes_dim, rope_theta, pairing="half", axes_layout="chunked", **more):
    scaling = {"rope_type": "axial", "axes_dim": axes_dim, "axes_layout": axes_layout}
    return {"head_dim": head_dim, "pairing": pairing, "rope_theta": rope_theta, "rope_scaling": scaling, **more}


def encoder(name, rotary_class, config, head_dim, apply, width_first=False, **more):
    rotary = rotary_class(config)
    q = heads(name, len(GRID), head_dim)
    cos, sin = rotary(q, GRID)
    rotated, _ = apply(q, q, cos, sin)
    positions = (GRID.flip(1) if width_first else GRID).T.tolist()
    base = config.rope_parameters["rope_theta"]
    source = f"{SOURCE}, {rotary_class.__name__}"
    return case(name, source, axial(head_dim, [head_dim // 2] * 2, base, **more), positions, q, rotated)


def minimax_m3():
    """Three axes of 2 * (head_dim // 6) elements. The rest of a head isn't rotated."""
    config = MiniMaxM3VLVisionConfig(hidden_size=320, num_attention_heads=4)
    ids = torch.tensor([[0, 0, 0], [1, 0, 1], [3, 31, 57]])
    q = heads("minimax-m3", len(ids), 80)
    cos, sin = minimax.MiniMaxM3VLVisionRotaryEmbedding(config)(q, ids)
    rotated, _ = minimax.apply_rotary_pos_emb_vision(q[None], q[None], cos, sin)
    rotated = rotated[0]
    made = axial(80, [26, 26, 26], config.rope_parameters["rope_theta"], rotary_dim=78)
    return case("minimax-m3", f"{SOURCE}, MiniMaxM3VLVisionRotaryEmbedding", made, ids.T.tolist(), q, rotated)


def dinov3_case():
    """Coordinates from -1 to 1 times 2 pi, which the caller multiplies."""
    config = DINOv3ViTConfig(hidden_size=256, num_attention_heads=4, patch_size=16, image_size=64)
    pixels = torch.zeros(1, 3, 48, 64)
    cos, sin = dinov3.DINOv3ViTRopePositionEmbedding(config).eval()(pixels)  # training jitters the coordinates
    coordinates = dinov3.get_patches_center_coordinates(3, 4, dtype=torch.float32, device="cpu")
    q = heads("dinov3", len(coordinates), 64)
    rotated, _ = dinov3.apply_rotary_pos_emb(q.transpose(0, 1), q.transpose(0, 1), cos, sin)
    positions = (coordinates.double() * 2 * math.pi).T.tolist()
    made = axial(64, [32, 32], config.rope_theta)
    return case("dinov3", f"{SOURCE}, DINOv3ViTRopePositionEmbedding", made, positions, q, rotated.transpose(0, 1))


def llama_4():
    """Columns, then rows, both counted from 1, in adjacent pairs; the class token isn't rotated."""
    config = Llama4VisionConfig(hidden_size=256, num_attention_heads=4, image_size=42, patch_size=14)
    freqs = llama4.Llama4VisionRotaryEmbedding(config).freqs_ci
    q = heads("llama-4", 10, 64)
    rotated, _ = llama4.vision_apply_rotary_emb(q[None], q[None], freqs)
    ids = torch.arange(9)
    positions = torch.stack([ids % 3 + 1, ids // 3 + 1])
    positions = torch.cat([positions, torch.zeros(2, 1, dtype=torch.int64)], dim=1).tolist()
    made = axial(64, [32, 32], config.rope_parameters["rope_theta"], "interleaved")
    return case("llama-4", f"{SOURCE}, Llama4VisionRotaryEmbedding", made, positions, q, rotated[0])


def published(name, axes_dim, theta, ids):
    """FLUX, Wan and Qwen-Image in double precision: each axis turns its own adjacent pairs, as complex numbers."""
    q = heads(name, len(ids), sum(axes_dim))
    turns = []
    for axis, dim in enumerate(axes_dim):
        omega = 1.0 / theta ** (np.arange(0, dim, 2, dtype=np.float64) / dim)
        turns.append(np.exp(1j * np.outer(np.array(ids, dtype=np.float64)[:, axis], omega)))
    numbers = q.double().numpy()[..., 0::2] + 1j * q.double().numpy()[..., 1::2]
    turned = numbers * np.concatenate(turns, axis=1)[:, None]
    rotated = np.stack([turned.real, turned.imag], axis=-1).reshape(q.shape)
    made = axial(sum(axes_dim), axes_dim, theta, "interleaved")
    positions = np.array(ids).T.tolist()
    return case(name, "omega = theta^(-2j/d) on each axis, in double precision", made, positions, q, rotated)
