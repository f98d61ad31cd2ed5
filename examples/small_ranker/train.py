"""Trains the small ranker on queries and the paragraphs that the small encoder finds for them. Seeded, on one thread of a CPU.

    python examples/small_ranker/train.py --out examples/small_ranker

Writes config.json, model.safetensors in f16, the tokenizer and training.json: the curve, the time and the machine.
"""

import argparse
import json
import random
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing
from transformers import EuroBertModel, ModernBertConfig, ModernBertForSequenceClassification

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from small_encoder.train import embed  # noqa: E402
from small_ranker.lookups import LookupLoss, begin  # noqa: E402
from training import Optimizers, Record, printed  # noqa: E402

ENCODER = HERE.parent / "small_encoder"
TRAINED_LENGTH = 128  # tokens of a query and a paragraph
QUERIES = 16  # of a step
PARAGRAPHS = 6  # of a query
RIGHT = 2  # of these answer it, at most
FIRST = 3  # of the others are the nearest ones, and the rest are drawn from the NEAREST
NEAREST = 24
COLLECTIONS_AT_ONCE = 4
SEARCHES = 4  # of a collection
LOOKUPS = 0.65  # share of the steps that look words up as well


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--lookups", type=int, default=350, help="steps that only look words up")
    parser.add_argument("--steps", type=int, default=1000, help="steps that rank")
    parser.add_argument("--rate", type=float, default=2e-3, help="highest learning rate of AdamW")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    tokenizer = pair_tokenizer()
    model = ModernBertForSequenceClassification(configuration(tokenizer))
    begin(model)
    print(f"{model.num_parameters():,} weights", flush=True)

    lookup = LookupLoss(model, tokenizer, TRAINED_LENGTH)
    optimizers = Optimizers(lookup, options.rate, options.lookups + options.steps, 50)
    record, recent = Record(), []
    for step in range(options.lookups):
        losses = lookup.of_random_words()
        optimizers.step(sum(losses))
        recent.append([loss.item() for loss in losses])
        if step % 50 == 49:
            record.add(step + 1, **means(recent, "missing", "changed"))
    recent.clear()
    for step, (queries, texts, right) in zip(range(options.steps), batches(options)):
        logits = scores(model, tokenizer, queries, texts)
        loss = ranking_loss(logits, right)
        looked_up = lookup.of_sentences(texts[::2]) if step < LOOKUPS * options.steps else [torch.tensor(0.0)] * 2
        optimizers.step(loss + sum(looked_up))
        recent.append([loss.item(), ((logits > 0) == (right > 0)).float().mean().item()])
        if step % 50 == 49:
            record.add(options.lookups + step + 1, **means(recent, "loss", "right"))

    write(model, tokenizer, options.out)
    record.write(options.out, seed=options.seed, steps=options.lookups + options.steps)


def means(recent, *names):
    values = torch.tensor(recent).mean(0).tolist()
    recent.clear()
    return dict(zip(names, values))


def pair_tokenizer():
    """The encoder's, with a separator."""
    tokenizer = Tokenizer.from_file(str(ENCODER / "tokenizer.json"))
    tokenizer.add_special_tokens(["[SEP]"])
    tokens = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=tokens)
    tokenizer.enable_padding(pad_id=0)
    return tokenizer


def configuration(tokenizer):
    separator = tokenizer.token_to_id("[SEP]")
    rope = {"rope_type": "default", "rope_theta": 10000.0}
    return ModernBertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=96, intermediate_size=256, num_hidden_layers=3, num_attention_heads=3,
        max_position_embeddings=TRAINED_LENGTH, layer_types=["full_attention"] * 3, rope_parameters={"full_attention": rope, "sliding_attention": rope},
        hidden_activation="silu", classifier_pooling="mean", num_labels=1, pad_token_id=0, bos_token_id=2, cls_token_id=2, eos_token_id=separator,
        sep_token_id=separator,
    )


def scores(model, tokenizer, queries, texts):
    """Logits of pairs. [pairs]"""
    encodings = tokenizer.encode_batch(list(zip(queries, texts)))
    ids = torch.tensor([encoding.ids for encoding in encodings])[:, :TRAINED_LENGTH]
    mask = torch.tensor([encoding.attention_mask for encoding in encodings])[:, :TRAINED_LENGTH]
    return model(input_ids=ids, attention_mask=mask).logits[:, 0]


def ranking_loss(logits, right):
    """Cross-entropy of each pair, and of the first paragraph of each query among those that don't answer it."""
    by_query, is_right = logits.view(-1, PARAGRAPHS), right.view(-1, PARAGRAPHS) > 0
    among = torch.cat([by_query[:, :1], by_query.masked_fill(is_right, -1e4)], 1)
    return torch.nn.functional.binary_cross_entropy_with_logits(logits, right) - torch.log_softmax(among, 1)[:, 0].mean()


def batches(options):
    """Yields queries, paragraphs and labels, one of each for a pair. The first paragraph of each query answers it."""
    choose = random.Random(options.seed)
    encoder = EuroBertModel.from_pretrained(ENCODER, dtype=torch.float32).eval()
    tokenizer = Tokenizer.from_file(str(ENCODER / "tokenizer.json"))
    tokenizer.enable_padding(pad_id=0)
    seed, done = options.seed * 10_000_000, 0
    while True:
        shortest, longest = words_of(done / options.steps)
        for line in printed(HERE / "print_collections.mjs", seed, COLLECTIONS_AT_ONCE, SEARCHES, shortest, longest):
            collection = json.loads(line)
            with torch.no_grad():
                paragraphs, queries = (embed(encoder, tokenizer, collection[name]) for name in ("paragraphs", "queries"))
            nearest = (queries @ paragraphs.T).argsort(1, descending=True)[:, :NEAREST].tolist()
            pairs = [chosen(*each, choose) for each in zip(collection["queries"], collection["answers"], nearest)]
            for first in range(0, len(pairs), QUERIES):
                batch = [(query, collection["paragraphs"][i], right) for query, *rest in pairs[first : first + QUERIES] for i, right in zip(*rest)]
                queries_of_batch, texts, right = zip(*batch)
                yield queries_of_batch, texts, torch.tensor(right)
                done += 1
        seed += COLLECTIONS_AT_ONCE * SEARCHES


def words_of(share):
    """Words of a paragraph, at least and at most, after a share of the steps: at first only its facts."""
    return (0, 0) if share < 0.3 else (0, 60) if share < 0.6 else (28, 104)


def chosen(query, answers, nearest, choose):
    """The query, indices of paragraphs, and whether they answer it. What doesn't is what the encoder finds, so it is about the same things."""
    right = choose.sample(answers, min(len(answers), RIGHT))
    others = [i for i in nearest if i not in answers]
    wrong = others[:FIRST] + choose.sample(others[FIRST:], PARAGRAPHS - len(right) - FIRST)
    return query, right + wrong, [1.0] * len(right) + [0.0] * len(wrong)


def write(model, tokenizer, out):
    out.mkdir(parents=True, exist_ok=True)
    config = {**model.config.to_dict(), "architectures": ["ModernBertForSequenceClassification"], "dtype": "float16"}
    (out / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    weights = {name: tensor.half().contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    tokenizer.no_padding()
    tokenizer.save(str(out / "tokenizer.json"))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    # ModernBERT has no types of tokens
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": ["input_ids", "attention_mask"], **special}
    (out / "tokenizer_config.json").write_text(json.dumps(settings, indent=1) + "\n")


if __name__ == "__main__":
    main()
