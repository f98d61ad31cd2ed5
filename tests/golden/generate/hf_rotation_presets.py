"""The rotations in rotations.json: a family, non-consecutive positions, and a small shape."""

from dataclasses import dataclass, field

import hf_presets
import hf_presets_yarn
from hf_presets import config, mla

KNOWN = {
    preset.name: preset.hf_config
    for presets in (
        hf_presets.PLAIN,
        hf_presets.PARTIAL,
        hf_presets.MULTI_AXIS,
        hf_presets.LINEAR,
        hf_presets.DYNAMIC,
        hf_presets.LLAMA3,
        hf_presets.LONGROPE,
        hf_presets_yarn.YARN_RELEASED,
    )
    for preset in presets
}


@dataclass
class Rotation:
    name: str
    hf_config: dict
    head_dim: int
    positions: list  # [B][T] or [axes][B][T]
    apply: str = "both"  # key of APPLY in hf_rotations.py
    pairing: str = "half"  # "interleaved_to_half" reads adjacent pairs and writes half-split
    layer_type: str | None = None
    q_heads: int = 1
    k_heads: int = 1
    rotary_offset: int = 0
    flags: dict = field(default_factory=dict)  # copied into the case


def known(preset, head_dim, positions, name=None, **more):
    """A rotation with a preset that is also in frequencies.json."""
    return Rotation(name or preset, KNOWN[preset], head_dim, positions, **more)


# Batch rows with positions out of order, repeated and far apart.
TWO_ROWS = [[5, 0, 1023], [4095, 17, 17]]
ONE_ROW = [[3, 4000, 1]]
TWO_TOKENS = [[2011, 6]]
ONE_TOKEN = [[2011]]

# Three axes (time, height, width): an image between words. Two axes (height, width): patches.
IMAGE = [[[7, 8, 500]], [[7, 9, 500]], [[7, 11, 500]]]
GRID = [[[0, 0, 1, 31]], [[0, 1, 0, 57]]]

# At these positions, float32 angles are off by up to 1e-2.
LONG = {"flags": {"long": True}}
FULL = {"layer_type": "full_attention"}
SLIDING = {"layer_type": "sliding_attention"}

HALF_SPLIT = [
    known("tinyllama-1.1b", 64, TWO_ROWS, q_heads=2),
    known("tinyllama-1.1b", 64, [[0.5, 2.25, 100.125]], name="llama-fractional-positions"),
    known("tinyllama-1.1b", 64, [[-1, -700, 4]], name="llama-negative-positions"),
    known("qwen2-0.5b", 64, ONE_ROW, q_heads=2),
    known("qwen3-0.6b", 128, TWO_TOKENS, q_heads=2),
    known("gemma-3-27b", 128, TWO_TOKENS, name="gemma-3-27b:full_attention", **FULL),
    known("gemma-3-27b", 128, TWO_TOKENS, name="gemma-3-27b:sliding_attention", **SLIDING),
    known("modernbert-base", 64, TWO_TOKENS, name="modernbert-base:full_attention", **FULL),
    known("llama-3.2-1b", 64, [[8192, 131071, 65537]], name="llama-3.2-1b-long", **LONG),
    known("internlm2.5-7b", 128, [[39999, 12]], name="internlm2.5-7b-dynamic-long", **LONG),
    known("qwen2.5-7b-yarn", 128, TWO_TOKENS),
    known("qwen2.5-7b-yarn", 128, [[131071, 40000]], name="qwen2.5-7b-yarn-long", **LONG),
    known("gpt-oss-20b", 64, ONE_ROW, q_heads=2),
    known("gpt-oss-20b", 64, [[131071, 70000]], name="gpt-oss-20b-long", **LONG),
    known("phi-3.5-mini", 96, [[5, 4095]], name="phi-3.5-mini-short-factors", q_heads=2),
    known("phi-3.5-mini", 96, [[5, 4096]], name="phi-3.5-mini-long-factors"),
    Rotation("nanochat", config("nanochat", 768, 6, 2048, rope_theta=10000.0), 128, TWO_TOKENS,
             flags={"opposite_direction": True}),
]

GEMMA_4_SMALL = config(
    "gemma4_text", 512, 8, 131072, head_dim=64, global_head_dim=128, num_hidden_layers=6, rope_parameters={
        "full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0, "partial_rotary_factor": 0.25},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
    })

PARTIAL = [
    known("gpt-neox-20b", 96, TWO_TOKENS, q_heads=2),
    known("phi-2", 80, TWO_TOKENS, apply="first dims"),
    known("stablelm-2-1.6b-new-style", 64, TWO_TOKENS, apply="first dims"),
    known("phi-4-mini", 128, [[4096, 77]], name="phi-4-mini-long-factors"),
    known("mimo-v2-flash", 192, TWO_TOKENS, name="mimo-v2-flash:full_attention", **FULL),
    Rotation("gemma-4-proportional:full_attention", GEMMA_4_SMALL, 128, TWO_TOKENS, "one", **FULL),
]

ADJACENT = {"pairing": "interleaved"}
DEEPSEEK = {"apply": "interleave", "pairing": "interleaved_to_half"}
TAIL = {"apply": "one", "pairing": "interleaved", "rotary_offset": 448}

INTERLEAVED = [
    Rotation("gpt-j-6b", {"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_positions": 2048, "rotary_dim": 64},
             256, TWO_TOKENS, "gptj", **ADJACENT),
    known("aya-23-8b", 128, TWO_TOKENS, **ADJACENT),
    known("glm-4-9b-0414", 128, TWO_TOKENS, **ADJACENT),
    Rotation("ernie-4.5", config("ernie4_5", 1024, 16, 131072, head_dim=128, rope_theta=500000.0),
             128, TWO_TOKENS, **ADJACENT),
    known("llama-4-scout", 128, TWO_TOKENS, apply="complex", **ADJACENT),
    known("deepseek-v2-lite", 64, ONE_ROW, apply="complex, heads first", **ADJACENT),
    known("deepseek-v3", 64, ONE_ROW, q_heads=2, **DEEPSEEK),
    known("kimi-k2", 64, [[131071, 9]], name="kimi-k2-long", **DEEPSEEK, **LONG),
    Rotation("deepseek-v3-not-interleaved",
             mla("deepseek_v3", 7168, 128, 4096, rope_theta=10000, rope_interleave=False), 64, TWO_TOKENS),
    known("deepseek-v4", 512, ONE_TOKEN, name="deepseek-v4:compress", layer_type="compress", **TAIL),
    known("deepseek-v4", 512, ONE_TOKEN, name="deepseek-v4-inverse:main", layer_type="main", **TAIL,
          flags={"inverse": True}),
]

GLM_4V = {"model_type": "glm4v", "text_config": config("glm4v_text", 4096, 32, 65536, rope_parameters={
    "rope_type": "default", "rope_theta": 10000.0, "mrope_section": [8, 12, 12], "partial_rotary_factor": 0.5})}
ERNIE_VL = {"model_type": "ernie4_5_vl_moe", "text_config": config("ernie4_5_vl_moe_text", 2560, 20, 131072,
    rope_parameters={"rope_type": "default", "rope_theta": 500000.0, "mrope_section": [22, 22, 20]})}
QWEN2_VL_VISION = {"model_type": "qwen2_vl", "vision_config": {
    "model_type": "qwen2_vl", "depth": 32, "embed_dim": 1280, "num_heads": 16}}
GEMMA_4_VISION = {"model_type": "gemma4", "vision_config": {
    "model_type": "gemma4_vision", "hidden_size": 768, "num_attention_heads": 12, "head_dim": 64,
    "rope_parameters": {"rope_type": "axial", "rope_theta": 100.0}}}

MULTI_AXIS = [
    known("qwen2-vl-7b", 128, IMAGE, q_heads=2),
    known("qwen3-vl-8b", 128, IMAGE),
    known("qwen3.5-9b", 256, IMAGE),
    Rotation("glm-4v", GLM_4V, 128, IMAGE, **ADJACENT),
    Rotation("ernie-4.5-vl", ERNIE_VL, 128, IMAGE, **ADJACENT),
    Rotation("qwen2-vl-vision", QWEN2_VL_VISION, 80, GRID, "qwen2-vl vision"),
    Rotation("gemma-4-vision", GEMMA_4_VISION, 64, GRID, "gemma4 vision", flags={"axis_spans": [32, 32]}),
]

ROTATIONS = [*HALF_SPLIT, *PARTIAL, *INTERLEAVED, *MULTI_AXIS]
