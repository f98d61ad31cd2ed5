"""Writes the small model's tokenizer.json: byte-level BPE in which every word of the stories is one token.

    python examples/small_model/tokenizer.py
"""

import subprocess
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

HERE = Path(__file__).parent
BEGIN = "<|story|>"
STORIES = 4000


def main():
    stories = subprocess.run(["node", HERE / "print_stories.mjs", "--lines", str(STORIES)], check=True, capture_output=True, text=True).stdout.splitlines()
    words = sorted({word for line in stories for word in pre_words(line)})

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    # each word equally often, so that merging continues until every word is one token
    trainer = trainers.BpeTrainer(vocab_size=4096, min_frequency=1, special_tokens=[BEGIN], initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(words, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{BEGIN} $A", special_tokens=[(BEGIN, tokenizer.token_to_id(BEGIN))])

    in_parts = [word for word in words if len(tokenizer.encode(word, add_special_tokens=False).ids) != 1]
    assert not in_parts, in_parts
    tokenizer.save(str(HERE / "tokenizer.json"))
    print(f"{len(words)} words, {tokenizer.get_vocab_size()} tokens")


def pre_words(line):
    splitter, decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    for spelling, _ in splitter.pre_tokenize_str(line):
        yield decoder.decode([spelling])


if __name__ == "__main__":
    main()
