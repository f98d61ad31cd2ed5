"""Trains the small encoder on paragraphs and questions from print_paragraphs.mjs. Seeded, on one thread of a CPU.

    python examples/small_encoder/train.py --out examples/small_encoder

Writes config.json, model.safetensors in f16, modules.json and 1_Pooling/ as sentence-transformers has them, and training.json: the curve, the
time and the machine.
"""

import argparse
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import EuroBertConfig, EuroBertModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from training import Optimizers, Record, printed  # noqa: E402

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

    optimizers, record, recent = Optimizers(model, options.rate, options.steps, 50), Record(), []
    for step, search in zip(range(options.steps), searches(options.seed)):
        paragraphs, queries = (embed(model, tokenizer, search[name]) for name in ("paragraphs", "queries"))
        answers = torch.tensor(search["answers"])
        scores = queries @ paragraphs.T
        loss = torch.nn.functional.cross_entropy(scores / TEMPERATURE, answers)
        optimizers.step(loss)
        recent.append((loss.item(), (scores.argmax(1) == answers).float().mean().item()))
        if step % 50 == 49:
            mean_loss, recall = torch.tensor(recent).mean(0).tolist()
            record.add(step + 1, loss=mean_loss, recall=recall)
            recent = []

    write(model, options.out)
    record.write(options.out, seed=options.seed, steps=options.steps)


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
        lines = printed(HERE / "print_paragraphs.mjs", first, SEARCHES_AT_ONCE, TRAINED_LENGTH - 12)
        yield from map(json.loads, lines)
        first += SEARCHES_AT_ONCE


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


if __name__ == "__main__":
    main()
