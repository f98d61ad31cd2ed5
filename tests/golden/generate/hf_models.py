"""Builds a model family's configuration and rotary module with transformers, as `from_pretrained` does."""

import copy
import importlib

import torch
import transformers
from transformers import AutoConfig

SOURCE = f"transformers {transformers.__version__}"

# Released models whose code isn't in transformers, and the family there that has the same RoPE.
SAME_ROPE_AS = {"kimi_k2": "deepseek_v3", "internlm2": "llama", "minicpm": "llama", "phi3_v": "phi3"}


def load_config(hf_config):
    """The text configuration that transformers makes of a config.json, with its defaults and legacy keys applied."""
    fields = copy.deepcopy(hf_config)  # transformers changes the RoPE dictionaries passed in
    model_type = fields.pop("model_type")
    config = AutoConfig.for_model(SAME_ROPE_AS.get(model_type, model_type), **fields)
    return config.get_text_config()


def modeling_module(config):
    """The modeling file of the family of this configuration class."""
    package = type(config).__module__.rsplit(".", 1)[0]
    return importlib.import_module(f"{package}.modeling_{package.rsplit('.', 1)[1]}")


def rotary_class(module):
    """The text model's RotaryEmbedding class. Vision towers have their own."""
    names = [
        name
        for name, value in vars(module).items()
        if name.endswith("RotaryEmbedding") and value.__module__ == module.__name__
    ]
    text_names = [name for name in names if "Vision" not in name and "Audio" not in name]
    assert len(text_names) == 1, f"{module.__name__}: {names}"
    return getattr(module, text_names[0])


def rotary_module(config):
    return rotary_class(modeling_module(config))(config)


def head_dim_of(config, layer_type=None):
    if layer_type is not None and config.is_heterogeneous:
        config = config.per_layer_config[layer_type]
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def per_layer(rotary, field, layer_type):
    """A field of a rotary module. Modules with several layer types store it as `<layer_type>_<field>`."""
    return getattr(rotary, field if layer_type is None else f"{layer_type}_{field}")


def cos_sin(rotary, position_ids, layer_type=None):
    """cos and sin as the module returns them for float32 activations, multiplied by its attention factor."""
    x = torch.zeros(1, dtype=torch.float32)
    arguments = {} if layer_type is None else {"layer_type": layer_type}
    out = rotary(x, position_ids, **arguments)
    if torch.is_tensor(out):  # Llama-4 and DeepSeek-V2 return cos + i sin
        return out.real, out.imag
    return out
