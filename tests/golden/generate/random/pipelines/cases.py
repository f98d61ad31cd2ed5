"""Files that Hugging Face's tokenizers refuses, and what it makes of texts (tokenizer_pipelines.py)."""

import hashlib
import json
import os
import resource

from tokenizers import Tokenizer

# texts are drawn by a generator that tests/unit/text/pipelines.test.mjs has too
RANGES = [(0x20, 0x7F), (0, 0x20), (0x7F, 0x250), (0x300, 0x370), (0x370, 0x600), (0x600, 0x2000), (0x2000, 0x2070), (0x2070, 0x3100), (0x3100, 0xA000), (0xAC00, 0xD7A4), (0x1100, 0x1200), (0xE000, 0x10000), (0x10000, 0x20000), (0x20000, 0x20100), (0xE0000, 0xE0080)]
PIECES = (
    ["the", "rope", " and", "Yarn", " of", "ing", "'s", "n't", "'LL", "don't", "strands", " is", " ", "  ", "    ", "          ", "\n", "\n\n\n", "\t", "\r\n", " \n", "\u00a0", "\u3000", "\u2028", "\u0085", "\ufeff"]
    + ["\u200b", "\u200d", "\u00ad", "\0", "\x01", "\x1f", "\x7f", "\x8f", "\ufffd", "\ue000", "é", "e\u0301", "Å", "A\u030a", "ñ", "İ", "ı", "ß", "ẞ", "ſ", "K", "Σ", "ΑΣ", "ΑΣ.", "ΟΔΟΣ ", "ς", "ǅ", "ﬁ", "ﬃ"]
    + ["½", "Ⅷ", "²", "℃", "①", "Ⓐ", "ｱ", "ﾞ", "ガ", "カ\u3099", "Ａ", "１", "한글", "ㅎ", "각", "漢字", "绳子", "\u3400", "\U00020000", "ひらがな", "カナ", "ー", "रस्सी", "เชือก", "עברית", "العربية", "\u0640", "\u0301", "\u0308\u0304", "\u20e3"]
    + ["👍🏽", "👩‍👩‍👧", "🇫🇷", "🪢", ".", ",", "!", "?", "'", "-", "—", "…", "«", "/", "@", "#", "$", "€", "+", "^", "`", "|", "~", "_", "▁", "▁▁", "Ġ", "##", "</w>", "(", ")", "[", "\\", "<0x41>"]
    + ["0", "12", "345", "6789012", "3.5", "٣", "๓", "\U0001d7d8", "\U00010428", "\U00010400", "Верёвка", "канат", "x", "a", "ab", "abc", "e", "s", "aaaa", "eeeeeeee"]
    + ["<s>", "</s>", "[CLS]", "[SEP]", "<unk>", "<pad>", "<|x|>", "<|x|>y", "<tool>", "Tool", "word", " word ", "\n\n", "straße", "STRASSE"]
)

# Bytes and seconds in which the library makes the results of one file.
LARGEST, LONGEST = 2 << 30, 120


class Numbers:
    """The generator of the test."""

    def __init__(self, seed):
        self.state = seed & 0xFFFFFFFF

    def below(self, limit):
        self.state = (self.state * 1664525 + 1013904223) & 0xFFFFFFFF
        return (self.state >> 8) % limit


def text(seed):
    numbers = Numbers(seed)
    result = ""
    for _ in range([0, 1, 2, 3, 5, 8, 16, 30][numbers.below(8)]):
        kind = numbers.below(16)
        if kind < 11:
            result += PIECES[numbers.below(len(PIECES))]
        elif kind < 13:
            first, end = RANGES[numbers.below(len(RANGES))]
            result += chr(first + numbers.below(end - first))
        elif kind < 15:
            result += " " + PIECES[numbers.below(12)]
        else:
            result += "aé 1\n"[numbers.below(5)] * (3 + numbers.below(40))
    return result


def some_ids(seed, ids):
    numbers = Numbers(seed)
    return [ids[numbers.below(len(ids))] for _ in range(numbers.below(14))]


def answer(run):
    """A result, or "error" where the library raises an error."""
    try:
        return run()
    except Exception:
        return "error"


def digest(value):
    return hashlib.sha256(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()[:4]


def leaves_out(post_processor):
    """Whether one of two texts is in no part of the input, which this package refuses."""
    steps = (post_processor or {}).get("processors", [post_processor or {}])
    return any({part["Sequence"]["id"] for part in step["pair"] if "Sequence" in part} != {"A", "B"} for step in steps if "pair" in step)


def results(tokenizer, seed, ids, reads_pairs):
    """What the library makes of a text: 4 hexadecimal digits for the encodings and 4 for the decoded texts."""
    first, second = text(seed), text(seed + 1)

    def plain():
        tokenizer.encode_special_tokens = True
        try:
            return tokenizer.encode(first, add_special_tokens=False).ids
        finally:
            tokenizer.encode_special_tokens = False

    def pair():
        encoding = tokenizer.encode(first, second)
        return [encoding.ids, encoding.type_ids]

    encoded = [
        answer(lambda: tokenizer.encode(first, add_special_tokens=False).ids), answer(lambda: tokenizer.encode(first).ids), answer(plain),
        answer(pair) if reads_pairs else "error",
    ]
    lists = [some_ids(seed, ids)] + ([encoded[1]] if isinstance(encoded[1], list) else [])
    decoded = [answer(lambda: tokenizer.decode(row, skip_special_tokens=skips)) for row in lists for skips in (True, False)]
    return digest(encoded) + digest(decoded)


def hashes_of(file, tokenizer, seed, ids, count):
    """The results of texts, one after another; None for a file with which the library crashes or takes all memory for one of them.

    A process of its own makes them. One of 50 files is such, for example with an added token that is normalized to nothing. Where the library
    crashes for a text, its ids of other texts may differ from those of its own components.
    """
    reads_pairs = not leaves_out(file["post_processor"])
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (LARGEST, LARGEST))
        resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
        try:
            written = "".join(results(tokenizer, seed + i, ids, reads_pairs) for i in range(count))
            with os.fdopen(writer, "w") as output:
                output.write(written)
            os._exit(0)
        except BaseException:  # whatever Rust's panics are
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader) as file:
        hashes = file.read()
    return hashes if os.waitpid(child, 0)[1] == 0 else None


def damages(rng, file):
    """Changes of a file, as [part, key] for an option that is left out and [part, key, value] for one with another value."""
    changes = []
    for part in ("normalizer", "pre_tokenizer", "decoder", "post_processor", "model"):
        for key in file[part] or ():
            if key == "type" and part == "post_processor":
                continue
            changes += [[part, key], [part, key, rng.choice([7, "wrong", [], {"a": 1}, -1, 1.5])]]
    rng.shuffle(changes)
    return changes[:6]


def damaged(file, part, key, *value):
    component = {name: option for name, option in file[part].items() if name != key}
    return {**file, part: {**component, **({key: value[0]} if value else {})}}


def is_refused(written):
    try:
        Tokenizer.from_str(written)
        return False
    except Exception:
        return True
    except BaseException:
        return False
