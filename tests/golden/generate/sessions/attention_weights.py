"""Writes attention_weights.json: how much each head of tiny models reads each token, by transformers.

    python sessions/attention_weights.py
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from transformers import AutoModelForCausalLM

sys.path.insert(0, str(Path(__file__).parents[1]))
from golden_json import write_cases
from make_golden import require_listed_versions

HERE = Path(__file__).parents[2]
# Windows and soft caps (gemma2), two ropes (gemma3), norms of heads (qwen3), part of a head rotated (phi, stablelm).
MODELS = ["llama", "gemma2", "gemma3", "qwen3", "phi", "stablelm", "olmo2"]


def main():
    require_listed_versions()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    write_cases(HERE / "attention_weights.json", [case(name) for name in MODELS])


def case(name):
    folder = HERE / "tiny_models" / name
    prompt = json.loads((folder / "expected.json").read_text())["prompt"]
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()
    with torch.no_grad():
        attentions = model(torch.tensor([prompt]), output_attentions=True).attentions
    weights = [[[float(f"{weight:.6g}") for weight in head[-1].tolist()] for head in layer[0]] for layer in attentions]
    return {"name": name, "weights": weights}


if __name__ == "__main__":
    main()
