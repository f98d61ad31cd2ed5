"""Writes random/tokenizer_pipelines.json: files tokenizer.json drawn at random, and what Hugging Face's Rust tokenizers make of random texts.

    python tokenizer_pipelines.py [--seed N] [--cases N] [--texts N] [--output FILE]

Each file has components with random options, one of four models with a small vocabulary, and added tokens. For each text there are a hash of
its encodings (as it is, with special tokens, with special tokens as text, as a pair) and one of decoded texts. `refused` are changes
[case, component, option, value] with which the library refuses a file; without a value, the option is left out. "MAP" stands for the map of characters in tests/text/encoder_vocabularies.json.
"""

# compare: --cases 100 --texts 1000
# test: tests/unit/text/pipelines.test.mjs

import json
import os
import random
from pathlib import Path

from tokenizers import Tokenizer

from drawing.options import options_parser
from pipelines.cases import PIECES, RANGES, damaged, damages, hashes_of, is_refused, text
from pipelines.models import model
from pipelines.parts import SAMPLES, SPECIALS, added_token, decoder, normalizer, post_processor, pre_tokenizer

TESTS = Path(__file__).parents[3]
MAP = json.loads((TESTS / "text" / "encoder_vocabularies.json").read_text())["sentence_piece"]["charsmap"]
ADDED = ["<|x|>", "<|x|>y", "<tool>", "Tool", "tool", "word", "\n\n", "ab", "abc", " a", "the", "▁▁", "é", "_", "12", "e\u0301", "ΑΣ", "  "]


def main():
    parser = options_parser(__doc__, "tokenizer_pipelines", 100, "files drawn")
    parser.add_argument("--texts", type=int, default=30, help="texts for each file")
    options = parser.parse_args()
    silence()
    rng = random.Random(options.seed)
    cases, refused = [], []
    while len(cases) < options.cases:
        file = draw(rng)
        if file is None:
            continue
        tokenizer = Tokenizer.from_str(filled(file))
        ids = [id for id in range(max(tokenizer.get_vocab(True).values()) + 1) if tokenizer.id_to_token(id) is not None]
        seed = rng.randrange(2**31)
        hashes = hashes_of(file, tokenizer, seed, ids, options.texts)
        if hashes is None:
            continue
        cases.append({"seed": seed, "file": file, "hashes": hashes})
        refused += [[len(cases) - 1, *change] for change in damages(rng, file) if is_refused(filled(damaged(file, *change)))]
    out = {"seed": options.seed, "texts": options.texts, "ranges": RANGES, "pieces": PIECES, "cases": cases, "refused": refused}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(out, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")


def silence():
    """The library writes a trace of each crash."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def filled(file):
    return json.dumps(file).replace('"MAP"', json.dumps(MAP))


def draw(rng):
    """A file that the library reads; None for others, and for those with added tokens that are the same after they are normalized."""
    file = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": normalizer(rng) if rng.random() < 0.7 else None, "pre_tokenizer": pre_tokenizer(rng) if rng.random() < 0.9 else None,
        "post_processor": None, "decoder": decoder(rng) if rng.random() < 0.9 else None,
        "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
    }
    try:
        words = words_of(Tokenizer.from_str(filled(file)), rng)
        if not words:
            return None
        file["model"] = model(rng, words)
        tokenizer = Tokenizer.from_str(filled(file))
        ids = {name: tokenizer.token_to_id(name) for name in SPECIALS}
        added = [(name, {"content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}) for name in SPECIALS[: rng.randint(0, 5)]]
        added += [(name, added_token(rng, name)) for name in rng.sample(ADDED, rng.choice([0, 0, 2, 5]))]
        size = tokenizer.get_vocab_size(False)
        for name, token in added:
            id = tokenizer.token_to_id(name)
            if id is None:
                id, size = size, size + 1
            file["added_tokens"].append({"id": id, **token})
        if not are_apart(tokenizer, file["added_tokens"]):
            return None
        file["post_processor"] = post_processor(rng, ids)
        Tokenizer.from_str(filled(file))
        return file
    except BaseException:
        return None


def words_of(tokenizer, rng):
    """Words as the model gets them."""
    words = []
    for sample in SAMPLES + [text(rng.randrange(2**31)) for _ in range(20)]:
        if tokenizer.normalizer is not None:
            sample = tokenizer.normalizer.normalize_str(sample)
        pieces = [(sample, None)] if tokenizer.pre_tokenizer is None else tokenizer.pre_tokenizer.pre_tokenize_str(sample)
        words += [word for word, _ in pieces if word]
    return [word for word in words if len(word) <= 200][:400]


def are_apart(tokenizer, added):
    """Which of two tokens with the same normalized text is found changes from run to run."""
    written = [tokenizer.normalizer.normalize_str(token["content"]) if tokenizer.normalizer is not None else token["content"] for token in added if token["normalized"]]
    return len(set(written)) == len(written)


if __name__ == "__main__":
    main()
