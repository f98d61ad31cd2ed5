"""Writes the small encoder's tokenizer.json and tokenizer_config.json: WordPiece in which every word of the paragraphs is one token, and other words are letters.

    python examples/small_encoder/tokenizer.py
"""

import json
import string
import subprocess
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

HERE = Path(__file__).parent
SPECIAL = ["[PAD]", "[UNK]", "[CLS]"]


def main():
    lines = subprocess.run(["node", HERE / "print_paragraphs.mjs", "1", "300", "128"], check=True, capture_output=True, text=True).stdout.splitlines()
    searches = [json.loads(line) for line in lines]
    normalizer, splitter = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    texts = [text for search in searches for text in search["paragraphs"] + search["queries"]]
    words = {word for text in texts for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))}
    letters = string.ascii_lowercase + string.digits
    pieces = sorted(words | set(letters) | set(string.punctuation)) + ["##" + letter for letter in letters]

    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(SPECIAL + pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", SPECIAL.index("[CLS]"))])
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(HERE / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]"}
    (HERE / "tokenizer_config.json").write_text(json.dumps(settings, indent=1) + "\n")
    print(f"{len(words)} words, {tokenizer.get_vocab_size()} tokens")


if __name__ == "__main__":
    main()
