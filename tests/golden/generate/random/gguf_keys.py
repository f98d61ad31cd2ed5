"""Changes keys of the tiny models' GGUF files one at a time, or several of a mechanism at once, and asks llama.cpp for
the results.

`--cases N` is the number of values of each key of the file, and of each group of keys. Keys that the file doesn't have
and that change nothing in llama.cpp are set all at once, as one case.
"""
# compare: --cases 3 --models 25
# test: tests/package/model/random/gguf_keys.test.mjs

import json
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from llama_cpp import GGML_TYPE_F32, Llama

sys.path.insert(0, str(Path(__file__).parents[1]))

from drawing.options import options_parser  # noqa: E402
from fields.gguf_file import GgufFile  # noqa: E402
from fields.gguf_values import GROUPS, NOT_COMPARED, all_keys, draw  # noqa: E402

TINY_MODELS = Path(__file__).parents[2] / "tiny_models"
CONTEXT = 256  # llama.cpp's minimum
SAME = 1e-6
SECONDS = 8
POSITIONS = [1, 8, 15, 22, 29, 36, 42, 47]  # as in fields/references.py


def main():
    parser = options_parser(__doc__, "gguf_keys", 1, "values of each key")
    parser.add_argument("names", nargs="*", help="the models; default: all")
    parser.add_argument("--models", type=int, help="how many models, drawn at random; default: all")
    options = parser.parse_args()
    drawing = random.Random(options.seed)
    absent = {key: draw(drawing, key, None) for key in all_keys()}
    counts = Counter()
    models = kept(options) if options.names else {}
    read = set()  # keys that mattered in a model before
    names = options.names or sorted(folder.name for folder in TINY_MODELS.iterdir() if is_drawn(folder))
    if options.models:
        names = random.Random(options.seed).sample(names, options.models)
    for name in names:
        models[name] = cases_of(name, options, absent, read, counts)
        print(name, len(models[name]), flush=True)
        write(options, absent, dict(sorted(models.items())))
    print(dict(counts))


def kept(options):
    """The cases of the models that aren't named, of the same seed."""
    old = json.loads(options.output.read_text()) if options.output.exists() else {}
    return old["models"] if old.get("seed") == options.seed else {}


def write(options, absent, models):
    lines = [f"{json.dumps(name)}: [\n  " + ",\n  ".join(json.dumps(case, separators=(",", ":")) for case in cases) + "]"
             for name, cases in models.items() if cases]
    options.output.write_text(f'{{"seed": {options.seed}, "absent": {json.dumps(absent)}, "models": {{\n' + ",\n".join(lines)
                              + "}}\n", encoding="utf-8")


def is_drawn(folder):
    is_format = folder.name.startswith("llama_") and folder.name != "llama_bias" or folder.name == "gpt_oss_mxfp4"
    return (folder / "expected_llama_cpp.json").exists() and not is_format


def cases_of(name, options, absent, read, counts):
    folder = TINY_MODELS / name
    drawing = random.Random(f"{options.seed}/{name}")
    file = GgufFile((folder / "model.gguf").read_bytes())
    tokens = json.loads((folder / "expected.json").read_text())["prompt"]
    prefix = file.entries["general.architecture"][1] + "."
    present = {key.removeprefix(prefix): entry for key, entry in file.entries.items() if key.startswith(prefix)}
    drawn = [key for key in present if key not in NOT_COMPARED]
    layers = present["block_count"][1]
    base = losses(file.changed({}), tokens)
    cases = []

    def case_of(changes):
        changes = {key: change and [change[0], by_layer(change, layers)] for key, change in changes.items()}
        numbers = losses(file.changed({prefix + key: change for key, change in changes.items()}), tokens)
        if numbers is None or not np.isfinite(numbers).all():
            counts["refused by llama.cpp"] += 1
            return None
        is_same = np.abs(np.subtract(numbers, base)).max() < SAME
        counts["same" if is_same else "other numbers"] += 1
        return {"set": changes, "result": "same" if is_same else [float(f"{number:.6g}") for number in numbers]}

    def run(changes):
        case = case_of(changes)
        cases.extend([case] if case else [])

    for key in drawn:
        run({key: None})
        for _ in range(options.cases):
            run({key: draw(drawing, key, present[key][:2])})
    unknown = [key for key in absent if key not in present]
    neutral = neutral_keys([key for key in unknown if key in read], case_of, absent, cases, False)
    neutral += neutral_keys([key for key in unknown if key not in read], case_of, absent, cases, True)
    read.update(key for key in unknown if key not in neutral)
    cases.append({"absent_without": [key for key in absent if key not in present and key not in neutral], "result": "same"})
    for group in GROUPS:
        members = [key for key in [*drawn, *neutral] if group.search(key)]
        for _ in range(options.cases if len(members) > 1 else 0):
            chosen = drawing.sample(members, drawing.randint(2, min(4, len(members))))
            run({key: draw(drawing, key, present[key][:2] if key in present else None) for key in chosen})
    return cases


def neutral_keys(keys, case_of, absent, cases, is_likely):
    """Those keys that change nothing. Where most are `is_likely` to be, they are set together, and by halves if that matters."""
    if not keys:
        return []
    if is_likely or len(keys) == 1:
        case = case_of({key: absent[key] for key in keys})
        if case and case["result"] == "same":
            return keys
        if len(keys) == 1:
            cases.extend([case] if case else [])
            return []
        parts = [keys[: len(keys) // 2], keys[len(keys) // 2 :]]
    else:
        parts = [[key] for key in keys]
    return [key for part in parts for key in neutral_keys(part, case_of, absent, cases, is_likely)]


def by_layer(change, layers):
    """The value to write: a list is repeated until it has one for each layer."""
    kind, value = change
    return [value[layer % len(value)] for layer in range(layers)] if isinstance(kind, list) and value else value


def losses(data, tokens):
    """The losses of a few tokens, or None if llama.cpp can't run a file: it aborts the process for some of them."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.environ["GGML_NO_BACKTRACE"] = "1"  # it starts a debugger at each abort
        signal.alarm(SECONDS)  # some values make it run without an end
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.write(writing, json.dumps(losses_here(data, tokens)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def losses_here(data, tokens):
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        file.write(data)
        file.flush()
        model = Llama(file.name, n_ctx=CONTEXT, n_threads=1, n_threads_batch=1, logits_all=True, flash_attn=False,
                      type_k=GGML_TYPE_F32, type_v=GGML_TYPE_F32, verbose=False)
        model.eval(tokens)
        logits = np.array(model.scores[: len(tokens)], dtype=np.float64)
    largest = logits.max(-1)
    sums = np.log(np.exp(logits - largest[:, None]).sum(-1)) + largest
    return [sums[position - 1] - logits[position - 1, tokens[position]] for position in POSITIONS]


if __name__ == "__main__":
    main()
