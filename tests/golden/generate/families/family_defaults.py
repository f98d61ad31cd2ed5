"""Writes ../family_defaults.json: the RoPE that transformers gives to the class defaults of each of its model types.

    python family_defaults.py            write the file, in some minutes
    python family_defaults.py llama      write the rows of these model types
    python family_defaults.py --check    generate it again and compare

A model is built on the meta device, without weights, and its rotary modules on the CPU. README.md of the folder above
has the format.
"""

import base64
import json
import re
import sys
import warnings
from pathlib import Path

import torch
import transformers
from transformers import CONFIG_MAPPING

from family_models import attention_classes, build, modeling_modules, rotary_alone, rotary_classes, rotary_modules, text_config_of
from family_rotations import POSITION, apply_functions, describe

FILE = Path(__file__).parents[2] / "family_defaults.json"

# Options that turn RoPE on in classes whose defaults have none, and sizes that the class leaves out.
OPTIONS = {
    "esm": {"position_embedding_type": "rotary", "vocab_size": 33, "pad_token_id": 1},
    "granitemoehybrid": {"position_embedding_type": "rope"},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "zamba2": {"use_mem_rope": True},
    "wav2vec2-conformer": {"position_embeddings_type": "rotary"},
    "wav2vec2-bert": {"position_embeddings_type": "rotary"},
}

# Models that scale queries, or queries and keys, before they attend, so that an attribute isn't the whole scale.
SCALED_BEFORE = ["esm", "openai_privacy_filter"]

# Where a config.json has the base, the scaling and the rotated share.
ROPE_KEYS = ["rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor"]

# Keys without any influence on RoPE, left out to keep the file small.
IRRELEVANT = (
    "_token transformers_version architectures dropout dtype initializer vocab eps bias act activation token_id "
    "id2label label2id output_ return_dict use_cache problem_type intermediate loss coef expert quant tie_ pruned "
    "feed_forward chunk_size_ ssm mamba conv_ generation image_size patch kernel stride mlp_ router norm_ _norm mask_ "
    "timestep pooling classifier num_labels codebook layerdrop drop_path residual_ embedding_multiplier logits_ "
    "is_encoder_decoder is_decoder add_cross cross_attention_hidden moe_ topk_ n_group first_k scoring_ aux_"
).split()


def main():
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    named = [name for name in sys.argv[1:] if not name.startswith("-")]
    rows = {}
    if named:  # only these rows
        old = json.loads(FILE.read_text())
        rows = {row["model_type"]: replace_tables(row, old["tables"].get) for row in old["rows"]}
    rows |= {model_type: row_of(model_type) for model_type in named or CONFIG_MAPPING}
    rows = [rows[model_type] for model_type in sorted(rows) if rows[model_type] is not None]
    tables = {}
    rows = [replace_tables(row, lambda bits: tables.setdefault(bits, str(len(tables)))) for row in rows]
    text = (
        '{"source": ' + json.dumps(f"transformers {transformers.__version__}") + ',\n"tables": {\n'
        + ",\n".join(f'"{name}": "{bits}"' for bits, name in tables.items())
        + '\n},\n"rows": [\n' + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]}\n"
    )
    if "--check" in sys.argv:
        print("same as" if FILE.read_text() == text else "DIFFERS from", "the committed file")
    else:
        FILE.write_text(text)
    print(len(rows), "model types,", len(tables), "tables,", len(text), "bytes")


def row_of(model_type):
    """What a model type's class defaults give; None if its model has no rotary module."""
    row = {"model_type": model_type}
    options = OPTIONS.get(model_type, {})
    try:
        config = CONFIG_MAPPING[model_type](**options)
        saved = json.loads(config.to_json_string(use_diff=True))
    except Exception as error:
        print(model_type, "has no defaults:", first_line(error))
        return None
    truth = truth_of(config)
    if truth is None:
        return None
    row["config"] = relevant(saved)
    row.update(truth)
    for name, change in {"without_rope_keys": without_rope_keys, "with_other_width": with_other_width}.items():
        changed = change(json.loads(json.dumps(saved)))
        try:
            other = truth_of(CONFIG_MAPPING[model_type].from_dict(changed))
        except Exception as error:
            other = {"error": first_line(error)}
        if other != truth:
            row[name] = other
    return row


def truth_of(config, longer_of=lambda modules: {}):
    """The RoPE of a config's language model by kind of layer, or {"error"}; None without rotary modules.

    `longer_of` adds to it what the language model's rotary modules give for longer texts.
    """
    if config.model_type in SINUSOIDAL:
        return {"rope": {"": SINUSOIDAL[config.model_type](config)}}
    text = text_config_of(config)
    try:
        model = build(config)
    except Exception as error:
        if not rotary_classes(text):
            return None
        try:
            model = rotary_alone(text)
        except Exception:  # the same mistake in the defaults: the first error says more
            return {"error": f"{type(error).__name__}: {first_line(error)}"}
    if model is None:
        return None
    modules = rotary_modules(model)
    if not modules:
        names = sorted({one.__name__ for one in attention_classes(model) if apply_functions(one)})
        return {"elsewhere": names} if names else None
    own = [module for module in modules if module.config_of is text]
    own = own or [module for module in modules if module.config_of.model_type == text.model_type]
    if not own:
        return {"elsewhere": sorted({type(module).__name__ for module in modules})}
    if rope_type_of(text) == "axial":
        return {"axial": {"inv_freq": bits_of(own[0].inv_freq)}}
    functions = [f for one in attention_classes(model, own[0]) for f in apply_functions(one)]
    if getattr(text, "rope_interleave", None) is False:
        functions = functions[::-1]
    rope = {}
    for module in own:
        for kind, inv_freq, scale in frequencies(module):
            rope.setdefault(kind, kind_truth(module, kind, inv_freq, scale, functions, model))
    if not rope:
        return {"elsewhere": [type(own[0]).__name__]}  # a table of cosines and sines
    return {"rope": rope, **longer_of(own)}


def rope_type_of(config):
    return (getattr(config, "rope_parameters", None) or {}).get("rope_type")


def sinusoidal(rotary_dim, head_dim):
    """For models that add no rotary module: the frequencies from the table of their first attention layer."""

    def truth(config):
        module = modeling_modules(type(config))[0]
        width = rotary_dim(config)
        table = module.create_sinusoidal_positions(2, width)
        # The table has sin(inv_freq) at position 1. Its arcsine is within 2e-7 of the frequency.
        inv_freq = torch.asin(table[1, : width // 2].double())
        at = module.create_sinusoidal_positions(POSITION + 1, width)[POSITION].reshape(1, 1, -1)
        sin, cos = at.chunk(2, dim=-1)
        doubled = (torch.cat((cos, cos), -1), torch.cat((sin, sin), -1))
        found = describe(module.apply_rotary_pos_emb, [width], doubled, inv_freq, 1.0)
        return {"inv_freq": bits_of(inv_freq), **(found or {"pairing": None}), "head_dim": head_dim(config)}

    return truth


def roformer(config):
    """RoFormer keeps a table of sines and cosines as an embedding, and its attention class rotates."""
    module = modeling_modules(type(config))[0]
    width = config.hidden_size // config.num_attention_heads
    table = module.RoFormerSinusoidalPositionalEmbedding(POSITION + 1, width).create_weight()
    inv_freq = torch.asin(table[1, : width // 2].double())
    rotate = module.RoFormerSelfAttention.apply_rotary_position_embeddings
    at = table[POSITION].reshape(1, 1, 1, -1)
    found = describe(lambda q, cos, sin: rotate(sin, q, q)[0], [width], (at, at), inv_freq, 1.0)
    return {"inv_freq": bits_of(inv_freq), **(found or {"pairing": None}), "head_dim": width}


SINUSOIDAL = {
    "codegen": sinusoidal(lambda c: c.rotary_dim, lambda c: c.n_embd // c.n_head),
    "gptj": sinusoidal(lambda c: c.rotary_dim, lambda c: c.n_embd // c.n_head),
    "roformer": roformer,
}


def frequencies(module):
    """(kind of layer, inv_freq, attention factor) of a rotary module; the kind is "" if its layers don't differ."""
    names = [name for name, _ in module.named_buffers(recurse=False) if name.endswith("inv_freq")]
    for name in names:
        if "original" in name:
            continue
        prefix = name[: -len("inv_freq")]
        scale = getattr(module, f"{prefix}attention_scaling", 1.0)
        yield prefix.rstrip("_"), getattr(module, name).clone(), float(scale)  # a call may change it in place


def kind_truth(module, kind, inv_freq, scale, functions, model):
    head_dim = head_dim_of(model, module, kind, 2 * len(inv_freq))
    # Ernie's module keeps its frequencies in another order than the pairs that they rotate.
    for order in (inv_freq, inv_freq.sort(descending=True).values):
        rotation = rotation_of(module, kind, order, scale, functions, head_dim)
        if rotation is not None:
            inv_freq = order
            break
    truth = {"inv_freq": bits_of(inv_freq)}
    if scale != 1:
        truth["attention_factor"] = scale
    scaling = None if module.config_of.model_type in SCALED_BEFORE else attribute_of(model, module, kind, ["scaling"])
    return {**truth, **(rotation or {"pairing": None}), "head_dim": head_dim, "softmax_scale": scaling and round(scaling, 9)}


def rotation_of(module, kind, inv_freq, scale, functions, head_dim):
    widths = dict.fromkeys(width for width in (head_dim, 2 * len(inv_freq)) if width)
    for tables in tables_of(module, kind, inv_freq, scale):
        for function in functions:
            if (found := describe(function, widths, tables, inv_freq, scale)) is not None:
                return found
    return None


def tables_of(module, kind, inv_freq, scale):
    """What the module returns at POSITION, for one position axis or three: cos and sin, or cos + i sin."""
    x = torch.zeros(1, 1, 2 * len(inv_freq))
    called = False
    for shape in ((1, 1), (3, 1, 1)):
        try:
            out = module(x, torch.full(shape, POSITION), **({"layer_type": kind} if kind else {}))
        except Exception:  # it takes another shape
            continue
        called = True
        yield (out,) if torch.is_tensor(out) else tuple(out)
    if called:
        return
    # Some defaults have sections for another width, so that their module can't be called. A function that rotates
    # adjacent pairs gives no rotation with tables for halves, and the other way around.
    angles = (POSITION * inv_freq).reshape(1, 1, -1)
    for both in (torch.cat((angles, angles), -1), angles.repeat_interleave(2, -1)):
        yield scale * both.cos(), scale * both.sin()


def head_dim_of(model, rotary, kind, rotated):
    """The width of the heads that the attention layers of this kind give to the rotation."""
    return attribute_of(model, rotary, kind, ["qk_rope_head_dim", "head_dim", "attention_head_size", "head_size"], rotated)


def attribute_of(model, rotary, kind, names, least=0):
    """The first of these numbers that an attention layer of this kind has."""
    layers = [one for one in model.modules() if re.search("Attention|MLA", type(one).__name__)]
    own = [one for one in layers if getattr(one, "config", None) is rotary.config_of] or layers
    kinds = {getattr(one, "layer_type", None) for one in own}
    for one in own:
        if kind in kinds and getattr(one, "layer_type", kind) != kind:
            continue
        for name in names:
            if isinstance(number := getattr(one, name, None), (int, float)) and number >= least:
                return number
    return None


def bits_of(inv_freq):
    """A table of frequencies as little-endian float32 in base64. Rows share tables: the file has each once, by a name."""
    return base64.b64encode(inv_freq.detach().float().numpy().astype("<f4").tobytes()).decode()


def replace_tables(value, name_of):
    """A row with each table replaced by its name, or each name by its table."""
    if not isinstance(value, dict):
        return value
    return {
        key: name_of(item) if key == "inv_freq" and isinstance(item, str) else replace_tables(item, name_of)
        for key, item in value.items()
    }


def relevant(config):
    return {
        key: relevant(value) if isinstance(value, dict) and key.endswith("config") else value
        for key, value in config.items()
        if not any(part in key for part in IRRELEVANT)
    }


def text_part(config):
    for name in ("text_config", "thinker_config", "vlm_config", "decoder_config", "decoder"):
        if isinstance(config.get(name), dict):
            return text_part(config[name])
    return config


def without_rope_keys(config):
    config.pop("time_step_limit", None)  # written as a string that the class doesn't read
    part = text_part(config)
    for key in ROPE_KEYS:
        part.pop(key, None)
    return config


def with_other_width(config):
    """Twice the hidden size and no head_dim, which shows whether the class has a width of its own or derives it."""
    part = text_part(without_rope_keys(config))
    part.pop("head_dim", None)
    if isinstance(part.get("hidden_size"), int):
        part["hidden_size"] *= 2
    return config


def first_line(error):
    return " ".join(str(error).split())[:160]


if __name__ == "__main__":
    main()
