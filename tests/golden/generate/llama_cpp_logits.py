"""Writes expected_llama_cpp.json: llama.cpp's logits for the tiny models' GGUF files. See tiny_models/README.md.

    python llama_cpp_logits.py               every model.gguf that llama.cpp can run
    python llama_cpp_logits.py llama qwen2   only these
    python llama_cpp_logits.py --check       compute them again and print the difference from the committed logits

Needs only llama-cpp-python and numpy, not transformers, so it can have a separate environment.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from llama_cpp import GGML_TYPE_F32, Llama

HERE = Path(__file__).parents[1] / "tiny_models"
# The release of llama-cpp-python has no LFM3. llama.cpp reads no epsilon of qwen2vl, and has windows in EXAONE 4 and norms of q and k in
# Command-R only in models of 64 layers.
NOT_IN_LLAMA_CPP = {"lfm3", "gptj", "exaone4", "cohere_plus", "qwen2_vl", "deepseek_v2_lite", "gemma3n"}
STEPS = 8
CONTEXT = 256  # llama.cpp's minimum


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("names", nargs="*", help="the models; default: all")
    arguments.add_argument("--check", action="store_true", help="only compare with the committed logits")
    options = arguments.parse_args()

    for folder in sorted(HERE.iterdir()):
        if options.names and folder.name not in options.names or folder.name in NOT_IN_LLAMA_CPP:
            continue
        if (folder / "model.gguf").exists():
            expected = json.loads((folder / "expected.json").read_text())
            every_step = logits_by_length(folder, expected["prompt"], expected["steps"])
            distance = largest_difference(every_step, [expected["prompt_logits"][-1], *expected["step_logits"]])
            print(f"{folder.name}: {distance:.2g} from transformers", end="; " if options.check else "\n")
            save(folder / "expected_llama_cpp.json", fields(every_step), options.check)


def logits_by_length(folder, prompt, steps):
    """Selects longrope's factors by the length, as transformers does. llama.cpp selects them by the context size."""
    logits = logits_of(folder / "model.gguf", prompt, steps)
    config = json.loads((folder / "config.json").read_text()) if (folder / "config.json").exists() else {}
    if original := config.get("original_max_position_embeddings"):
        short = {f"{config['model_type']}.rope.scaling.original_context_length": CONTEXT}
        within = original - len(prompt) + 1
        logits[:within] = logits_of(folder / "model.gguf", prompt, steps, short)[:within]
    return logits


def logits_of(path, prompt, steps, overrides=None):
    """Logits at the last token of the prompt, then at each step. Keys and values are stored in float32."""
    model = Llama(
        str(path),
        n_ctx=CONTEXT,
        kv_overrides=overrides,
        n_threads=1,
        logits_all=True,
        flash_attn=False,
        type_k=GGML_TYPE_F32,
        type_v=GGML_TYPE_F32,
        verbose=False,
    )
    model.eval(prompt)
    for step in steps:
        model.eval([step])
    logits = np.array(model.scores[len(prompt) - 1 : len(prompt) + len(steps)], dtype=np.float64)
    model.close()
    return logits


def fields(logits):
    return {"prompt_logits": seven_digits(logits[0]), "step_logits": seven_digits(logits[1 : 1 + STEPS])}


def save(path, made, check):
    if check:
        committed = json.loads(path.read_text())
        distance = max(largest_difference(made[key], committed[key]) for key in made)
        print(f"{distance:.2g} from the committed logits")
        return
    lines = [f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in made.items()]
    path.write_text("{" + ",\n ".join(lines) + "}\n", encoding="utf-8")


def largest_difference(a, b):
    return np.abs(np.asarray(a) - np.asarray(b)).max()


def seven_digits(array):
    return np.vectorize(lambda value: float(f"{value:.7g}"))(array).tolist()


if __name__ == "__main__":
    main()
