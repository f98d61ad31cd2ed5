"""The ids of some texts by the package tokenizers for tokenizer.json files, and by llama.cpp for GGUF files, without special tokens added.

python token_ids.py TEXTS.json OUTPUT.json FILE…
OUTPUT.json has for each file `ids`, a list for each text, and for tokenizer.json files also `special` (ids with the special tokens that the file
adds) and `decoded` (the text of `ids` without special tokens).
"""

import json
import sys
from pathlib import Path

import llama_cpp
from tokenizers import Tokenizer


def by_tokenizers(path, texts):
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    return {
        "ids": ids,
        "special": [tokenizer.encode(text).ids for text in texts],
        "decoded": [tokenizer.decode(row) for row in ids],
    }


def by_llama_cpp(path, texts):
    model = llama_cpp.Llama(path, vocab_only=True, verbose=False)
    return {"ids": [model.tokenize(text.encode(), add_bos=False, special=False) for text in texts]}


def main():
    texts = json.loads(Path(sys.argv[1]).read_text())
    result = [(by_llama_cpp if path.endswith(".gguf") else by_tokenizers)(path, texts) for path in sys.argv[3:]]
    Path(sys.argv[2]).write_text(json.dumps(result))


main()
