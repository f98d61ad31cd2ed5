"""Draws keys of GGUF that decide what layers and routers do, and asks llama.cpp for the logits.

    python random/gguf_layers.py --seed 7 --cases 100 --output gguf_layers.json

A case has the keys that differ from those of the tiny model of its name (null for none). Layers may change places with the recurrent ones.
"""
# compare: --cases 250
# test: tests/unit/random_models/gguf_layers.test.mjs

import re
import sys
import tempfile
from pathlib import Path

import gguf

sys.path.insert(0, str(Path(__file__).parents[1]))  # of llama_cpp_logits.py

from llama_cpp_logits import logits_of
from shapes.formula_models import TOKENS, compact, formula, placement, run

MODELS = Path(__file__).parents[2] / "tiny_models"
RECURRENT = ("qwen3_next", "qwen3_5", "qwen3_5_moe")
WINDOWS = ("gemma2", "gemma3", "cohere2", "exaone_moe", "gpt_oss", "mellum", "olmo3", "qwen3", "smollm3", "dots1", "lfm2")
EXPERTS = ("glm4_moe", "dots1", "minimax_m2", "exaone_moe", "hy_v3", "lfm2_moe", "deepseek_v3", "mellum", "olmoe", "nemotron_h_moe")
YARN = ("hunyuan", "llama4", "qwen3")  # the first two normalize heads after the rotation
# These abort without expert_gating_func.
REQUIRED = ("dots1", "minimax_m2", "exaone_moe", "lfm2_moe")
RECURRENT_PART = r"\.(ssm_|attn_qkv|attn_gate)"
ATTENTION_PART = r"\.(attn_[qkv]\.|attn_[qk]_norm|attn_output)"


def main():
    kinds = [(draw, name) for draw, names in
             ((recurrent, RECURRENT), (windows, WINDOWS), (experts, EXPERTS), (yarn, YARN)) for name in names]
    run(__doc__, "gguf_layers", 54, lambda draw, index: case_of(draw, *kinds[index % len(kinds)]))


def case_of(draw, change, name):
    reader = gguf.GGUFReader(MODELS / name / "model.gguf")
    shapes = {tensor.name: tuple(int(extent) for extent in reversed(tensor.shape)) for tensor in reader.tensors}
    arch = reader.fields["general.architecture"].contents()
    layers = reader.fields[f"{arch}.block_count"].contents()
    changes = change(draw, name, layers, shapes)
    changes = {f"{arch}.{key}": value for key, value in changes.items()}
    placed = {tensor: (shape, *placed_at(tensor, shape)) for tensor, shape in sorted(shapes.items())}
    tokens = [draw.randrange(3, 64) for _ in range(TOKENS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        write_file(path, reader, arch, changes, placed)
        try:
            logits = logits_of(path, tokens, [])[-1]
        except ValueError:  # llama.cpp refuses the file
            return None
    result = [float(f"{value:.7g}") for value in logits.tolist()]
    written = {key: value for key, (value, _) in changes.items()}
    return {"name": name, "changes": written, "tensors": compact(placed), "tokens": tokens, "logits": result}


def placed_at(name, shape):
    return (-1, 9) if name.endswith("ssm_a") else placement(name, shape, "")


def write_file(path, reader, arch, changes, placed):
    writer = gguf.GGUFWriter(path, arch)
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture" or field.name in changes:
            continue
        kind, *rest = field.types
        writer.add_key_value(field.name, field.contents(), kind, rest[0] if rest else None)
    for key, (value, kind) in changes.items():
        if value is not None:
            is_list = isinstance(value, list)
            writer.add_key_value(key, value, gguf.GGUFValueType.ARRAY if is_list else kind, kind if is_list else None)
    for name, at in placed.items():
        writer.add_tensor(name, formula(name, *at))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


BOOL, U32, F32 = gguf.GGUFValueType.BOOL, gguf.GGUFValueType.UINT32, gguf.GGUFValueType.FLOAT32
STRING = gguf.GGUFValueType.STRING


def recurrent(draw, name, layers, shapes):
    """Recurrent layers in other places: by a list, one value for all, or the interval."""
    interval = draw.choice([None, 2, 3, 4])
    listed = draw.choice([None, True, *[[draw.random() < 0.5 for _ in range(layers)] for _ in range(4)]])
    if isinstance(listed, list):
        listed[draw.randrange(layers)] = True  # llama.cpp aborts without any
    kinds = listed if isinstance(listed, list) else [bool(listed)] * layers
    if listed is None:
        kinds = [(layer + 1) % (interval or 4) != 0 for layer in range(layers)]
    parts = {pattern: {re.sub(r"^blk\.\d+", "", tensor): shape for tensor, shape in shapes.items() if re.search(pattern, tensor)}
             for pattern in (RECURRENT_PART, ATTENTION_PART)}
    for tensor in [tensor for tensor in shapes if any(re.search(pattern, tensor) for pattern in parts)]:
        del shapes[tensor]
    for layer, is_recurrent in enumerate(kinds):
        shapes |= {f"blk.{layer}{tensor}": shape for tensor, shape in parts[RECURRENT_PART if is_recurrent else ATTENTION_PART].items()}
    return {"attention.recurrent_layers": (listed, BOOL), "full_attention_interval": (interval, U32)}


def windows(draw, name, layers, shapes):
    window = draw.choice([0, *[draw.randint(3, 20) for _ in range(5)]])
    if name == "exaone_moe" or name in ("cohere2", "gpt_oss"):
        window = max(3, window)  # llama.cpp has the mask of a window in each case
    if name in ("gemma2", "exaone_moe") and draw.random() < 0.2:
        window = None
    listed = [draw.random() < 0.5 for _ in range(layers)]
    listed[draw.randrange(layers)] = True  # llama.cpp aborts without any
    pattern = draw.choice([(None, U32), (draw.randint(2, 3), U32), (listed, BOOL)])
    return {"attention.sliding_window": (window, U32), "attention.sliding_window_pattern": pattern}


def experts(draw, name, layers, shapes):
    gating = draw.choice([1, 2] if name in REQUIRED else [None, 1, 2])
    if draw.random() < 0.2 and not any("exp_probs_b" in tensor for tensor in shapes):
        gating = 3
    return {
        "expert_gating_func": (gating, U32),
        "expert_weights_norm": (draw.choice([None, True, False]), BOOL),
        "expert_weights_scale": (draw.choice([None, 0.5, 2.5]), F32),
    }


def yarn(draw, name, layers, shapes):
    # rope.scaling.attn_factor isn't drawn: this package ignores it as transformers does, unless `compat` is llama.cpp.
    return {
        "rope.scaling.type": ("yarn", STRING),
        "rope.scaling.factor": (draw.choice([2.0, 4.0]), F32),
        "rope.scaling.original_context_length": (draw.choice([16, 64]), U32),
    }


if __name__ == "__main__":
    main()
