"""Writes doctor/systems.json: frequencies and factors that the released code of mlx-lm and SGLang computes for configs.

    python systems.py MLX_LM SGLANG           write the file
    python systems.py MLX_LM SGLANG --check   compare it

The folders are those of the unpacked wheels (`npm run drift` fetches them). It needs the packages mlx (with its CPU backend), torch and numpy.
The code runs unchanged: what it imports and doesn't use for frequencies is replaced by empty modules. Both systems compute in f32.
"""

import importlib.util
import json
import math
import sys
import types
from pathlib import Path
from unittest.mock import MagicMock

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from longrope_factors import PHI_3_5_LONG, PHI_3_5_SHORT  # noqa: E402

FILE = Path(__file__).parents[2] / "doctor" / "systems.json"
VERSIONS = "mlx-lm 0.32.2 (16 October 2026), SGLang 0.5.23 (30 October 2026)"

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
QWEN = {"model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28, "rope_theta": 1000000.0}
GPT_OSS = {"model_type": "gpt_oss", "hidden_size": 2880, "num_attention_heads": 64, "head_dim": 64, "rope_theta": 150000.0}
OSS_YARN = {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096, "beta_fast": 32.0, "beta_slow": 1.0}
DEEPSEEK = {"model_type": "deepseek_v3", "hidden_size": 7168, "num_attention_heads": 128, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
            "rope_theta": 10000.0}
DEEPSEEK_YARN = {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096, "beta_fast": 32, "beta_slow": 1}
LLAMA = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "rope_theta": 500000.0}
PHI = {"model_type": "phi3", "hidden_size": 3072, "num_attention_heads": 32, "rope_theta": 10000.0, "original_max_position_embeddings": 4096}


def config(base, longest, **scaling):
    return {**base, "max_position_embeddings": longest, "rope_scaling": scaling}


LONGROPE = {"rope_type": "longrope", "long_factor": PHI_3_5_LONG, "short_factor": PHI_3_5_SHORT}
# name, config, lengths of the sequence, width of the rotation
CASES = [
    ("yarn", config(QWEN, 131072, **YARN), [100], 128),
    ("yarn-attention-factor", config(QWEN, 131072, **YARN, attention_factor=1.0), [100], 128),
    ("yarn-attn-factor", config(QWEN, 131072, **YARN, attn_factor=0.8782488562869419), [100], 128),
    ("yarn-betas", config(QWEN, 131072, **YARN, beta_fast=16.0, beta_slow=2.0), [100], 128),
    ("yarn-mscales", config(QWEN, 131072, **YARN, mscale=1.0, mscale_all_dim=1.0), [100], 128),
    ("yarn-one-mscale", config(QWEN, 131072, **YARN, mscale=0.7), [100], 128),
    ("yarn-other-mscale", config(QWEN, 131072, **YARN, mscale_all_dim=0.7), [100], 128),
    ("yarn-not-rounded", config(GPT_OSS, 131072, **OSS_YARN, truncate=False), [100], 64),
    ("yarn-rounded", config(GPT_OSS, 131072, **OSS_YARN, truncate=True), [100], 64),
    ("deepseek", config(DEEPSEEK, 163840, **DEEPSEEK_YARN, mscale=1.0, mscale_all_dim=1.0), [100], 64),
    ("deepseek-mscales", config(DEEPSEEK, 163840, **DEEPSEEK_YARN, mscale=0.8, mscale_all_dim=0.6), [100], 64),
    ("deepseek-no-mscale", config(DEEPSEEK, 163840, **DEEPSEEK_YARN), [100], 64),
    ("deepseek-attention-factor", config(DEEPSEEK, 163840, **DEEPSEEK_YARN, mscale=1.0, mscale_all_dim=1.0, attention_factor=1.0), [100], 64),
    ("longrope", config(PHI, 131072, **LONGROPE), [100, 5000], 96),
    ("longrope-attention-factor", config(PHI, 131072, **LONGROPE, attention_factor=1.5), [100, 5000], 96),
    ("linear", config(LLAMA, 32768, rope_type="linear", factor=4.0), [100], 128),
    ("llama3", config(LLAMA, 131072, rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                      original_max_position_embeddings=8192), [100], 128),
    ("dynamic", config(QWEN, 32768, rope_type="dynamic", factor=4.0), [100, 100000], 128),
    ("plain", {**QWEN, "max_position_embeddings": 32768}, [100], 128),
]


def module_of(path, name, **stubs):
    for stub, value in stubs.items():
        sys.modules[stub.replace("__", ".")] = value
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def mlx_lm(folder):
    """Returns (inverse frequencies, factor on cos and sin, softmax factor) of a case at a length."""
    import mlx.core as mx
    import numpy as np

    rope_utils = module_of(Path(folder) / "mlx_lm" / "models" / "rope_utils.py", "rope_utils")

    def compute(case, length, width):
        scaling = case.get("rope_scaling")
        if scaling is not None and scaling["rope_type"] == "longrope":
            scaling = {**scaling, "original_max_position_embeddings": case["original_max_position_embeddings"]}
        rope = rope_utils.initialize_rope(width, case["rope_theta"], False, scaling, case["max_position_embeddings"])
        softmax = rope_utils.apply_yarn_mscale(1.0, scaling) if "qk_rope_head_dim" in case else 1.0
        # a pair of (1, 0) at position 1 shows its cosine and sine
        ones = mx.zeros((1, 1, length, width))
        ones[..., : width // 2] = 1.0
        turned = np.array(rope(ones, offset=0), dtype=np.float64)[0, 0, 1]
        half = width // 2
        angles = np.arctan2(turned[half:], turned[:half])
        factor = math.hypot(turned[0], turned[half])
        return angles.tolist(), factor, softmax

    return compute


class Base(torch.nn.Module):
    """In place of BaseFusedOp, which chooses kernels."""


def sglang(folder):
    root = Path(folder) / "sglang" / "srt"
    for name in ["sglang", "sglang.srt", "sglang.srt.layers"]:
        package = types.ModuleType(name)
        package.__path__ = [str(root if name == "sglang.srt" else root.parent if name == "sglang" else root / "layers")]
        sys.modules[name] = package
    rotary = types.ModuleType("sglang.srt.layers.rotary_embedding")
    rotary.__path__ = [str(root / "layers" / "rotary_embedding")]
    sys.modules["sglang.srt.layers.rotary_embedding"] = rotary
    off = MagicMock(return_value=False)
    fused = MagicMock(BaseFusedOp=Base)
    utils = MagicMock(**{name: off for name in ["is_cuda", "is_hip", "is_npu", "is_xpu", "is_musa", "is_mps", "cpu_has_amx_support", "get_bool_env_var"]})
    utils.is_cpu = MagicMock(return_value=True)
    utils.get_device = MagicMock(return_value="cpu")
    context = MagicMock(publish_role=MagicMock(return_value=None))
    environ = MagicMock()
    environ.envs.SGLANG_ROPE_CACHE_FP32.get.return_value = True
    platforms = MagicMock()
    platforms.current_platform.is_out_of_tree.return_value = False
    sys.modules.update({
        "sglang.kernels": MagicMock(), "sglang.kernels.fused_op": fused, "sglang.kernels.ops": MagicMock(),
        "sglang.kernels.ops.attention": MagicMock(), "sglang.kernels.ops.attention.rotary_triton": MagicMock(),
        "sglang.kernels.ops.attention.mrope": MagicMock(), "sglang.srt.environ": environ, "sglang.srt.platforms": platforms,
        "sglang.srt.runtime_context": context, "sglang.srt.utils": utils,
    })
    factory = importlib.import_module("sglang.srt.layers.rotary_embedding.factory")
    config_text = (root / "configs" / "model_config.py").read_text()
    start = config_text.index("def yarn_get_mscale(")
    scope = {"math": math, "logger": MagicMock()}
    exec(config_text[start:config_text.index("\ndef ", config_text.index("def compute_mla_mscale_scaling("))], scope)

    def compute(case, length, width):
        scaling = dict(case.get("rope_scaling") or {"rope_type": "default"})
        softmax = 1.0
        if "qk_rope_head_dim" in case:
            softmax = scope["compute_mla_mscale_scaling"](scaling, 1.0)
            scaling["rope_type"] = "deepseek_yarn"  # sglang/srt/models/deepseek_v2.py
        if scaling["rope_type"] == "longrope":
            scaling["original_max_position_embeddings"] = case["original_max_position_embeddings"]
        rope = factory.get_rope(width, width, case["max_position_embeddings"], case["rope_theta"], True, scaling, torch.float32)
        row = 1
        if scaling["rope_type"] == "longrope":
            table = rope.long_short_cos_sin_cache
            row += rope.original_max_position_embeddings if length - 1 > rope.original_max_position_embeddings else 0
        else:
            table = rope.cos_sin_cache
        cos, sin = table[row].double().chunk(2)
        return torch.atan2(sin, cos).tolist(), math.hypot(cos[0], sin[0]), softmax

    return compute


def main():
    folders = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    systems = {"MLX": mlx_lm(folders[0]), "SGLang": sglang(folders[1])}
    cases = []
    for name, case, lengths, width in CASES:
        for system, compute in systems.items():
            for length in lengths:
                inv_freq, factor, softmax = compute(case, length, width)
                cases.append({"name": f"{system}/{name}/{length}", "system": system, "config": case, "length": length,
                              "inv_freq": [float(f"{value:.8g}") for value in inv_freq], "attention_factor": float(f"{factor:.8g}"),
                              "softmax": float(f"{softmax:.10g}")})
    text = json.dumps({"source": VERSIONS, "cases": cases}, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n"
    if "--check" in sys.argv:
        print("same" if FILE.read_text() == text else "differs")
    else:
        FILE.write_text(text)
        print(len(cases), "cases,", len(text), "bytes")


if __name__ == "__main__":
    main()
