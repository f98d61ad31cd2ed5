"""Writes llama_cpp_ids.json: hashes of llama.cpp's ids for the texts of vocabularies.json, for each value of tokenizer.ggml.pre.

The vocabulary is the byte-level one of vocabularies.json. Run it in a separate environment:

    pip install llama-cpp-python==0.3.36 gguf==0.19.0
    python tests/text/make_llama_cpp_ids.py <llama-vocab.cpp of that version> <folder for temporary files>
"""

import hashlib
import json
import re
import sys
from pathlib import Path

import gguf
from llama_cpp import Llama

FOLDER = Path(__file__).parent
LEFT_OUT = ["whitespace"]  # of an embedding model, which leaves out whitespace


def main():
    source, scratch = Path(sys.argv[1]), Path(sys.argv[2])
    data = json.loads((FOLDER / "vocabularies.json").read_text())
    texts = [text for text in data["texts"] if text]
    names = sorted(set(re.findall(r'tokenizer_pre == "([^"]+)"', source.read_text())) - set(LEFT_OUT))
    hashes = {name: ids(data["byte_level"]["tokenizer_json"], name, texts, scratch / "vocabulary.gguf") for name in names}
    rows = ",\n".join(f'"{name}": "{row}"' for name, row in hashes.items())
    (FOLDER / "llama_cpp_ids.json").write_text("{\n" + rows + "\n}\n")


def ids(tokenizer, name, texts, path):
    tokens = dict(tokenizer["model"]["vocab"])
    tokens.update({token["content"]: token["id"] for token in tokenizer["added_tokens"]})
    special = {token["id"] for token in tokenizer["added_tokens"]}
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(name)
    writer.add_token_list(sorted(tokens, key=tokens.get))
    writer.add_token_types([3 if i in special else 1 for i in range(len(tokens))])
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    model = Llama(str(path), vocab_only=True, verbose=False)
    rows = [model.tokenize(text.encode(), add_bos=False, special=False) for text in texts]
    return "".join(hashlib.sha256(str(row).replace(" ", "").encode()).hexdigest()[:6] for row in rows)


main()
