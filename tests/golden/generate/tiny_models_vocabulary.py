"""The tokens of the tiny models: three special ones, single characters, and two merged pieces.

The same byte-level BPE vocabulary is written to tokenizer.json and GGUF.
"""

import json

from tiny_models_configs import VOCABULARY

SPECIAL = ["<unk>", "<s>", "</s>"]
FIRST_TEXT_TOKEN = len(SPECIAL)
MERGES = ["t h", "th e"]
CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,!?'\u0120\u010a"  # ends with space and newline
TOKENS = [*SPECIAL, *CHARACTERS, "th", "the"]
assert len(TOKENS) == VOCABULARY


def write_tokenizer(folder):
    no_flags = dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": id, "content": token, **no_flags, "special": True} for id, token in enumerate(SPECIAL)
        ],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: id for id, token in enumerate(TOKENS)},
            "merges": [merge.split(" ") for merge in MERGES],
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False) + "\n", encoding="utf-8")
