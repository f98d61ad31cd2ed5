"""Trains the small encoder on paragraphs and questions from print_paragraphs.mjs. Seeded, on one thread of a CPU.

    python examples/small_encoder/train.py --out examples/small_encoder

Writes config.json, model.safetensors in f16, modules.json and 1_Pooling/ as sentence-transformers has them, and training.json: the curve, the
time and the machine.
"""

import argparse
import json
import subprocess
import time
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import EuroBertConfig, EuroBertModel

HERE = Path(__file__).parent
TRAINED_LENGTH = 128  # tokens
TEMPERATURE = 0.05
SEARCHES_AT_ONCE = 100


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--rate", type=float, default=2e-3, help="highest learning rate of AdamW")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(str(HERE / "tokenizer.json"))
    tokenizer.enable_padding(pad_id=0)
    model = EuroBertModel(configuration(tokenizer))
    print(f"{model.num_parameters():,} weights", flush=True)

    begun, curve, recent = time.monotonic(), [], []
    optimizers = optimizers_of(model, options.rate)
    for step, search in zip(range(options.steps), searches(options.seed)):
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["highest"] * schedule(step, options.steps)
        paragraphs, queries = (embed(model, tokenizer, search[name]) for name in ("paragraphs", "queries"))
        answers = torch.tensor(search["answers"])
        scores = queries @ paragraphs.T
        loss = torch.nn.functional.cross_entropy(scores / TEMPERATURE, answers)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        recent.append((loss.item(), (scores.argmax(1) == answers).float().mean().item()))
        if step % 50 == 49:
            mean_loss, recall = torch.tensor(recent).mean(0).tolist()
            curve.append({"step": step + 1, "loss": round(mean_loss, 4), "recall": round(recall, 4)})
            print(f"{time.monotonic() - begun:6.0f} s  {curve[-1]}", flush=True)
            recent = []

    write(model, options.out)
    record = {"seed": options.seed, "steps": options.steps, "minutes": round((time.monotonic() - begun) / 60, 1), "threads": torch.get_num_threads(),
              "torch": torch.__version__, "processor": processor(), "curve": curve}
    (options.out / "training.json").write_text(json.dumps(record).replace('{"step"', '\n{"step"') + "\n")


def configuration(tokenizer):
    return EuroBertConfig(
        attn_implementation="sdpa", vocab_size=tokenizer.get_vocab_size(), hidden_size=96, intermediate_size=256, num_hidden_layers=3,
        num_attention_heads=3, num_key_value_heads=3, head_dim=32, max_position_embeddings=TRAINED_LENGTH, rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, pad_token_id=0, bos_token_id=2, eos_token_id=None, mask_token_id=1,
    )


def embed(model, tokenizer, texts):
    """Vectors of length 1: the mean of the last layer's over each text's tokens. [texts, hidden]"""
    encodings = tokenizer.encode_batch(texts)
    ids = torch.tensor([encoding.ids for encoding in encodings])[:, :TRAINED_LENGTH]
    mask = torch.tensor([encoding.attention_mask for encoding in encodings])[:, :TRAINED_LENGTH]
    states = model(input_ids=ids, attention_mask=mask).last_hidden_state
    return torch.nn.functional.normalize((states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True), dim=1)


def searches(seed):
    first = seed * 10_000_000
    while True:
        command = ["node", HERE / "print_paragraphs.mjs", str(first), str(SEARCHES_AT_ONCE), str(TRAINED_LENGTH - 12)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        yield from map(json.loads, lines)
        first += SEARCHES_AT_ONCE


def optimizers_of(model, rate):
    """Muon for the matrices of the layers, AdamW for the embeddings and norms."""
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    return [
        torch.optim.Muon([{"params": matrices, "highest": rate * 5}], lr=rate * 5, weight_decay=0.01, momentum=0.95, adjust_lr_fn="original"),
        torch.optim.AdamW([{"params": others, "highest": rate}], lr=rate, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def schedule(step, steps):
    """Learning rate schedule: warm-up over 50 steps, constant, then linear decay to 0 over the last 40 %."""
    return min(1, (step + 1) / min(50, steps / 4), (steps - step) / (0.4 * steps))


def write(model, out):
    out.mkdir(parents=True, exist_ok=True)
    config = {**model.config.to_dict(), "architectures": ["EuroBertModel"], "dtype": "float16"}
    (out / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    save_file({name: tensor.half().contiguous() for name, tensor in model.state_dict().items()}, out / "model.safetensors", metadata={"format": "pt"})
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    entries = [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"} for i, (path, kind) in enumerate(modules)]
    (out / "modules.json").write_text(json.dumps(entries, indent=1) + "\n")
    pooling = {"word_embedding_dimension": model.config.hidden_size, "pooling_mode_mean_tokens": True}
    (out / "1_Pooling").mkdir(exist_ok=True)
    (out / "1_Pooling" / "config.json").write_text(json.dumps(pooling, indent=1) + "\n")


def processor():
    lines = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return lines[0].split(":")[1].strip()


if __name__ == "__main__":
    main()
