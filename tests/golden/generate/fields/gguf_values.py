"""Other values for the keys of GGUF files, drawn at random."""

import re

from gguf.constants import Keys

# Keys of llama.cpp that the package `gguf` has no name for.
MORE_KEYS = ["activation.situ_beta", "attention.recurrent_layers", "attention.rope_pattern", "attention.value_scale",
             "classifier.pooling_type", "deepstack_mapping", "expert_latent_length", "hidden_activation",
             "num_loops", "rope.scale_linear", "skip_loop_final_norm"]
FLOATS = re.compile(r"epsilon$|_scale$|\.scale$|freq_base|factor$|alpha$|softcapping$|multiplier$|_beta|max_alibi|clamp_kqv|scale_linear")
FLOAT_LISTS = re.compile(r"swiglu_clamp|activation_sparsity")
BOOLS = re.compile(r"causal$|finetuned$|weights_norm$|use_parallel|swin_norm|dt_b_c_rms|skip_loop")
BOOL_LISTS = re.compile(r"sliding_window_pattern$|recurrent_layers$|rope_pattern$")
STRINGS = {"rope.scaling.type": ["none", "linear", "yarn", "longrope"], "tensor_data_layout": ["Meta AI original pth"],
           "hidden_activation": ["gelu", "silu", "relu"]}
# Factors by which a context grows.
AT_LEAST_ONE = ["rope.scaling.factor", "rope.scale_linear", "rope.scaling.alpha"]
# ggml's kernel for processors with AVX-512 reads 64 floats at a time, those of other heads too.
NOT_COMPARED = ["wkv.head_size"]
# Numbers of each layer are written as a list in some files.
BY_LAYER = re.compile(r"head_count(_kv)?$|feed_forward_length$")
# Fields of one mechanism, which matter together.
GROUPS = [
    re.compile(r"rope\."),
    re.compile(r"expert|dense_block|interleave"),
    re.compile(r"sliding|swa|shared_kv|pattern|recurrent|interval"),
    re.compile(r"scale|softcap|epsilon|clamp|temperature"),
    re.compile(r"ssm|shortconv|lora|wkv|token_shift"),
]


def all_keys():
    """Every key of an architecture, without the prefix."""
    known = {value for group in vars(Keys).values() if isinstance(group, type) for value in vars(group).values()
             if isinstance(value, str) and value.startswith("{arch}.") and "{dense}" not in value}
    return sorted({key.removeprefix("{arch}.") for key in known} | set(MORE_KEYS))


def draw(random, key, present):
    """A type and a value for a key whose type and value are `present`, or that is absent (None). Lists have one value for
    each layer, or a few that repeat."""
    kind, value = present or default_of(random, key)
    if key in STRINGS:
        return "string", random.choice([text for text in STRINGS[key] if text != value])
    if present is None:
        return kind, value
    if isinstance(kind, list):
        return kind, changed_list(random, kind[0], list(value))
    if BY_LAYER.search(key) and random.random() < 0.3:
        return [kind], [value]
    if kind == "bool":
        return kind, not value
    if key.startswith("rope.freq_base"):
        return kind, random.choice([50.0, 300.0, 7000.0])
    if key in AT_LEAST_ONE:
        return kind, random.choice([1.25, 1.5, 3.0])
    if kind in ("f32", "f64"):
        return kind, float(f"{(value or 1) * random.choice([0.3, 0.5, 0.75, 1.5, 2, 3]):.4g}")
    near = [value - 1, value + 1] if value < 12 else []
    return kind, random.choice([number for number in [value // 2, value * 2, *near] if number != value and number >= 0])


def default_of(random, key):
    if key in STRINGS:
        return "string", None
    if key.startswith("rope.freq_base"):
        return "f32", random.choice([50.0, 300.0, 7000.0])
    if key in AT_LEAST_ONE:
        return "f32", random.choice([1.25, 1.5, 3.0])
    if FLOAT_LISTS.search(key):
        return ["f32"], [random.choice([0.5, 1.25])]
    if BOOL_LISTS.search(key):
        return ["bool"], random.choice([[True], [True, False], [False, True, True]])
    if BOOLS.search(key):
        return "bool", random.random() < 0.5
    if FLOATS.search(key):
        return "f32", random.choice([0.25, 0.5, 1.5, 3.0])
    if key == "rope.dimension_sections":
        return ["u32"], [2, 1, 1, 0]
    return "u32", random.choice([1, 2, 4, 8, 16])


def changed_list(random, kind, values):
    at = random.randrange(len(values)) if values else 0
    if not values:
        return values
    value = values[at]
    values[at] = not value if kind == "bool" else value * 2 if value else 1
    return values
