"""Writes tiny random models and transformers' results for them, tiny_models/<name>/. See tiny_models/README.md.

    python tiny_models.py               write every model
    python tiny_models.py llama qwen2   write only these
    python tiny_models.py --check       generate them again and compare with the committed files
"""

import argparse
import filecmp
import json
import tempfile
import zlib
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

from make_golden import require_listed_versions
from tiny_models_configs import CONFIGS as BASE_CONFIGS, VOCABULARY
from shapes import hybrids
from shapes.mixtures import CONFIGS as MIXTURES
from shapes.near_llama import CONFIGS as NEAR_LLAMA
from shapes.renamed import rename
from shapes.variants import CONFIGS as VARIANTS
from shapes.wider import CONFIGS as WIDER
from tiny_models_vocabulary import FIRST_TEXT_TOKEN, write_tokenizer

HERE = Path(__file__).parents[1] / "tiny_models"
PROMPT, STEPS, LAST = 48, 32, 4
CONFIGS = {**BASE_CONFIGS, **VARIANTS, **WIDER, **MIXTURES, **NEAR_LLAMA, **hybrids.CONFIGS}

# The rotary modules, the RMS norms and the softmax round to float32 inside a float64 model. So does the gated delta rule,
# which has one form for prompts and another for steps.
CACHED_TOLERANCE = 5e-5
# Minimum difference in probability between the last chosen expert and the next, so that float32 chooses the same.
EXPERT_MARGIN = 1e-4


# Their norms multiply by 1 + weight.
LESS_ONE = ("gemma", "gemma2", "gemma3_text", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")
# Learned, but no parameters in transformers.
RANDOM_BUFFERS = ("e_score_correction_bias", "layer_scalar", "expert_bias")


def main():
    make_folders(__doc__, CONFIGS, write_model)


def make_folders(usage, names, write):
    """The command line: calls `write(name, folder)` for each name, in tiny_models or, with --check, a scratch folder."""
    arguments = argparse.ArgumentParser(description=usage.splitlines()[0])
    arguments.add_argument("names", nargs="*", help="the models; default: all")
    arguments.add_argument("--check", action="store_true", help="only compare with the committed files")
    options = arguments.parse_args()

    require_listed_versions()
    transformers.logging.set_verbosity_error()  # made-up configurations cause irrelevant warnings
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)

    with tempfile.TemporaryDirectory() as scratch:
        for name in options.names or names:
            folder = (Path(scratch) if options.check else HERE) / name
            folder.mkdir(exist_ok=True)
            write(name, folder)
            files = list(folder.iterdir())
            differing = [file.name for file in files if differs(file, HERE / name / file.name)]
            verdict = f", differs: {', '.join(differing) or 'nothing'}" if options.check else ""
            print(f"{name}: {sum(file.stat().st_size for file in files)} bytes{verdict}")


def differs(made, committed):
    return not committed.exists() or not filecmp.cmp(made, committed, shallow=False)


def write_model(name, folder):
    model = random_model(name, CONFIGS[name])
    model.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
    rename(name, folder)
    write_tokenizer(folder)
    write_expected(folder / "expected.json", expectations(name, model.double()))


def random_model(name, config):
    """A float32 model of `config`. Each parameter comes from a generator seeded by its name."""
    config = AutoConfig.for_model(**config)
    config._attn_implementation = config._experts_implementation = "eager"
    auto = AutoModelForImageTextToText if hasattr(config, "vision_config") else AutoModelForCausalLM
    if config.model_type == "mistral4":  # only part of a larger model, so that no Auto class has it
        config.architectures = ["Mistral4ForCausalLM"]
        model = transformers.Mistral4ForCausalLM._from_config(config, dtype=torch.float32).eval()
    else:
        model = auto.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        buffers = [(name, buffer) for name, buffer in model.named_buffers() if name.endswith(RANDOM_BUFFERS)]
        for parameter_name, parameter in [*model.named_parameters(), *buffers]:
            random = generator(f"{name}/{parameter_name}").standard_normal(parameter.shape)
            center, spread = distribution(parameter_name, parameter, config.model_type)
            parameter.copy_(torch.from_numpy(center + spread * random))
    return model


def distribution(name, parameter, model_type):
    """Mean and standard deviation: norms near one, biases near zero, but far enough that a missing one is detected."""
    if (own := hybrids.distribution(name)) is not None:
        return own
    if name.endswith("bias"):
        return 0.0, 0.2
    if parameter.ndim == 1:
        return (0.0 if model_type in LESS_ONE else 1.0), 0.3
    if name.endswith("norm.weight"):
        return 1.0, 0.3  # a weight for each head
    if any(part in name for part in ("embed", "wte", "lm_head")):
        return 0.0, 2 / parameter.shape[-1] ** 0.5  # so that some tokens are clearly more likely than others
    if "q_proj" in name or "k_proj" in name:
        return 0.0, 1.5 / parameter.shape[-1] ** 0.5  # so that attention prefers some keys
    return 0.0, 1 / parameter.shape[-1] ** 0.5


def generator(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def random_tokens(name):
    tokens = generator(f"{name}/ids").integers(FIRST_TEXT_TOKEN, VOCABULARY, PROMPT + STEPS).tolist()
    return tokens[:PROMPT], tokens[PROMPT:]


def expectations(name, model):
    """The results of `model` for the prompt and each step, with a full forward pass at each length.

    A cache gives the same results as long as the RoPE plan doesn't change with the length. This is checked.
    """
    prompt, steps = random_tokens(name)
    with torch.no_grad(), expert_margins(model) as margins:
        output = model(torch.tensor([prompt]), output_hidden_states=True)
        last_hidden = output.hidden_states[-1][0, -1]
        if last_hidden.ndim != 1:  # Gemma 3n: the streams, before they are merged
            last_hidden = model.model(torch.tensor([prompt])).last_hidden_state[0, -1]
        step_logits = logits_after_steps(model, prompt, steps)
        check_cached_steps(name, model, prompt, steps, step_logits)
    assert min(margins, default=1) > EXPERT_MARGIN, f"{name}: experts are too close to call: {min(margins)}"

    losses = torch.nn.functional.cross_entropy(output.logits[0, :-1], torch.tensor(prompt[1:]), reduction="none")
    return {
        "prompt": prompt,
        "steps": steps,
        "prompt_losses": losses,
        "prompt_hidden": last_hidden,
        "prompt_logits": output.logits[0, -LAST:],
        "step_logits": step_logits,
    }


def logits_after_steps(model, prompt, steps):
    lengths = range(len(prompt) + 1, len(prompt) + len(steps) + 1)
    return torch.stack([model(torch.tensor([(prompt + steps)[:length]])).logits[0, -1] for length in lengths])


def check_cached_steps(name, model, prompt, steps, expected):
    """Checks the steps one by one with transformers' cache, which keeps keys as they were first rotated."""
    cached = model(torch.tensor([prompt]), use_cache=True)
    boundary = getattr(model.config, "original_max_position_embeddings", None)
    length = len(prompt)
    for step, logits in zip(steps, expected, strict=True):
        length += 1
        # its name since transformers 5.24, and before
        memory = next(name for name in ("cache", "cache_params", "past_key_values") if cached.get(name) is not None)
        # transformers' generate() names the position; Bamba doesn't take it from the cache
        position = {"position_ids": torch.tensor([[length - 1]])} if model.config.model_type == "bamba" else {}
        cached = model(torch.tensor([[step]]), **{memory: cached[memory]}, **position, use_cache=True)
        if boundary is None or length <= boundary:
            difference = (cached.logits[0, -1] - logits).abs().max().item()
            assert difference < CACHED_TOLERANCE, f"{name}: cached step at length {length} is off by {difference}"


class expert_margins:
    """Collects, over all tokens, the difference in probability between the last chosen expert and the next."""

    def __init__(self, model):
        self.model = model

    def __enter__(self):
        self.margins = []
        routers = [module for module in self.model.modules() if hasattr(module, "top_k") and self.is_router(module)]
        self.hooks = [router.register_forward_hook(self.measure) for router in routers]
        return self.margins

    def __exit__(self, *_):
        for hook in self.hooks:
            hook.remove()

    @staticmethod
    def is_router(module):
        return type(module).__name__.endswith(("TopKRouter", "TopkRouter", "TopKGating", "Gate"))

    def measure(self, router, inputs, outputs):
        logits = next(output for output in outputs if isinstance(output, torch.Tensor) and output.shape[-1] > router.top_k)
        probabilities = logits.softmax(-1)
        bias = inputs[1] if len(inputs) > 1 else getattr(router, "e_score_correction_bias", None)
        if bias is not None:
            probabilities = logits.sigmoid() + bias
        if hasattr(router, "moe_statics"):
            probabilities = router.moe_statics(probabilities)  # Ernie 4.5 adds a bias before it chooses
        sorted_probabilities = probabilities.sort(-1, descending=True).values
        margins = sorted_probabilities[:, router.top_k - 1] - sorted_probabilities[:, router.top_k]
        self.margins.append(margins.min().item())


def write_expected(path, fields):
    """Writes one key per line, with seven significant digits, the precision of float32."""
    rounded = {key: json.dumps(seven_digits(value), separators=(",", ":")) for key, value in fields.items()}
    lines = [f"{json.dumps(key)}: {text}" for key, text in rounded.items()]
    path.write_text("{" + ",\n ".join(lines) + "}\n", encoding="utf-8")


def seven_digits(value):
    if isinstance(value, torch.Tensor | np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return [seven_digits(item) for item in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
