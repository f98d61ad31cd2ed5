"""transformers' results for a tiny model whose config.json is changed."""

import json
import math
import re
import tempfile
import zlib
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from transformers import CONFIG_MAPPING

from encoders.tiny_encoders import pairs
from fields.values import ENCODER_TOKENS
from tiny_models import EXPERT_MARGIN, HERE, expert_margins

# Models of more numbers than this aren't built: a default of a class is the size of a released model.
MAX_NUMBERS = 300_000
# Tokens whose losses are compared: their logits are those at the positions before.
POSITIONS = [1, 8, 15, 22, 29, 36, 42, 47]
DIMENSIONS = 8
SAME = 1e-6


class TinyModel:
    """A tiny model in transformers' format, which can be opened with another config.json."""

    def __init__(self, name):
        self.folder = HERE / name
        self.json = json.loads((self.folder / "config.json").read_text())
        self.tokens = tokens_of(self.folder)
        self.weights = {**load_file(self.folder / "model.safetensors")}
        self.auto = auto_class(self.json)
        self.base = self.open(self.json)

    @property
    def text_key(self):
        return "text_config" if "text_config" in self.json else None

    @property
    def text_class(self):
        config = self.json.get("text_config", self.json)
        return CONFIG_MAPPING[config["model_type"]]

    def open(self, config):
        """The result for a config.json: a list of numbers, and the tensors that the file must have for it if they differ."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            (folder / "config.json").write_text(json.dumps(config))
            (folder / "model.safetensors").symlink_to(self.folder / "model.safetensors")
            parsed = CONFIG_MAPPING[config["model_type"]].from_pretrained(folder)
            with torch.device("meta"):
                size = sum(parameter.numel() for parameter in self.auto.from_config(eager(parsed)).parameters())
            if size > MAX_NUMBERS:
                return "large", None
            model, report = self.load(folder, parsed)
            tensors = None
            if getattr(self, "report", None) is None:
                self.report = report
            elif report != self.report:
                tensors = self.other_file(folder, parsed)
                model, report = self.load(folder, parsed)
                if report["mismatched"]:
                    raise ValueError(f"the file of a changed model doesn't fit: {report}")
            return (self.scores(model) if self.is_ranker else digest(model, self.tokens)), tensors

    @property
    def is_ranker(self):
        return "ranker" in self.folder.name

    def scores(self, model):
        return pairs(self.folder.name, model)["logits"]

    def load(self, folder, config):
        model, report = self.auto.from_pretrained(
            folder, config=eager(config), dtype=torch.float32, attn_implementation="eager",
            output_loading_info=True, ignore_mismatched_sizes=True,
        )
        eager(model.config)
        self.restore(model, folder)
        keys = {kind: sorted(map(str, report[f"{kind}_keys"])) for kind in ("missing", "unexpected", "mismatched")}
        return model.eval().double(), keys

    def restore(self, model, folder):
        """Some classes change weights that they have loaded, as if they were new: the row of padding, residual projections."""
        weights = load_file(folder / "model.safetensors")
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name in weights and tuple(weights[name].shape) == tuple(parameter.shape):
                    parameter.copy_(torch.from_numpy(weights[name]))

    def other_file(self, folder, config):
        """Writes the file of a model with other tensors: those of the tiny model, and new ones."""
        made = folder / "made"
        self.auto.from_config(eager(config), dtype=torch.float32).save_pretrained(made)
        with safe_open(made / "model.safetensors", "np") as file:
            shapes = {name: list(file.get_slice(name).get_shape()) for name in file.keys()}
        new = {name: shape for name, shape in shapes.items()
               if name not in self.weights or list(self.weights[name].shape) != shape}
        weights = {name: filled(name, shapes[name]) if name in new else self.weights[name] for name in shapes}
        (folder / "model.safetensors").unlink()
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        return {"new": patterns(new), "without": sorted(name for name in self.weights if name not in shapes)}


def patterns(shapes):
    """Names with `#` for each number: [shape, the values of each `#`, in all combinations]. Others are written whole."""
    groups = {}
    for name, shape in shapes.items():
        groups.setdefault((re.sub(r"(?<=\.)\d+(?=\.)", "#", name), tuple(shape)), []).append(name)
    found = {}
    for (pattern, shape), names in groups.items():
        numbers = [[int(number) for number in re.findall(r"(?<=\.)\d+(?=\.)", name)] for name in names]
        ranges = [sorted(set(column)) for column in zip(*numbers)]
        if pattern not in found and math.prod(map(len, ranges)) == len(names):
            found[pattern] = [list(shape), *ranges]
        else:
            found.update({name: [list(shape)] for name in names})
    return found


def auto_class(config):
    architecture = (config.get("architectures") or [""])[0]
    if config["model_type"] == "mistral4":  # only part of a larger model, so that no Auto class has it
        return Mistral4
    if "vision_config" in config:
        return transformers.AutoModelForImageTextToText
    if architecture.endswith("SequenceClassification"):
        return transformers.AutoModelForSequenceClassification
    return transformers.AutoModelForCausalLM if architecture.endswith(("LM", "LMHeadModel", "Generation")) else transformers.AutoModel


class Mistral4(transformers.Mistral4ForCausalLM):
    @classmethod
    def from_config(cls, config, **options):
        return cls._from_config(config, **options)


def eager(config):
    config._attn_implementation = config._experts_implementation = "eager"
    return config


def tokens_of(folder):
    if (folder / "expected.json").exists():
        return json.loads((folder / "expected.json").read_text())["prompt"]
    return ENCODER_TOKENS


def filled(name, shape):
    """Numbers in [-0.5, 0.5) that JavaScript makes in the same way: a multiplicative hash of the index and the name."""
    count = math.prod(shape)
    hashed = (np.arange(count, dtype=np.uint64) + np.uint64(zlib.crc32(name.encode()))) * np.uint64(2654435761)
    mixed = (hashed & np.uint64(0xFFFFFFFF)) >> np.uint64(8)
    return (mixed.astype(np.float32) / np.float32(2**24) - np.float32(0.5)).reshape(shape)


def digest(model, tokens):
    """The losses of a few tokens, or the first numbers of the mean vector of a model without a head."""
    with torch.no_grad(), expert_margins(model) as margins:
        output = model(torch.tensor([tokens]))
    if min(margins, default=1) < EXPERT_MARGIN:
        raise Unstable
    if "logits" not in output:
        return output.last_hidden_state[0].mean(0)[:DIMENSIONS].tolist()
    losses = torch.nn.functional.cross_entropy(output.logits[0, :-1], torch.tensor(tokens[1:]), reduction="none")
    numbers = [losses[position - 1].item() for position in POSITIONS]
    if not all(map(math.isfinite, numbers)):
        raise Unstable
    return numbers


class Unstable(Exception):
    """Numbers that float32 doesn't give: experts too close to call, or numbers that aren't finite."""


def is_same(numbers, others):
    return len(numbers) == len(others) and max(abs(a - b) for a, b in zip(numbers, others)) < SAME
