"""Trains the small model, or fine-tunes it in longer windows, on stories from print_stories.mjs. Seeded, on a CPU.

    python examples/small_model/train.py --out build/small_model      from scratch, windows of 256 tokens
    python examples/small_model/train.py --out build/small_model_yarn --from build/small_model --factor 4 --steps 300 --rate 3e-4
                                                                      fine-tuned in windows of 1,024 under YaRN, or another --method

Writes a transformers model folder (config.json, model.safetensors in f32) and training.json: the loss curve, the time and the machine.
"""

import argparse
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, LlamaConfig, SmolLM3Config

from extended_rope import METHODS, rope_parameters
from initial_weights import begin

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from training import Optimizers, Record, printed  # noqa: E402

TRAINED_LENGTH = 256
TOKENS_A_STEP = 4096
ANSWER_AFTER = 7  # tokens from the question mark to the place that answers the question
ANSWER_WEIGHT = 10  # most of the loss is unpredictable (which thing, which place) and would outweigh the answers
REPETITION_WEIGHT = 4


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--from", dest="start", type=Path, help="a folder to go on from")
    parser.add_argument("--factor", type=float, default=1, help="factor of the scaling; windows are as many times longer")
    parser.add_argument("--method", choices=METHODS, default="yarn", help="how a factor above 1 is reached")
    parser.add_argument("--searched", type=Path, help="config.json of `ropewalk search`, for longrope")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--rate", type=float, default=1e-3, help="highest learning rate of AdamW")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    torch.use_deterministic_algorithms(True)
    tokenizer = Tokenizer.from_file(str(HERE / "tokenizer.json"))
    length = int(TRAINED_LENGTH * options.factor)
    config = configuration(tokenizer, options)
    if options.start:
        model = AutoModelForCausalLM.from_pretrained(options.start, config=config, dtype=torch.float32)
    else:
        model = AutoModelForCausalLM.from_config(config)
        begin(model)
    repetitions_until = 0 if options.start else options.steps // 3
    print(f"{model.num_parameters():,} weights, windows of {length}", flush=True)

    optimizers, record = Optimizers(model, options.rate, options.steps, 100), Record()
    windows = windows_of(tokenizer, length, options.seed)
    question = tokenizer.token_to_id("?")
    forward = torch.compile(model)
    for step in range(options.steps):
        batch = next(windows)
        is_repetition = torch.zeros(batch.shape[0], batch.shape[1] - 1)
        if step < repetitions_until:
            batch[::2], is_repetition[::2] = repetitions(batch[::2])
        answers = is_answer(batch, question) & (is_repetition.sum(1) == 0)[:, None]
        with torch.autocast("cpu", torch.bfloat16):
            logits = forward(batch[:, :-1], use_cache=False).logits
        losses = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten(), reduction="none").view(batch.shape[0], -1)
        weights = 1 + (ANSWER_WEIGHT - 1) * answers + (REPETITION_WEIGHT - 1) * is_repetition
        optimizers.step((losses * weights).sum() / weights.sum())
        if step % 50 == 49:
            record.add(step + 1, loss=losses.mean().item(), recall=round(recall(logits, batch, answers), 3))
            if step % 500 == 499:
                model.save_pretrained(options.out)

    model.save_pretrained(options.out)
    record.write(options.out, seed=options.seed, steps=options.steps, tokens=options.steps * TOKENS_A_STEP, windows_of=length, **({"method": options.method} if options.factor > 1 else {}))


def configuration(tokenizer, options):
    drops = options.factor > 1 and options.method == "drope"
    numbers = dict(
        attn_implementation="eager",  # on a CPU the backward pass of the fused one is slower
        vocab_size=tokenizer.get_vocab_size(), hidden_size=128, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=4,
        head_dim=32, max_position_embeddings=int(TRAINED_LENGTH * options.factor), rms_norm_eps=1e-5, tie_word_embeddings=True,
        bos_token_id=0, eos_token_id=0, pad_token_id=None,
    )
    if drops:  # SmolLM3 is a Llama that lists the layers without RoPE
        return SmolLM3Config(**numbers, no_rope_layers=[0] * 4, use_sliding_window=False)
    return LlamaConfig(**numbers, rope_parameters=rope_parameters(options, TRAINED_LENGTH))


def windows_of(tokenizer, length, seed):
    """Yields batches [windows, length + 1], each window the start of its own story."""
    count, first = TOKENS_A_STEP // length, seed * 10_000_000
    at_once = count * 200
    while True:
        stories = printed(HERE / "print_stories.mjs", "--lines", at_once, first, length + 1)
        ids = torch.tensor([encoding.ids[: length + 1] for encoding in tokenizer.encode_batch(stories)])
        yield from ids.split(count)
        first += at_once


def repetitions(batch):
    """Repeated random sequences in place of stories, and a mask of the tokens that can be predicted. Lookup heads form on these, because nearly
    every token needs them. In a story only one token in thirty does.
    """
    words, repeated, known = batch.unique(), batch.clone(), torch.zeros(batch.shape[0], batch.shape[1] - 1)
    for window, is_known in zip(repeated, known):
        period = int(torch.randint(4, len(window) // 3, ()))
        window[1:] = words[torch.randint(len(words), (period,))].repeat(len(window) // period + 1)[: len(window) - 1]
        is_known[period + 1 :] = 1
    return repeated, known


def is_answer(batch, question):
    """A mask [windows, length] of the predicted tokens that answer a question: "? The red ball is in the PLACE"."""
    asked = batch == question
    return torch.nn.functional.pad(asked, (ANSWER_AFTER, 0))[:, 1 : batch.shape[1]]


def recall(logits, batch, answers):
    """Share of the questions of this batch that are answered right."""
    return (logits.argmax(-1) == batch[:, 1:])[answers].float().mean().item()


if __name__ == "__main__":
    main()
