"""Writes world_tokens.json: ids of the package `rwkv` for 2,000 texts, with the vocabulary of the tiny models.

    python world_tokens.py            write it
    python world_tokens.py --check    compute it again and compare with the committed file

Needs rwkv 0.8.32. The texts are drawn from pieces by a generator that the test has too, so the file has only a CRC-32 of each text's ids.
"""

import json
import sys
import tempfile
import zlib
from pathlib import Path

from rwkv.rwkv_tokenizer import TRIE_TOKENIZER

from rwkv_vocabulary import FILE, write_vocabulary

OUTPUT = Path(__file__).parents[2] / "world_tokens.json"
TEXTS = 2000
PIECES = [
    *("the", "th", "he", "t", "h", " ", "  ", "\n", "\n\n", "\\n", "\\", "''", "'", '"', "\"'", " the", "the cat", " cat"),
    *("é", "你", "你好", "好", "佀", "e\u0301", "\u00a0", "\u2028", "\x00", "\x80", "🙂", "<s>", "[PAD273]", "a", "Z", "0"),
]


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_vocabulary(Path(folder))
        tokenizer = TRIE_TOKENIZER(str(Path(folder) / FILE))
    random = Random(1)
    texts = ["".join(PIECES[random.below(len(PIECES))] for _ in range(random.below(24))) for _ in range(TEXTS)]
    ids = [tokenizer.encode(text) for text in texts]
    hashes = [zlib.crc32(",".join(map(str, row)).encode()) for row in ids]
    fields = {"pieces": PIECES, "examples": list(zip(texts[:8], ids[:8])), "hashes": hashes}
    made = "{" + ",\n ".join(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in fields.items()) + "}\n"
    if "--check" in sys.argv:
        print("the same" if OUTPUT.read_text() == made else "differs")
    else:
        OUTPUT.write_text(made)


class Random:
    """The linear congruential generator of Numerical Recipes."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return (self.state >> 16) % limit


if __name__ == "__main__":
    main()
