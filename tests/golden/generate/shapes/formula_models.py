"""Tiny models whose weights are a formula of their names, so that golden files store none (tests/files/formula_models.mjs).

An element is `center + k / 2**shift`, with k an odd number from -127 to 127: a hash of the tensor's name and the
element's index.
"""

import json
import math
import random
import re
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

from drawing.options import options_parser  # of random/, whose generators call run()
from tiny_models import LESS_ONE, expert_margins

TOKENS = 24
SPREAD = 127 / math.sqrt(3)  # standard deviation of k


def formula(name, shape, center, shift):
    k = (hashes(name, math.prod(shape)) >> 25).astype(np.int64) * 2 - 127
    return (center + k / 2.0**shift).reshape(shape).astype(np.float32)


def hashes(name, count):
    """The name's FNV-1a hash and the index, mixed as at the end of MurmurHash3."""
    seed = 0x811C9DC5
    for byte in name.encode():
        seed = (seed ^ byte) * 0x01000193 % 2**32
    x = (seed + np.arange(count, dtype=np.uint64) * 0x9E3779B1) % 2**32
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ (x >> shift)) * factor % 2**32
    return x ^ (x >> 16)


def placement(name, shape, model_type):
    """Center and shift: norms near one, biases near zero, and scores that prefer some keys."""
    if name.endswith("bias"):
        return 0, 8
    if not shape:  # XIELU's numbers, of which two are constants
        return {"beta": (0.5, 60), "eps": (-1e-6, 60)}.get(name.split(".")[-1], (0.5, 9))
    if len(shape) == 1 or name.endswith("norm.weight"):
        return (0 if model_type.removesuffix("_text") in LESS_NAMES else 1), 8
    growth = 2 if any(part in name for part in ("embed", "lm_head", "embd", "output.weight")) else 1
    growth = 1.5 if re.search(r"q_proj|k_proj|attn_q|attn_k", name) else growth
    return 0, round(math.log2(SPREAD * math.sqrt(shape[-1]) / growth))


LESS_NAMES = {name.removesuffix("_text") for name in LESS_ONE}


def compact(tensors):
    """`{name: (shape, center, shift)}` with the indices of layers and experts as ranges: layers.{0-2}."""
    groups = {}
    for name, placed in tensors.items():
        indices = tuple(int(digits) for digits in re.findall(r"(?<=\.)\d+(?=\.)", name))
        groups.setdefault((re.sub(r"(?<=\.)\d+(?=\.)", "{}", name), placed), []).append(indices)
    written = {}
    for (pattern, (shape, center, shift)), indices in groups.items():
        for product in products(indices):
            sets = iter(product)
            name = re.sub(r"\{\}", lambda _: "{" + ",".join(map(str, next(sets))) + "}", pattern)
            written[name] = [list(shape), center, shift]
    return written


def products(indices):
    """Splits a list of tuples into products of lists."""
    by_first = {}
    for first, *rest in (entry for entry in indices if entry):
        by_first.setdefault(first, []).append(tuple(rest))
    if not by_first:
        return [()]
    by_rest = {}
    for first, rest in by_first.items():
        by_rest.setdefault(tuple(sorted(rest)), []).append(first)
    return [(firsts, *inner) for rest, firsts in by_rest.items() for inner in products(list(rest))]


def build(config, auto=None, without_prefix=False):
    """
    A model of `config` in float64, with the weights of the formula, and the placement of each tensor in its files. `without_prefix` stores it as
    its base class does.
    """
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        made = AutoConfig.for_model(**config)
        auto = auto or class_of(made)
        make = getattr(auto, "_from_config", None) or auto.from_config
        model = make(made, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager")
        model.save_pretrained(scratch)
        path = scratch / "model.safetensors"
        prefix = f"{model.base_model_prefix}." if without_prefix else ""
        shapes = {name.removeprefix(prefix): array.shape for name, array in load_file(path).items()}
        placed = {name: (shape, *placement(name, shape, made.model_type)) for name, shape in sorted(shapes.items())}
        save_file({name: formula(name, *at) for name, at in placed.items()}, path, metadata={"format": "pt"})
        (scratch / "config.json").write_text(json.dumps(config))  # as drawn, not as the class writes it
        loaded, report = auto.from_pretrained(
            scratch, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager", output_loading_info=True
        )
        assert not report["missing_keys"] and not report["unexpected_keys"], report
        return loaded.double().eval(), placed


def class_of(config):
    if config.model_type == "mistral4":  # only part of a larger model, so that no Auto class has it
        return transformers.Mistral4ForCausalLM
    return AutoModelForImageTextToText if hasattr(config, "vision_config") else AutoModelForCausalLM


def logits(model, tokens, margin=1e-4):
    """The logits after the last token; None if a router is too close to call between two experts."""
    with torch.no_grad(), expert_margins(model) as margins:
        result = model(torch.tensor([tokens]), use_cache=False).logits[0, -1]
    if min(margins, default=1) < margin:
        return None
    assert result.isfinite().all()
    return [float(f"{value:.7g}") for value in result.tolist()]


def case_of(draw, name, drawn):
    """A case of the config that `drawn` draws. None if transformers refuses it, or its experts are too close to call."""
    config = drawn(draw, name)
    tokens = [draw.randrange(3, 64) for _ in range(TOKENS)]
    try:
        model, placed = build(config)
        result = logits(model, tokens)
    except Exception:  # of the config's class, or of the mask
        return None
    return result and {"name": name, "config": config, "tensors": compact(placed), "tokens": tokens, "logits": result}


def run(usage, subject, cases, draw_case):
    """The command line of a generator: writes as many cases as it asks for. Cases that are None are drawn again."""
    options = options_parser(usage, subject, cases).parse_args()
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    draw = random.Random(options.seed)
    written = []
    while len(written) < options.cases:
        case = draw_case(draw, len(written))
        if case is not None:
            written.append(json.dumps(case, separators=(",", ":")))
    text = f'{{"seed": {options.seed}, "cases": [\n' + ",\n".join(written) + "\n]}\n"
    options.output.write_text(text, encoding="utf-8")
