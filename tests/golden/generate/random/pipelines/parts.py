"""Draws the components of a tokenizer.json at random, with all their options (tokenizer_pipelines.py)."""

SAMPLES = [
    "the rope is made of strands, and strands of yarns; the yarns are spun from fibres no longer than an arm.",
    "They'd say: \"We've walked to the moon, and we'll walk back.\" I'm sure it's true; in 1770 it weighed 4500 pounds.",
    "for (int i = 0; i < count; ++i) { sum += values[i] * weights[i]; }  // the sum\n\n\treturn sum;",
    "Größe über Maß, où déjà Ça; Верёвка и канат; 绳子很长。糸を撚る; 한글 ΑΣ ΟΔΟΣ",
]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
SPECIALS = ["<s>", "</s>", "[CLS]", "[SEP]", "<unk>", "<pad>"]
PATTERNS = [
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,2}+|\s+$|\s*[\r\n]|\s+(?!\S)|.",
    r"\p{N}{1,3}(?=(?:\p{N}{3})*(?:\P{N}|$))", r" {2,}", r"\s+", r"[0-9]", r"\d{1,3}(?=(?:\d{3})*\b)", r"(?<=\p{Lu})(?=\p{Ll})", r"\p{Han}+", r"[\p{P}\p{S}&&[^']]",
    r"[^\s\p{L}\p{N}]+", r"\w+|[^\w\s]+", r"^", r"$", r"\b", r"\A.", r"a|ab", r"x*", r"(?=[A-Z])", r"[[:alpha:]]+", r"[[:^punct:]]", r"\R", r"(?m:.)+", r"(?<!\d)\.", r"(?i)straße",
    r"(?i:[k-sß])", r"\h+", r"\S+\s?", r"[\w-]+", r"\p{Greek}+|\p{Cyrillic}", r"(?>a|ab)c?", r"e\x{301}", r"\u00e9", r"(?x: a  b # ab\n)", r"[^[a-y]]", r".{3}", r"\P{^L}", r"\n{2,}?", r"(a|e)(?:r|s)",
]
ATOMS = [
    "a", "e", "s", "ß", " ", "é", ".", r"\.", "[ab]", "[^a]", "[a-m]", r"\p{L}", r"\p{Lu}", r"\p{N}", r"\P{L}", r"\p{^M}", r"\p{Punct}", r"\d", r"\D", r"\s", r"\S", r"\w", r"\W",
    r"[\s\d]", r"[^\s\p{L}]", r"[\p{L}&&[^e]]", "[[:upper:]]", r"[\]\-x]", r"\x61", r"\u4e00", r"\n", "(?i:k)", "(?i:ss)", r"[а-я]", "'", "1",
]
REPEATS = ["*", "+", "?", "{2}", "{1,2}", "{,3}", "{1,}", "*?", "+?", "??", "{1,3}?", "*+", "++", "?+"]


def pattern(rng, depth=3):
    """A random regular expression of Oniguruma."""
    inner = lambda: pattern(rng, depth - 1)
    if depth == 0:
        return rng.choice(ATOMS)
    kind = rng.randrange(9)
    if kind == 0:
        return rng.choice(ATOMS)
    if kind <= 2:
        return inner() + inner()
    if kind == 3:
        return f"(?:{inner()}|{inner()}|{inner()})"
    if kind == 4:
        return f"{rng.choice(['(', '(?:', '(?>', '(?i:', '(?<n>'])}{inner()})"
    if kind == 5:
        return f"(?:{inner()}){rng.choice(REPEATS)}"
    if kind == 6:
        return f"{rng.choice(ATOMS)}{rng.choice(REPEATS)}"
    if kind == 7:
        return f"(?{rng.choice(['=', '!'])}{inner()}){rng.choice(['', 'a', '.'])}"
    return rng.choice(["^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z", f"(?<={rng.choice(ATOMS)})", f"(?<!{rng.choice(ATOMS)})"]) + rng.choice(ATOMS)


CLASS_PARTS = ["e", "s", "ß", "ẞ", "a-f", "k-t", "ſ", "ﬁ", r"\p{L}", r"\p{Lu}", r"\P{ASCII}", "[:upper:]", "[:^ascii:]", r"\w", r"\S", "É", "K", "ı", "ŉ", "ΐ", "σ"]


def character_class(rng, depth=2):
    """A class of characters with others in it, for patterns that ignore case."""
    parts = [rng.choice(CLASS_PARTS) if depth == 0 or rng.random() < 0.7 else character_class(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.35:
        parts.append("&&" + (character_class(rng, depth - 1) if depth and flag(rng) else rng.choice(CLASS_PARTS)))
    return f"[{rng.choice(['', '', '^'])}{''.join(parts)}]"


def any_pattern(rng):
    kind = rng.random()
    if kind < 0.3:
        return {"String": rng.choice([" ", "a", "th", "'", "\n", "▁", "é", "e", "  ", ".", "", "aa", "Ġ", "(", "\\s"])}
    if kind > 0.9:
        return {"Regex": f"(?i:{character_class(rng)}){rng.choice(['', '', 'x', 's', '{2}', '+'])}"}
    return {"Regex": rng.choice(PATTERNS) if kind < 0.65 else pattern(rng)}


def flag(rng):
    return rng.random() < 0.5


def normalizer(rng, depth=0):
    kinds = ["BertNormalizer", "Strip", "StripAccents", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "Prepend", "Replace", "Replace", "Precompiled", "ByteLevel", "Sequence"]
    kind = rng.choice(kinds if depth == 0 else kinds[:-1])
    if kind == "BertNormalizer":
        accents = rng.choice([None, True, False])
        return {"type": kind, "clean_text": flag(rng), "handle_chinese_chars": flag(rng), "strip_accents": accents, "lowercase": flag(rng)}
    if kind == "Strip":
        return {"type": kind, "strip_left": flag(rng), "strip_right": flag(rng)}
    if kind == "Prepend":
        return {"type": kind, "prepend": rng.choice(["▁", " ", "x", "<s>", "ab"])}
    if kind == "Replace":
        return {"type": kind, "pattern": any_pattern(rng), "content": rng.choice(["", " ", "▁", "x", "$1", "\\0", "é", "ab"])}
    if kind == "Precompiled":
        return {"type": kind, "precompiled_charsmap": "MAP"}
    if kind == "Sequence":
        return {"type": kind, "normalizers": [normalizer(rng, 1) for _ in range(rng.randint(0, 3))]}
    return {"type": kind}


def byte_level(rng):
    return {"type": "ByteLevel", "add_prefix_space": flag(rng), "trim_offsets": flag(rng), "use_regex": flag(rng)}


def metaspace(rng):
    return {"type": "Metaspace", "replacement": rng.choice(["▁", "▁", "▁", "_", "🪢"]), "prepend_scheme": rng.choice(["always", "never", "first"]), "split": flag(rng)}


def pre_tokenizer(rng, depth=0):
    kinds = ["BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Metaspace", "Whitespace", "WhitespaceSplit", "Split", "Split", "Split", "Punctuation", "Digits", "UnicodeScripts", "FixedLength", "Sequence", "Sequence"]
    kind = rng.choice(kinds if depth == 0 else kinds[:-2])
    if kind == "ByteLevel":
        return byte_level(rng)
    if kind == "Metaspace":
        return metaspace(rng)
    if kind == "CharDelimiterSplit":
        return {"type": kind, "delimiter": rng.choice([" ", "e", "_", "é", "\n", "🪢"])}
    if kind == "Split":
        return {"type": kind, "pattern": any_pattern(rng), "behavior": rng.choice(BEHAVIORS), "invert": flag(rng)}
    if kind == "Punctuation":
        return {"type": kind, "behavior": rng.choice(BEHAVIORS)}
    if kind == "Digits":
        return {"type": kind, "individual_digits": flag(rng)}
    if kind == "FixedLength":
        return {"type": kind, "length": rng.randint(1, 7)}
    if kind == "Sequence":
        return {"type": kind, "pretokenizers": [pre_tokenizer(rng, 1) for _ in range(rng.randint(0, 3))]}
    return {"type": kind}


def decoder(rng, depth=0):
    kinds = ["ByteLevel", "WordPiece", "Metaspace", "BPEDecoder", "CTC", "Replace", "Strip", "Fuse", "ByteFallback", "Sequence", "Sequence", "Sequence"]
    kind = rng.choice(kinds if depth == 0 else kinds[:-3])
    if kind == "ByteLevel":
        return byte_level(rng)
    if kind == "WordPiece":
        return {"type": kind, "prefix": rng.choice(["##", "", "_", "▁"]), "cleanup": flag(rng)}
    if kind == "Metaspace":
        return metaspace(rng)
    if kind == "BPEDecoder":
        return {"type": kind, "suffix": rng.choice(["</w>", "_", "e", "▁"])}
    if kind == "CTC":
        return {"type": kind, "pad_token": rng.choice(["<pad>", "a", "<s>"]), "word_delimiter_token": rng.choice(["|", "▁", " "]), "cleanup": flag(rng)}
    if kind == "Replace":
        return {"type": kind, "pattern": any_pattern(rng), "content": rng.choice(["", " ", "x", "ab"])}
    if kind == "Strip":
        return {"type": kind, "content": rng.choice([" ", "▁", "a", "é"]), "start": rng.randint(0, 2), "stop": rng.choice([0, 0, 1])}
    if kind == "Sequence":
        if flag(rng):
            steps = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
            return {"type": kind, "decoders": steps[: rng.randint(1, 4)]}
        return {"type": kind, "decoders": [decoder(rng, 1) for _ in range(rng.randint(0, 4))]}
    return {"type": kind}


def post_processor(rng, ids):
    """`ids` has the id of each special token."""
    kind = rng.choice([None, "BertProcessing", "RobertaProcessing", "ByteLevel", "TemplateProcessing", "Sequence"])
    token = lambda: (lambda name: [name, ids[name]])(rng.choice(SPECIALS[:4]))
    if kind is None:
        return None
    if kind == "BertProcessing":
        return {"type": kind, "sep": token(), "cls": token()}
    if kind == "RobertaProcessing":
        return {"type": kind, "sep": token(), "cls": token(), "trim_offsets": flag(rng), "add_prefix_space": flag(rng)}
    if kind == "ByteLevel":
        return byte_level(rng)
    if kind == "Sequence":
        steps = [byte_level(rng), template(rng, ids)]
        rng.shuffle(steps)
        return {"type": kind, "processors": steps[: rng.randint(1, 2)]}
    return template(rng, ids)


def template(rng, ids):
    used = {}

    def special(name):
        more = [ids[rng.choice(SPECIALS)]] if rng.random() < 0.2 else []
        used.setdefault(name, {"id": name, "ids": [ids[name], *more], "tokens": [name] + ["x"] * len(more)})
        return {"SpecialToken": {"id": name, "type_id": rng.randint(0, 2)}}

    def around(*names):
        parts = []
        for name in names:
            parts += [special(rng.choice(SPECIALS)) for _ in range(rng.choice([0, 1, 1]))]
            parts.append({"Sequence": {"id": name, "type_id": rng.randint(0, 2)}})
        return parts + [special(rng.choice(SPECIALS)) for _ in range(rng.choice([0, 1, 1]))]

    pair = rng.choice([["A", "B"]] * 8 + [["B", "A"], ["A", "B", "A"], ["A"], ["B"], []])
    return {"type": "TemplateProcessing", "single": around("A"), "pair": around(*pair), "special_tokens": used}


def added_token(rng, content):
    special = rng.random() < 0.4
    return {
        "content": content, "single_word": rng.random() < 0.25, "lstrip": rng.random() < 0.3, "rstrip": rng.random() < 0.3,
        "normalized": rng.random() < (0.2 if special else 0.5), "special": special,
    }
