"""Draws the model of a tokenizer.json at random, with pieces of the words that its other components make (tokenizer_pipelines.py)."""

from pipelines.parts import SPECIALS, flag

KINDS = ["BPE", "BPE", "BPE", "Unigram", "WordPiece", "WordLevel"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def model(rng, words):
    kind = rng.choice(KINDS)
    return {"BPE": byte_pairs, "Unigram": unigram, "WordPiece": word_piece, "WordLevel": word_level}[kind](rng, words)


def some_bytes(rng):
    """No byte tokens, some, or all."""
    kind = rng.random()
    return [] if kind < 0.5 else BYTES if kind < 0.6 else [BYTES[byte] for byte in sorted(rng.sample(range(256), 24))] + ["<0xC3>", "<0xA9>", "<0xE7>"]


def unknown(rng):
    return rng.choice(["<unk>", "<unk>", "[CLS]", "none"])


def numbered(rng, pieces):
    """Ids of special tokens and pieces, each once, in a random order of the two."""
    rng.shuffle(pieces)
    parts = [SPECIALS[:], pieces]
    if flag(rng):
        parts.reverse()
    return {piece: i for i, piece in enumerate(dict.fromkeys(parts[0] + parts[1]))}


def byte_pairs(rng, words):
    prefix = rng.choice([None, None, "", "##", "é"])
    suffix = rng.choice([None, None, "", "</w>"])
    split = []
    for word in words:
        symbols = [(prefix or "") * (i > 0) + letter for i, letter in enumerate(word)]
        split.append(symbols[:-1] + [symbols[-1] + (suffix or "")])
    letters = sorted({symbol for symbols in split for symbol in symbols})
    pieces = rng.sample(letters, min(len(letters), rng.randint(20, 60)))
    merges = []
    for _ in range(rng.randint(0, 40)):
        pairs = [pair for symbols in split for pair in zip(symbols, symbols[1:]) if pair[0] in pieces and pair[1] in pieces]
        if not pairs:
            break
        left, right = rng.choice(pairs)
        joined = left + right[len(prefix or ""):]
        pieces.append(joined)
        merges.append([left, right])
        split = [merged(symbols, left, right, joined) for symbols in split]
    if rng.random() < 0.3:
        rng.shuffle(merges)
    if merges and rng.random() < 0.1:
        merges.append(rng.choice(merges))
    written = [" ".join(merge) for merge in merges]
    is_old = rng.random() < 0.3 and all(merge.count(" ") == 1 for merge in written)
    return {
        "type": "BPE", "dropout": rng.choice([None, None, 0.0]), "unk_token": rng.choice([None, unknown(rng)]), "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix, "fuse_unk": flag(rng), "byte_fallback": rng.random() < 0.5, "ignore_merges": rng.random() < 0.3,
        "vocab": numbered(rng, list(dict.fromkeys(pieces + some_bytes(rng)))), "merges": written if is_old else merges,
    }


def merged(symbols, left, right, joined):
    result, at = [], 0
    while at < len(symbols):
        if symbols[at : at + 2] == [left, right]:
            result.append(joined)
            at += 2
        else:
            result.append(symbols[at])
            at += 1
    return result


def parts_of(rng, words, count):
    parts = []
    for _ in range(count):
        word = rng.choice(words)
        start = rng.randrange(len(word))
        parts.append((start, word[start : start + rng.randint(1, 5)]))
    return parts


def unigram(rng, words):
    parts = [piece for _, piece in parts_of(rng, words, rng.randint(30, 90))]
    pieces = SPECIALS[:] + list(dict.fromkeys(part for part in parts + some_bytes(rng) if part not in SPECIALS))
    if rng.random() < 0.2:
        pieces.append(rng.choice(pieces))
    if flag(rng):
        pieces.reverse()
    scores = [round(rng.uniform(-9, 0), rng.choice([0, 2])) for _ in pieces]
    return {
        "type": "Unigram", "unk_id": rng.choice([None, pieces.index("<unk>"), pieces.index("<unk>"), pieces.index("<unk>")]),
        "vocab": [[piece, score] for piece, score in zip(pieces, scores)], "byte_fallback": flag(rng),
    }


def word_piece(rng, words):
    prefix = rng.choice(["##", "##", "", "_"])
    pieces = [(prefix if start > 0 else "") + piece for start, piece in parts_of(rng, words, rng.randint(40, 110))]
    letters = sorted({letter for word in words for letter in word})
    for letter in rng.sample(letters, min(len(letters), rng.randint(0, 40))):
        pieces += [letter, prefix + letter]
    return {
        "type": "WordPiece", "unk_token": unknown(rng), "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": rng.choice([100, 5, 20, 1000]), "vocab": numbered(rng, list(dict.fromkeys(pieces))),
    }


def word_level(rng, words):
    pieces = list(dict.fromkeys(rng.choices(words, k=60)))
    return {"type": "WordLevel", "vocab": numbered(rng, pieces), "unk_token": unknown(rng)}
