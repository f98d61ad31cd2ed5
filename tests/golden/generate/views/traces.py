"""Writes traces.json: attention weights, hidden states and logits of every position of tiny models, by transformers.

    python views/traces.py
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
# Windows and soft caps (gemma2), two ropes (gemma3), norms of heads (qwen3), experts (mixtral), sinks (gpt_oss), latents
# (deepseek_v3), and layers without attention (lfm2, granitemoehybrid).
MODELS = ["llama", "qwen3", "gemma2", "gemma3", "mixtral", "gpt_oss", "deepseek_v3", "lfm2", "granitemoehybrid"]
# Rows that are kept, so that the file stays small. The windows of the models are shorter than 40 tokens.
ROWS = [0, 1, 19, 40, 47]
ATTENDING = ("full_attention", "sliding_attention")


def main():
    require_listed_versions()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    write_cases(HERE / "traces.json", [case(name) for name in MODELS])


def case(name):
    folder = HERE / "tiny_models" / name
    prompt = json.loads((folder / "expected.json").read_text())["prompt"]
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", experts_implementation="eager", dtype=torch.float64).eval()
    with torch.no_grad():
        out = model(torch.tensor([prompt]), output_attentions=True, output_hidden_states=True)
    attentions = iter(attention for attention in out.attentions if attention is not None)
    kinds = getattr(model.config, "layer_types", None) or ["full_attention"] * model.config.num_hidden_layers
    attention = [
        [rounded(head[ROWS]) for head in next(attentions)[0]] if kind in ATTENDING else None for kind in kinds
    ]
    hidden = [rounded(state[0, ROWS]) for state in out.hidden_states]
    return {"name": name, "rows": ROWS, "attention": attention, "hidden": hidden, "logits": rounded(out.logits[0, ROWS])}


def rounded(rows):
    return [[float(f"{value:.6g}") for value in row] for row in rows.tolist()]


if __name__ == "__main__":
    main()
