"""What caches of few bits cost a model, simulated: also formats that the package doesn't have. Tables of docs/kv_caches.md.

    python tests/bench/caches/simulate.py small             the small model, from 256 to 4,096 tokens
    python tests/bench/caches/simulate.py smollm2           SmolLM2-135M-Instruct, which `npm test -- released` fetches, to tokens 512 and 2,048
    python tests/bench/caches/simulate.py small 256 1024    only to these lengths
    python tests/bench/caches/simulate.py smollm2 NTK       only under `none`, `NTK` or `YaRN`

transformers reads a text in one pass, in f32, with an attention in which each query reads each key and value as a cache would give them to it: in
f16 or rounded, by whether its group is closed when the query's token is the last. So the numbers are those of a text read token by token, and
differ from the package's only by the rounding of products. Keys that are cached raw are rotated after they were rounded.

Needs torch, transformers, accelerate and gguf, Node, and the package built (`npm run build`): texts come from tests/bench/caches/texts.mjs.
"""

import argparse
import copy
import json
import math
import subprocess
from pathlib import Path

import torch
from transformers import AttentionInterface, AutoModelForCausalLM
from transformers.models.llama import modeling_llama

from simulated_formats import CACHES, EXACT, PARTS, Q4_CHANNEL

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
ROWS = 256
"""Queries that are scored in one go."""
STATED = 4096
"""The tokens for which bytes are stated."""

LENGTHS = {"small": [256, 512, 1024, 4096], "smollm2": [512, 2048]}
SCALINGS = ["none", "NTK", "YaRN"]

rotate_both = modeling_llama.apply_rotary_pos_emb


class Reading:
    """What the attention of a pass needs beside queries, keys and values."""

    cache = EXACT
    angles = None


def keep_raw(query, key, cos, sin, **_):
    """In place of transformers' rotation: attend() rotates."""
    Reading.angles = cos, sin
    return query, key


def rotated(x):
    return rotate_both(x, x, *Reading.angles)[0]


def attend(module, query, key, value, attention_mask, scaling, **_):
    """Causal attention of one text, [1, heads, tokens, head_dim]."""
    open_keys, closed_keys = (keys[0] for keys in Reading.cache.forms_of_keys(key, rotated))
    open_values, closed_values = (values[0] for values in Reading.cache.forms_of_values(value))
    heads, tokens, dim = query.shape[1:]
    kv_heads = key.shape[1]
    query = rotated(query)[0].unflatten(0, (kv_heads, -1)) * scaling
    places = torch.arange(tokens)
    out = torch.empty(heads, tokens, dim)
    for start in range(0, tokens, ROWS):
        rows = places[start : start + ROWS]
        closed = Reading.cache.closed(rows + 1)
        first, last = int(closed[0]), int(closed[-1])  # before the first all rows read closed groups, from the last all read open ones
        end = int(rows[-1]) + 1
        queries = query[:, :, start:end].flatten(1, 2)
        allowed = torch.cat([places[:last] < closed[:, None], (places[first:end] >= closed[:, None]) & (places[first:end] <= rows[:, None])], 1)
        keys = torch.cat([closed_keys[:, :last], open_keys[:, first:end]], 1)
        values = torch.cat([closed_values[:, :last], open_values[:, first:end]], 1)
        scores = (queries @ keys.mT).unflatten(1, (-1, len(rows))).masked_fill(~allowed, -math.inf)
        found = scores.softmax(-1).flatten(1, 2) @ values
        out[:, start:end] = found.unflatten(1, (-1, len(rows))).flatten(0, 1)
    return out.transpose(0, 1)[None], None


def logits_of(model, tokens, cache):
    Reading.cache = cache
    return model(torch.tensor([tokens]), use_cache=False).logits[0]


class Record:
    """What is measured of one cache."""

    def __init__(self):
        self.texts, self.same, self.right, self.asked, self.losses = [], [], 0, 0, []

    def add(self, exact, found, tokens, questions, start, end):
        """A part of a text, from the token `start` to `end`."""
        divergences, losses = [], []
        for first in range(start, end, ROWS):
            p, q = (each[first : min(end, first + ROWS)].double().log_softmax(-1) for each in (exact, found))
            divergences.append((p.exp() * (p - q)).sum(-1).clamp(min=0))
            after = torch.tensor(tokens[first + 1 : min(end, first + ROWS) + 1])
            losses.append(-q[: len(after)].gather(1, after[:, None])[:, 0])
        self.texts.append(torch.cat(divergences))
        self.losses.append(torch.cat(losses))
        choices = found[start:end].argmax(-1)
        self.same.append(choices == exact[start:end].argmax(-1))
        for question in questions:
            if start < question["at"] <= end and question["at"] < len(tokens):
                self.asked += 1
                self.right += int(choices[question["at"] - 1 - start] == tokens[question["at"]])

    @property
    def means(self):
        return torch.stack([text.mean() for text in self.texts])


def error_of(values):
    """The standard error of a mean over texts."""
    return (values.var() / len(values)).sqrt() if len(values) > 1 else math.nan


def shown(value):
    return "0" if value == 0 else f"{value:.1e}".replace("e-0", "e-") if value < 1 else f"{value:.1f}"


def line(cells):
    return f"| {' | '.join(map(str, cells))} |"


def head(titles):
    return f"{line(titles)}\n{line(['---'] * len(titles))}"


def table(records):
    """One row for each cache. A ratio's standard error is over texts, which both caches read."""
    total = lambda record: torch.cat(record.texts)
    reference = records[Q4_CHANNEL.name].means
    lines = [head(["cache", "bytes of f16", "mean KL", "/ `q4_channel`", "99.9 %", "largest", "same first choice", "facts found"])]
    for cache in [each for each in [*CACHES, *PARTS] if each.name in records]:
        record = records[cache.name]
        divergences = total(record).sort().values
        means = record.means
        ratio = means.sum() / reference.sum()
        error = error_of(means - ratio * reference) / reference.mean()
        spread = f"± {shown(error_of(means))}"
        high = divergences[int(0.999 * len(divergences))]
        same = 100 * torch.cat(record.same).double().mean()
        cells = [cache.name, f"{cache.share_of_f16(STATED):.3f}", f"{shown(divergences.mean())} {spread}", f"{ratio:.2f} ± {error:.2f}"]
        lines.append(line([*cells, shown(high), shown(divergences[-1]), f"{same:.1f} %", f"{record.right} of {record.asked}"]))
    return "\n".join(lines)


def measure(model, texts, ends, name, caches):
    """Prints what caches cost in parts of texts that end at `ends`. Returns the records of each part by its name."""
    records = [{cache.name: Record() for cache in [EXACT, *caches]} for _ in ends]
    for text in texts:
        tokens = text["tokens"]
        exact = logits_of(model, tokens, EXACT)
        for cache in [EXACT, *caches]:
            found = exact if cache is EXACT else logits_of(model, tokens, cache)
            for start, end, part in zip([0, *ends], ends, records):
                if end <= len(tokens):
                    part[cache.name].add(exact, found, tokens, text["questions"], start, end)
    parts = {}
    for start, end, part in zip([0, *ends], ends, records):
        title = f"{f'{end:,}' if len(ends) == 1 else f'{start} to {end:,}'}, {name}"
        exact = part[EXACT.name]
        perplexity = torch.cat(exact.losses).mean().exp()
        facts = f"finds {exact.right} of {exact.asked} facts"
        print(f"\n{title}: {len(exact.texts)} texts. `f32` has a perplexity of {perplexity:.4g} and {facts}.\n\n{table(part)}", flush=True)
        parts[title] = part
    return parts


def scaled(model, scaling, factor, trained):
    """Gives a model the RoPE of `none`, `NTK` or `YaRN`."""
    config = copy.deepcopy(model.own_config)
    theta = config.rope_parameters["rope_theta"]
    if scaling == "NTK":  # transformers has it only as a larger base
        config.rope_parameters["rope_theta"] = theta * factor ** (config.head_dim / (config.head_dim - 2))
    if scaling == "YaRN":
        own = {"rope_type": "yarn", "rope_theta": theta, "factor": float(factor), "original_max_position_embeddings": trained}
        config.rope_parameters = own
        config.max_position_embeddings = trained * factor
    model.model.rotary_emb = modeling_llama.LlamaRotaryEmbedding(config)


def opened(folder, **options):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="simulated", **options).eval()
    model.own_config = copy.deepcopy(model.config)
    return model


def from_node(*arguments):
    done = subprocess.run(["node", HERE / "texts.mjs", *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()


def measure_small_model(lengths, scalings):
    model = opened(ROOT / "examples" / "small_model")
    for length in lengths:
        texts = list(map(json.loads, from_node("small", str(length))))
        factor = length // 256
        for scaling in scalings if factor > 1 else ["none"]:
            scaled(model, scaling, factor, 256)
            yield measure(model, texts, [length], scaling if scaling == "none" else f"{scaling} × {factor}", [*CACHES, *PARTS])


def measure_smollm2(lengths, scalings):
    path = Path(*from_node("path"))
    model = opened(path.parent, gguf_file=path.name)
    texts = [{**text, "tokens": text["tokens"][: lengths[-1]]} for text in map(json.loads, from_node("smollm2"))]
    texts = [text for text in texts if len(text["tokens"]) >= lengths[0]]
    for scaling in scalings:
        scaled(model, scaling, 4, 8192)
        yield measure(model, texts, lengths, scaling if scaling == "none" else f"{scaling} × 4", CACHES)


@torch.inference_mode()
def main():
    modeling_llama.apply_rotary_pos_emb = keep_raw
    AttentionInterface.register("simulated", attend)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=LENGTHS)
    parser.add_argument("only", nargs="*", help="lengths, and scalings: none, NTK, YaRN")
    options = parser.parse_args()
    allowed = [*map(str, LENGTHS[options.model]), *SCALINGS]
    if unknown := [each for each in options.only if each not in allowed]:
        parser.error(f"not one of {', '.join(allowed)}: {', '.join(unknown)}")
    lengths = [each for each in LENGTHS[options.model] if str(each) in options.only] or LENGTHS[options.model]
    scalings = [each for each in SCALINGS if each in options.only] or SCALINGS
    parts = {}
    for measured in (measure_small_model if options.model == "small" else measure_smollm2)(lengths, scalings):
        parts |= measured
    print(f"\nMean KL:\n\n{head(['cache', 'bytes of f16', *parts])}")
    for cache in CACHES:
        means = [shown(part[cache.name].means.mean()) for part in parts.values()]
        print(line([cache.name, f"{cache.share_of_f16(STATED):.3f}", *means]))


if __name__ == "__main__":
    main()
