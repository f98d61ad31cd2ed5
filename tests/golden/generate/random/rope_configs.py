"""Writes ../../random/rope_configs.json: random RoPE keys in the config of every model type, and what transformers makes of them.

# compare: --cases 2500
# test: tests/package/config/random_configs.test.mjs

A case starts from the class defaults of a model type (../../family_defaults.json). It sets or removes the keys of RoPE: rope types, bases, shares
and widths of heads, in the old spelling, the new one or both, for all layers or by kind of layer. The model is built as by family_defaults.py, and
its own modules give the frequencies, before a text and for a longer one.
"""

import base64
import copy
import json
import random
import sys
import warnings
from pathlib import Path

import torch
import transformers
from transformers import CONFIG_MAPPING

sys.path.insert(0, str(Path(__file__).parents[1] / "families"))
from drawing.options import options_parser  # noqa: E402
from family_defaults import ROPE_KEYS, bits_of, first_line, frequencies, text_part, truth_of  # noqa: E402

GOLDEN = Path(__file__).parents[2]

TYPES = ["linear", "dynamic", "yarn", "longrope", "llama3", "proportional"]
THETAS = [10000, 10000.0, 500000.0, 1e6, 100.5, 8e7, 31415.9]
SHARES = [0.25, 0.5, 0.5, 0.75, 1.0, 1.0, 0.334, 0.4, 0.9]

# Model types whose classes read these keys in their own way, or leave some of them out, are drawn more often.
OWN_READERS = """axk1 bailing_hybrid beam cohere2_moe cosmos3_edge_text deepseek_v3 deepseek_v4 diffusion_gemma_text dots3_note_text
    gemma4_unified_text glm4_moe_lite glmasr gpt_neox gpt_neox_japanese laguna longcat_flash mellum mimo_v2_flash mistral4 molmo2_text
    moonshine_streaming muse_spark_text nemotron3_5_transcribe_asr_audio neomme step3p5 zaya""".split()
MORE = 3

# How many times the length of the model a longer text has.
LONGER = 3


def main():
    options = options_parser(__doc__, "rope_configs", 449, seed=32).parse_args()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    rows = [row for row in json.loads((GOLDEN / "family_defaults.json").read_text())["rows"] if "rope" in row]
    order = random.Random(options.seed)
    cases = []
    while len(cases) < options.cases:  # every model type in turn, and then more of some
        order.shuffle(rows)
        drawn = rows + MORE * [row for row in rows if row["model_type"] in OWN_READERS]
        for row in drawn[: options.cases - len(cases)]:
            cases.append(case_of(row, random.Random(f"{options.seed}/{len(cases)}")))
    tables = {}
    for case in cases:
        for truth in [case.get("rope") or {}, case.get("longer") or {}]:
            for kind in truth.values():
                if "inv_freq" in kind:
                    kind["inv_freq"] = tables.setdefault(kind["inv_freq"], str(len(tables)))
    text = (
        '{"source": ' + json.dumps(f"transformers {transformers.__version__}") + f', "seed": {options.seed},\n"tables": {{\n'
        + ",\n".join(f'"{name}": "{bits}"' for bits, name in tables.items())
        + '\n},\n"cases": [\n' + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]}\n"
    )
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text)
    errors = sum("error" in case for case in cases)
    print(len(cases), "cases,", errors, "errors of transformers,", len(text), "bytes")


def case_of(row, rng):
    """One case: what it changes in the text part of the row's config, and what transformers makes of that."""
    kinds = [kind for kind in row["rope"] if kind]
    change = draw(rng, text_part(row["config"]), kinds, next(iter(row["rope"].values())))
    case = {"model_type": row["model_type"], **change}
    config = copy.deepcopy(row["config"])
    apply(text_part(config), change)
    try:
        made = CONFIG_MAPPING[row["model_type"]].from_dict(config)
        truth = truth_of(made, longer_of)
    except Exception as error:
        return {**case, "error": f"{type(error).__name__}: {first_line(error)}"}
    return {**case, **(truth or {"error": "no rotary module"})}


def longer_of(modules):
    """The frequencies for a text that is longer than the model's length, where they depend on it."""
    rope = {}
    for module in modules:
        config = module.config_of
        parameters = config.rope_parameters or {}
        length = LONGER * max(config.max_position_embeddings, *originals(parameters), 1)
        for kind, _, _ in list(frequencies(module)):
            own = parameters[kind] if kind else parameters
            if own.get("rope_type") not in ("dynamic", "longrope") or kind in rope:  # Molmo 2 has a second, unscaled module
                continue
            try:
                call(module, kind, length)
            except Exception as error:
                rope[kind] = {"length": length, "error": f"{type(error).__name__}: {first_line(error)}"}
                continue
            found = {name: (inv_freq, scale) for name, inv_freq, scale in frequencies(module)}
            inv_freq, scale = found[kind]
            if config.model_type.startswith("ernie4_5_vl"):  # its module has another order than the pairs
                inv_freq = inv_freq.sort(descending=True).values
            rope[kind] = {"length": length, "inv_freq": bits_of(inv_freq), **({"attention_factor": scale} if scale != 1 else {})}
    return {"longer": rope} if rope else {}


def originals(parameters):
    dicts = [parameters, *[one for one in parameters.values() if isinstance(one, dict)]]
    return [one["original_max_position_embeddings"] for one in dicts if one.get("original_max_position_embeddings")]


def call(module, kind, length):
    """Calls a rotary module at the last position of a text, with one position axis or three."""
    x = torch.zeros(1, 1, 2)
    options = {"layer_type": kind} if kind else {}
    try:
        module(x, torch.full((1, 1), length - 1), **options)
    except (IndexError, RuntimeError):
        module(x, torch.full((3, 1, 1), length - 1), **options)


def apply(part, change):
    part.pop("time_step_limit", None)  # written as a string that the class doesn't read
    for key in [*ROPE_KEYS, *change.get("remove", [])]:
        part.pop(key, None)
    part.update(copy.deepcopy(change["set"]))


def draw(rng, part, kinds, default):
    """Keys to set and to remove. Sizes stay small: frequencies are stored."""
    keys, removed = {}, []
    head_dim = default.get("head_dim") or 64
    width = rng.random()
    if width < 0.25:  # a width of heads of its own
        head_dim = rng.choice([32, 40, 48, 64, 80, 96, 24, 10, 12, 6])
        keys["head_dim"] = head_dim
    elif width < 0.4 and isinstance(part.get("hidden_size"), int) and isinstance(part.get("num_attention_heads"), int):
        removed.append("head_dim")
        head_dim = rng.choice([16, 20, 32, 64])
        keys["hidden_size"] = part["num_attention_heads"] * head_dim
    elif width < 0.45 and "head_dim" in part:
        keys["head_dim"] = None
    if rng.random() < 0.3:
        keys["max_position_embeddings"] = rng.choice([512, 4096, 5000, 131072])
    top_share = rng.choice(SHARES) if rng.random() < 0.2 else None
    if top_share is not None:
        keys["partial_rotary_factor"] = top_share
    spelling = rng.choice(["new", "new", "old", "none"])
    if spelling == "none" or spelling == "old" or rng.random() < 0.3:
        if rng.random() < 0.7:
            keys["rope_theta"] = rng.choice(THETAS)
    if spelling == "none":
        return {"set": keys, **({"remove": removed} if removed else {})}
    name = "rope_parameters" if spelling == "new" else "rope_scaling"
    nested = kinds and (rng.random() < 0.8 if spelling == "new" else rng.random() < 0.1)
    with_theta = spelling == "new" or rng.random() < 0.2
    one = lambda kind: parameters(rng, head_dim, top_share, spelling, with_theta)
    keys[name] = {kind: one(kind) for kind in kinds} if nested else one(None)
    return {"set": keys, **({"remove": removed} if removed else {})}


def parameters(rng, head_dim, top_share, spelling, with_theta):
    kind = "default" if rng.random() < 0.4 else rng.choice(TYPES)
    made = {"type" if spelling == "old" and rng.random() < 0.5 else "rope_type": kind}
    if with_theta and rng.random() < 0.85:
        made["rope_theta"] = rng.choice(THETAS)
    share = rng.choice(SHARES) if rng.random() < 0.5 else None
    if share is not None:
        made["partial_rotary_factor"] = share
    pairs = (int(head_dim * (share or top_share or 1)) + 1) // 2
    if kind not in ("default", "longrope", "proportional") or rng.random() < 0.3 and kind != "default":
        made["factor"] = rng.choice([1.0, 2, 4.0, 8, 2.5, 40])
    if kind in ("yarn", "longrope", "llama3") and rng.random() < 0.8:
        made["original_max_position_embeddings"] = rng.choice([600, 2048, 4096, 8192, 1000])
    if kind == "yarn":
        for key, values in {
            "beta_fast": [32, 16.0, 64, 0], "beta_slow": [1, 2.0, 0.5], "mscale": [1.0, 0.707], "mscale_all_dim": [1.0, 0.5, 0],
            "attention_factor": [1.0, 0.8, 1.2079], "truncate": [True, False],
        }.items():
            if rng.random() < 0.25:
                made[key] = rng.choice(values)
    if kind == "longrope":
        made["short_factor"] = [round(1 + rng.random() / 4, 3) for _ in range(pairs)]
        made["long_factor"] = [round(1 + 4 * rng.random() * j / max(1, pairs - 1), 3) for j in range(pairs)]
        if rng.random() < 0.2:
            made["attention_factor"] = 1.19
    if kind == "llama3":
        made |= {"low_freq_factor": rng.choice([1.0, 0.5, 2]), "high_freq_factor": rng.choice([4.0, 4, 8.0])}
    return made


if __name__ == "__main__":
    main()
