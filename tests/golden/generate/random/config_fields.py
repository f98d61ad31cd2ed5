"""Changes fields of the tiny models' config.json one at a time, or several of a mechanism at once, and asks transformers
for the results.

`--cases N` is the number of values of each field, and of each group of fields in each model.
"""
# compare: --cases 1 --models 1000 --longest 1000000
# test: tests/package/model/random/config_fields.test.mjs

import json
import random
import sys
from collections import Counter
from pathlib import Path

import torch
import transformers

sys.path.insert(0, str(Path(__file__).parents[1]))

from drawing.options import options_parser  # noqa: E402
from fields.references import TinyModel, Unstable, is_same  # noqa: E402
from fields.values import ABSENT, GROUPS, INERT, builder_keys, draw, fields_of  # noqa: E402
from tiny_models import HERE  # noqa: E402

# Their code isn't in transformers, so there is no config class to take fields from.
NOT_IN_TRANSFORMERS = {"internlm2", "kimi_k2", "minicpm", "orion", "rwkv7", "rwkv7_sizes", "xverse",
                       "nomic_bert_own_names"}


def main():
    parser = options_parser(__doc__, "config_fields", 1, "values of each field")
    parser.add_argument("names", nargs="*", help="the models; default: all")
    parser.add_argument("--models", type=int, help="how many of all models, drawn at random; default: one of each class")
    parser.add_argument("--longest", type=int, default=400, help="cases with more text than this are left out: those of many tensors of other shapes")
    options = parser.parse_args()
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)

    every = sorted(folder.name for folder in HERE.iterdir() if is_drawn(folder))
    names = options.names or first_of_each_class(every)
    if options.models:
        names = random.Random(options.seed).sample(every, min(options.models, len(every)))
    counts = Counter()
    models = kept(options) if options.names else {}
    for name in names:
        models[name] = cases_of(name, options, counts)
        print(name, len(models[name]), flush=True)
        write(options, dict(sorted(models.items())))
    print(dict(counts))


def kept(options):
    """The cases of the models that aren't named, of the same seed."""
    old = json.loads(options.output.read_text()) if options.output.exists() else {}
    return old["models"] if old.get("seed") == options.seed else {}


def write(options, models):
    lines = [f"{json.dumps(name)}: [\n  " + ",\n  ".join(json.dumps(case, separators=(",", ":")) for case in cases) + "]"
             for name, cases in models.items() if cases]
    options.output.write_text(f'{{"seed": {options.seed}, "models": {{\n' + ",\n".join(lines) + "}}\n", encoding="utf-8")


def first_of_each_class(names):
    """The first tiny model of each config class, by name, with and without a ranking head."""
    first = {}
    for name in names:
        config = json.loads((HERE / name / "config.json").read_text())
        first.setdefault((config.get("text_config", config)["model_type"], "ranker" in name), name)
    return list(first.values())


def is_drawn(folder):
    return (folder / "config.json").exists() and folder.name not in NOT_IN_TRANSFORMERS and not is_format(folder)


def is_format(folder):
    """One of many weight formats of the same model."""
    return (folder.name.startswith("llama_") and folder.name != "llama_bias") or folder.name == "gpt_oss_mxfp4"


def cases_of(name, options, counts):
    model = TinyModel(name)
    drawing = random.Random(f"{options.seed}/{name}")
    config = model.json.get("text_config", model.json)
    annotations = fields_of(model.text_class)
    inert = [field for field in annotations if INERT.search(field)]
    cases = []

    def run(changes):
        case = case_of(model, config, named(changes, model, config), counts, bool(options.names))
        cases.extend([case] if case and len(json.dumps(case)) < options.longest else [])
        return case is not None and case["result"] == "same"

    together = {field: draw(drawing, field, annotations[field], config.get(field, ABSENT), config) for field in inert}
    if not run({field: value for field, value in together.items() if value is not NotImplemented}):
        for field, value in together.items():
            run({field: value})
    for changes in drawn_changes(drawing, {key: annotations[key] for key in annotations if key not in inert}, config, options.cases):
        run(changes)
    for changes in builder_changes(drawing, builder_keys(model.text_class), config, options.cases):
        run(changes)
    return cases


def named(changes, model, config):
    """Changes under the names that the config.json has for its fields."""
    aliases = model.text_class.attribute_map
    names = {alias: field for alias, field in aliases.items() if field in config}
    names |= {field: alias for alias, field in aliases.items() if alias in config}
    return {names.get(field, field): value for field, value in changes.items()}


def case_of(model, config, changes, counts, is_verbose):
    """The case of some changes, or None if transformers gives no numbers for them."""
    case = {"set": {key: value for key, value in changes.items() if value is not ABSENT},
            "remove": [key for key, value in changes.items() if value is ABSENT and key in config]}
    case = {key: value for key, value in case.items() if value}
    changed = {key: value for key, value in {**config, **changes}.items() if value is not ABSENT}
    try:
        numbers, tensors = model.open({**model.json, "text_config": changed} if model.text_key else changed)
    except Unstable:
        counts["too close for float32"] += 1
        return None
    except Exception as error:  # whatever a released class raises for a value that it can't run
        counts["an error of transformers"] += 1
        if is_verbose:
            print("  ", case, type(error).__name__, str(error)[:150].replace("\n", " "))
        return None
    if numbers == "large":
        case["result"] = "other shapes"
    elif tensors is None and is_same(numbers, model.base[0]):
        case["result"] = "same"
    else:
        case["result"] = [float(f"{number:.6g}") for number in numbers]
    if tensors is not None:
        case["tensors"] = tensors
    counts[case["result"] if isinstance(case["result"], str) else "other numbers"] += 1
    return case


def drawn_changes(drawing, annotations, config, count):
    """Sets of changes: of each field, and of a few fields of each group."""
    for field, annotation in annotations.items():
        present = config.get(field, ABSENT)
        if present is not ABSENT:
            yield {field: ABSENT}
        seen = []
        for _ in range(count):
            value = draw(drawing, field, annotation, present, config)
            if value is not NotImplemented and value not in seen:
                seen.append(value)
                yield {field: value}
    for group in GROUPS:
        members = [field for field in annotations if group.search(field)]
        for _ in range(count if len(members) > 1 else 0):
            chosen = drawing.sample(members, drawing.randint(2, min(5, len(members))))
            yield {field: draw_or(drawing, field, annotations[field], config) for field in chosen}


def builder_changes(drawing, annotations, config, count):
    """Sets of changes of each key that only derives other fields, which are then absent."""
    derived = {field: ABSENT for field in ("layer_types", "per_layer_config", "layers_block_type") if field in config}
    for field, annotation in annotations.items():
        for _ in range(count):
            value = draw(drawing, field, annotation, config.get(field, ABSENT), config)
            yield {field: value}
            if derived:
                yield {field: value, **derived}


def draw_or(drawing, field, annotation, config):
    """A value for a field, or ABSENT where it is a list that the class derives from other fields."""
    present = config.get(field, ABSENT)
    if isinstance(present, list) and drawing.random() < 0.6:
        return ABSENT
    value = draw(drawing, field, annotation, present, config)
    return present if value is NotImplemented else value


if __name__ == "__main__":
    main()
