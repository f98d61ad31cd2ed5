"""Builds the models of transformers' config classes without weights, and finds their rotary and attention modules."""

import functools
import importlib
import inspect
import re
import sys
from pathlib import Path

import torch
import transformers
import transformers.models
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

ROTARY = re.compile(r"Rotary|RoPE|Rope")
NOT_ROTARY = re.compile(r"Attention|RelPositional|TimeEmbedding")


def build(config):
    """The model of a config on the meta device, its rotary modules on the CPU; None if the class has no model."""
    classes = [
        one
        for module in modeling_modules(type(config))
        for one in vars(module).values()
        if inspect.isclass(one)
        and issubclass(one, PreTrainedModel)
        and one.__module__ == module.__name__
        and getattr(one, "config_class", None) is type(config)
        and not one.__name__.endswith("PreTrainedModel")
    ]
    if not classes:
        return None
    plain = [one for one in classes if "For" not in one.__name__]
    keep_rotary_modules_real()
    post_init, PreTrainedModel.post_init = PreTrainedModel.post_init, lambda self: None
    try:
        with torch.device("meta"):
            return (plain or classes)[0](config)
    finally:
        PreTrainedModel.post_init = post_init


def modeling_modules(config_class):
    """The modeling files next to a config class."""
    package = config_class.__module__.rsplit(".", 1)[0]
    folder = Path(importlib.import_module(config_class.__module__).__file__).parent
    return [importlib.import_module(f"{package}.{path.stem}") for path in sorted(folder.glob("modeling_*.py"))]


@functools.cache
def keep_rotary_modules_real():
    """Makes rotary modules compute on the CPU inside a model on the meta device, and remember their config."""
    for path in sorted(Path(transformers.models.__file__).parent.glob("*/modeling_*.py")):
        if ROTARY.search(path.read_text()):
            importlib.import_module(f"transformers.models.{path.parent.name}.{path.stem}")
    for name, module in list(sys.modules.items()):
        if not (name.startswith("transformers.models.") and ".modeling_" in name):
            continue
        for one in list(vars(module).values()):
            if is_rotary(one) and one.__module__ == name and "is_real" not in vars(one):
                one.__init__ = on_cpu(one.__init__)
                one.is_real = True


def is_rotary(one):
    named = inspect.isclass(one) and ROTARY.search(one.__name__) and not NOT_ROTARY.search(one.__name__)
    return bool(named) and issubclass(one, nn.Module)


def on_cpu(init):
    @functools.wraps(init)
    def new_init(self, *arguments, **options):
        with torch.device("cpu"):
            init(self, *arguments, **options)
        given = [*arguments, *options.values(), getattr(self, "config", None)]
        object.__setattr__(self, "config_of", next((one for one in given if hasattr(one, "model_type")), None))

    return new_init


def rotary_modules(model):
    return [module for module in model.modules() if is_rotary(type(module))]


def rotary_classes(config):
    """The rotary classes next to a config class; none if its modeling file can't be imported."""
    try:
        modules = modeling_modules(type(config))
    except ImportError:
        return []
    return [
        one
        for module in modules
        for one in vars(module).values()
        if is_rotary(one) and one.__module__ == module.__name__
    ]


def rotary_alone(config):
    """A rotary module without its model, for class defaults of which no model can be built."""
    keep_rotary_modules_real()
    classes = rotary_classes(config)
    named = [one for one in classes if annotation_of(one) in (type(config), type(config).__name__)]
    return nn.ModuleList([(named or classes)[0](config)])


def annotation_of(rotary_class):
    parameter = inspect.signature(rotary_class).parameters.get("config")
    return parameter and parameter.annotation


def attention_classes(model, rotary=None):
    """The attention classes of a model, or of the part of it that a rotary module belongs to."""
    named = [one for one in model.modules() if "Attention" in type(one).__name__ or "MLA" in type(one).__name__]
    found = {type(one): None for one in named if rotary is None or getattr(one, "config", None) is rotary.config_of}
    if rotary is None or found:
        return list(found)
    file = vars(inspect.getmodule(type(rotary))).values()
    return [one for one in file if inspect.isclass(one) and ("Attention" in one.__name__ or "MLA" in one.__name__)]


def text_config_of(config):
    """The config of the language model, by transformers' own rule where it has one."""
    for name in ("thinker_config", "vlm_config", "decoder"):
        if isinstance(getattr(config, name, None), PreTrainedConfig):
            return text_config_of(getattr(config, name))
    try:
        return config.get_text_config(decoder=True)
    except ValueError:
        return config
