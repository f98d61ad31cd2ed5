"""Other values for the fields of a config class of transformers, drawn at random."""

import dataclasses
import inspect
import re
import typing

ABSENT = object()  # the key is left out of config.json, so that the default of the class holds

# What encoders read.
ENCODER_TOKENS = [5 + 7 * index % 50 for index in range(40)]

# Fields of every class, or of training and generation, that can't change what a model computes for a text.
NOT_DRAWN = {
    "architectures": "names the class, which the file's tensors must fit",
    "transformers_version": "not read",
    "dtype": "the reference computes in float64 with the weights of the file",
    "id2label": "names of labels; their number would change the head of a ranker",
    "label2id": "names of labels",
    "problem_type": "chooses a loss",
    "return_dict": "the form of Python's result",
    "output_hidden_states": "what Python returns beside the logits",
    "output_router_logits": "what Python returns beside the logits",
    "is_encoder_decoder": "no class here has an encoder beside a decoder",
    "vision_config": "not part of the text model",
    "audio_config": "not part of the text model",
    "mamba_ssm_cache_dtype": "an option of vLLM; the reference has one type",
    "rescale_prenorm_residual": "scales new weights",
    "use_mamba_kernels": "chooses between two forms of the same numbers",
}
# Fields of training, generation and kernels. They are changed all at once, and one by one if that changes the result.
INERT = re.compile(
    r"token_id$|dropout|drop$|initializer|use_cache$|pretraining_tp|loss|router_aux|jitter|rescale_prenorm|residual_in_fp32"
    r"|chunk_size|time_step_(min|max|floor|scale|init)|logits_to_keep|use_mambapy|associative_scan|ignore_index"
    r"|sparse_prediction|deterministic|fp32_combine|embedding_size"
)
ACTIVATION_FIELDS = re.compile(r"act$|activation$|activation_function$")
ACTIVATIONS = ["silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "relu", "relu2", "tanh", "quick_gelu",
               "sigmoid", "mish"]
STRINGS = {
    "topk_method": ["greedy", "group_limited_greedy", "noaux_tc"],
    "scoring_func": ["softmax", "sigmoid"],
    "mamba_dt_rank": ["auto"],
    "time_step_rank": ["auto"],
    "mamba_d_head": ["auto"],
    "classifier_pooling": ["cls", "mean"],
    "position_embedding_type": ["absolute", "relative_key", "rotary"],
    "sliding_window_pattern": ["LLG", "LG", "L", "LLLG"],
    "time_step_init_scheme": ["uniform"],
    "use_bidirectional_attention": ["all", "vision"],
}
LAYER_KINDS = {
    "layers_block_type": ["mamba", "attention", "mlp", "moe", "hybrid"],
    "mlp_layer_types": ["dense", "sparse"],
}
# A theta and the keys of each scaling. Fractional ends and odd numbers, so that no two readings agree by chance.
SCALINGS = {
    "default": {},
    "linear": {"factor": 2.5},
    "dynamic": {"factor": 2.5},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 32},
    "llama3": {"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64},
    "proportional": {"partial_rotary_factor": 0.5},
}
# Fields that matter only together, as parts of one mechanism.
GROUPS = [
    re.compile(r"sliding_window|max_window_layers|layer_types$|local_attention|attention_chunk_size|no_rope"),
    re.compile(r"layer_types|block_type|period|offset|interval|full_attn_idxs|attn_layer_indices|num_hidden_layers"),
    re.compile(r"expert|moe|topk|top_k|n_group$|router|scoring|routed|dense_replace|mlp_only|sparse_step|dense_layers"),
    re.compile(r"attn_temp|floor_scale|attn_scale|no_rope|chunk|qk_norm"),
    re.compile(r"multiplier|scal|softcapping|eps|clip|limit|norm"),
    re.compile(r"^(state|ssm|mamba|conv|linear|expand|n_groups|num_heads|head_dim|chunk|time_step|use_conv|use_bias)"),
    re.compile(r"bias|qk_layernorm|parallel|tie"),
    re.compile(r"kv_shared|k_eq_v|wide|per_layer|global|laurel|altup|sparsity"),
]


def fields_of(config_class):
    """The fields of a config class that are drawn, with their annotations."""
    return {field.name: field.type for field in dataclasses.fields(config_class) if field.name not in NOT_DRAWN}


def builder_keys(config_class):
    """The keys that a class reads from a config.json without having such a field, with annotations as their defaults have them."""
    if "__post_init__" not in vars(config_class):
        return {}
    source = inspect.getsource(config_class.__post_init__)
    found = {}
    for name, default in re.findall(r'kwargs\.(?:pop|get)\("(\w+)"(?:, ([\w.]+))?\)', source):
        if name not in NOT_DRAWN and name not in {field.name for field in dataclasses.fields(config_class)}:
            found[name] = bool if default in ("True", "False") or name.startswith("tie_") or name.endswith("_bias") else int
    return found


def draw(random, name, annotation, present, config):
    """A value for a field that isn't `present`, ABSENT, or NotImplemented for a field that nothing here can change."""
    options = [option for option in other_values(random, name, annotation, present, config) if not equal(option, present)]
    return random.choice(options) if options else NotImplemented


def equal(a, b):
    return a is b or (a is not ABSENT and b is not ABSENT and type(a) is type(b) and a == b)


def other_values(random, name, annotation, present, config):
    kinds = kinds_of(annotation)
    sample = default_of_kind(kinds) if present is ABSENT or present is None else present
    if type(None) in kinds and present is not ABSENT and present is not None and random.random() < 0.2:
        return [None]
    if name == "pad_token_id":  # one in a text takes no position of its own in RoBERTa, which docs/embeddings.md says
        return [random.choice([id for id in range(3, 51) if id not in ENCODER_TOKENS])]
    if name.endswith("token_id") or name == "is_decoder":
        return [random.randint(3, 50)] if name != "is_decoder" else [not present]
    if name == "rope_parameters":
        return [rope(random, present)]
    if name in STRINGS:
        return STRINGS[name] + ([sample, 4] if int in kinds else [])
    if ACTIVATION_FIELDS.search(name):
        return ACTIVATIONS
    if name in LAYER_KINDS or name.endswith(("layer_types", "block_type")):
        return [layer_kinds(random, name, present, config) for _ in range(3)]
    literals = [value for kind in kinds if typing.get_origin(kind) is typing.Literal for value in typing.get_args(kind)]
    if literals:
        return literals
    if isinstance(sample, bool):
        return [True, False]
    if isinstance(sample, float):
        return [number(random, sample)]
    if isinstance(sample, int):
        return integers(random, name, sample)
    if isinstance(sample, list):
        return [listed(random, name, sample, config) for _ in range(3)]
    return []


def kinds_of(annotation):
    return typing.get_args(annotation) if typing.get_args(annotation) and typing.get_origin(annotation) not in (
        list, dict, tuple, typing.Literal) else (annotation,)


def default_of_kind(kinds):
    for kind, value in ((bool, False), (float, 0.0), (int, 0), (str, "")):
        if kind in kinds:
            return value
    return [] if any(typing.get_origin(kind) is list for kind in kinds) else None


def number(random, present):
    if present == 0:
        return round(random.uniform(0.2, 3), 2)
    return float(f"{present * random.choice([0.3, 0.5, 0.75, 1.5, 2, 3]):.4g}")


def integers(random, name, present):
    if present == 0:
        return [1, 2, 3, 8, 12]
    near = [present - 1, present + 1] if present < 12 else []
    return [value for value in [present // 2, present * 2, *near, *([0] if random.random() < 0.15 else [])] if value >= 0]


def layers_in(config):
    return next((config[key] for key in ("num_hidden_layers", "n_layer") if isinstance(config.get(key), int)), 2)


def layer_kinds(random, name, present, config):
    known = list(LAYER_KINDS.get(name, []))
    if isinstance(present, list):
        known = sorted({*present, *([] if known else ["full_attention", "sliding_attention"])})
    known = known or ["full_attention", "sliding_attention"]
    count = layers_in(config)
    return [random.choice(known)] * count if random.random() < 0.3 else [random.choice(known) for _ in range(count)]


def listed(random, name, present, config):
    """A list of layers, of switches for each layer, or of numbers."""
    count = layers_in(config)
    if present and all(isinstance(value, float) for value in present):
        changed = list(present)
        at = random.randrange(len(changed))
        changed[at] = number(random, changed[at])
        return changed
    if len(present) == count and all(value in (0, 1) for value in present):
        return [random.randint(0, 1) for _ in range(count)]
    if name == "time_step_limit":
        return [0.02, 0.4]
    return sorted(random.sample(range(count), random.randint(0, count)))


def rope(random, present):
    """Another set of parameters: one of another type, of another theta, without one of its keys, or none."""
    if not isinstance(present, dict):
        return {"rope_type": "default", "rope_theta": 300.0}
    if any(isinstance(value, dict) for value in present.values()):
        kind = random.choice(sorted(kind for kind in present if isinstance(present[kind], dict)))
        return {**present, kind: rope(random, present[kind])}
    way = random.random()
    if way < 0.25:
        return {**present, "rope_theta": random.choice([50.0, 300.0, 7000.0])}
    if way < 0.4:
        return {key: value for key, value in present.items() if key != random.choice(sorted(present))}
    if way < 0.6:
        return {**present, "partial_rotary_factor": random.choice([0.25, 0.5, 0.75, 1.0])}
    kind = random.choice(sorted(SCALINGS))
    theta = {"rope_theta": random.choice([200.0, present.get("rope_theta", 10000.0)])} if random.random() < 0.9 else {}
    part = present.get("partial_rotary_factor")
    parts = {} if part is None or "partial_rotary_factor" in SCALINGS[kind] else {"partial_rotary_factor": part}
    return {"rope_type": kind, **theta, **parts, **SCALINGS[kind]}
