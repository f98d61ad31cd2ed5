"""Writes added_tokens.json: how Hugging Face's Rust tokenizers find and decode added tokens of several kinds.

    pip install tokenizers==0.23.3
    python tests/text/make_added_tokens.py
"""

import json
import random
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

LETTERS = list("abcdeABC0123 ▁.,<|>\n\t\u00a0\u0085\ufeffé縄½Ⅷ²٣")
PIECES = LETTERS + ["ab", "bcd", "abc", "cd", "<|a|>", "<|ab|>", "▁▁", "▁▁▁", "\n\n", "word", "Word", "lstrip", "rstrip", "  ", "🪢", "é"]

ADDED = [
    AddedToken("<|a|>", special=True, normalized=False),
    AddedToken("<|ab|>", special=True, normalized=False, rstrip=True),
    AddedToken("ab", special=False, normalized=False),
    AddedToken("bcd", special=True, normalized=False),
    AddedToken("abc", special=False, normalized=True),
    AddedToken("▁▁", special=False, normalized=False),
    AddedToken("▁▁▁", special=False, normalized=True),
    AddedToken("\n\n", special=False, normalized=False),
    AddedToken("word", special=False, normalized=True, single_word=True),
    AddedToken("lstrip", special=False, normalized=False, lstrip=True),
    AddedToken("rstrip", special=True, normalized=False, rstrip=True),
    AddedToken("é", special=False, normalized=False),
]


def main():
    generator = random.Random("added tokens")
    texts = ["".join(generator.choices(PIECES, k=generator.choice([2, 5, 12]))) for _ in range(120)]
    out = {"texts": texts, "tokenizers": {name: cases(make(), texts) for name, make in TOKENIZERS.items()}}
    Path(__file__).with_name("added_tokens.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")


def characters(more=()):
    vocab = {"<unk>": 0}
    vocab.update({f"<0x{byte:02X}>": byte + 1 for byte in range(256)})
    for piece in [*LETTERS, "▁a", "▁b", "aa", *more]:
        vocab.setdefault(piece, len(vocab))
    merges = [("▁", "a"), ("▁", "b"), ("a", "a")]
    return models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)


def gemma():
    tokenizer = Tokenizer(characters())
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def metaspace():
    tokenizer = Tokenizer(characters())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=True)
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="first", split=True)
    return tokenizer


def stripped():
    tokenizer = Tokenizer(characters())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(content=" ", left=1, right=0)]
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


def byte_level():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


TOKENIZERS = {"gemma": gemma, "metaspace": metaspace, "stripped": stripped, "byte_level": byte_level}


def cases(tokenizer, texts):
    tokenizer.add_tokens(ADDED)
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    tokenizer.encode_special_tokens = True
    plain = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    tokenizer.encode_special_tokens = False
    return {
        "json": json.loads(tokenizer.to_str()), "ids": ids, "plain": plain,
        "decoded": [tokenizer.decode(row) for row in ids],
        "decoded_whole": [tokenizer.decode(row, skip_special_tokens=False) for row in ids],
    }


main()
