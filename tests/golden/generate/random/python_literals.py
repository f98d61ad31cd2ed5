"""Writes random/python_literals.json: Python literals drawn at random, and what ast.literal_eval reads.

    python python_literals.py [--seed N] [--cases N] [--output FILE]

A value is JSON, but numbers are {"int": text} and {"float": text}, sets {"set": [...]} and dictionaries {"dict": {...}} with the keys of
json.dumps. It is null where Python refuses the text, or JSON has no such value (bytes, complex numbers, tuples as keys), also of a key that
has another value later.
"""

# compare: --cases 100000
# test: tests/unit/serving/python_literals.test.mjs

import ast
import json
import random
import warnings

from drawing.options import options_parser


CHARACTERS = list("abcxyz019 _-+*/\\\\\\'\"{}[]():,#$%&<>=.éßñ名😀🐀\u2028\u00a0") + ["\t", "\n", "\r\n"]
ESCAPES = [
    r"\n", r"\t", r"\r", r"\a", r"\b", r"\f", r"\v", r"\\", r"\'", r"\"", r"\0", r"\7", r"\101", r"\18", r"\777", r"\x41", r"\xe9",
    r"\u00e9", r"\u2028", r"\ud83d\ude00", r"\U0001F600", r"\q", r"\d", "\\\n", "\\\r\n",
]
WRONG_ESCAPES = [r"\x4", r"\u12", r"\U00110000", r"\N{DASH}", r"\N{EM DASH}"]
NUMBERS = [
    "0", "7", "42", "1_000", "00", "0_0", "12345678901234567890123", "0x1F", "0X_ff", "0o17", "0B101", "1.50", ".5", "1.", "1.e3", "1e5", "1E-7",
    "1_0.0_1e1_0", "0123.5", "1e999", "0.1", "123456789.123456789012", "5e-324", "1.0", "1e16",
]
NAMES = ["True", "False", "None", "True", "False", "None", "set()", "set( )"]
WRONG = ["007", "0_7", "0xG", "1__0", "1_", "1e", "1j", "2.5J", "...", "nan", "inf", "Truex", "frozenset()", "1+2j", "1-1", "not 1"]


def main():
    options = options_parser(__doc__, "python_literals", 1500).parse_args()
    warnings.simplefilter("ignore")
    draw = random.Random(options.seed)
    texts = {}
    while len(texts) < options.cases:
        text = literal(draw, 3)
        if draw.random() < 0.2:
            text = changed(draw, text)
        if text and len(text) < 400:
            texts[text] = None
    cases = [[text, value_of(text)] for text in texts]
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    options.output.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    read = sum(value is not None for _, value in cases)
    print(f"{len(cases)} texts, {read} of them literals that JSON has")


def literal(draw, depth):
    kind = draw.random()
    if depth == 0 or kind < 0.4:
        return string(draw) if draw.random() < 0.55 else number(draw)
    space = lambda: draw.choice(["", "", "", " ", "\n  ", "\t", " # a, ' b\n"])
    items = [space() + literal(draw, depth - 1) + space() for _ in range(draw.randrange(4))]
    comma = draw.choice(["", "", ","]) if items else ""
    if kind < 0.6:
        return f"[{','.join(items)}{comma}]"
    if kind < 0.72:
        return f"({','.join(items)}{comma})"
    if kind < 0.8 and items:
        return f"{{{','.join(items)}{comma}}}"
    keys = [space() + (string(draw) if draw.random() < 0.7 else literal(draw, depth - 1)) + space() for _ in items]
    return f"{{{','.join(f'{key}:{item}' for key, item in zip(keys, items))}{comma}}}"


def number(draw):
    text = draw.choice(NUMBERS if draw.random() < 0.7 else NAMES)
    if draw.random() < 0.03:
        text = draw.choice(WRONG)
    if draw.random() < 0.2:
        sign = draw.choice(["-", "-", "+", "- ", "- ", "--", "-+"])
        text = f"{sign}({text})" if draw.random() < 0.2 else sign + text
    return f"({text})" if draw.random() < 0.05 else text


def string(draw):
    parts = []
    for _ in range(draw.choice([1, 1, 1, 1, 2, 3])):
        prefix = draw.choice(["", "", "", "", "", "", "r", "R", "u", "U"] if draw.random() < 0.97 else ["b", "f", "Rb", "ur"])
        quote = draw.choice(["'", '"', "'''", '"""'])
        body = ""
        for _ in range(draw.choice([0, 1, 3, 8])):
            escapes = ESCAPES if draw.random() < 0.98 else WRONG_ESCAPES
            body += draw.choice(escapes) if draw.random() < 0.3 else draw.choice(CHARACTERS)
        if draw.random() < 0.97:
            # most strings end where they should, and have line breaks only in three quotes
            body = body.replace(quote, "").replace(quote[0], "") if "r" in prefix.lower() else body.replace(quote[0], "\\" + quote[0])
            if len(quote) == 1:
                body = body.replace("\r", "").replace("\n", "")
            if (len(body) - len(body.rstrip("\\"))) % 2 == 1:
                body += "\\"
        parts.append(prefix + quote + body + quote)
    return draw.choice(["", " ", "  "]).join(parts)


def changed(draw, text):
    at = draw.randrange(len(text) + 1)
    return text[:at] + draw.choice(["", *CHARACTERS]) + text[at + draw.randrange(2):]


def value_of(text):
    try:
        value = as_json(ast.literal_eval(text))
        return value if all(is_json(node) for node in ast.walk(ast.parse(text.lstrip(" \t"), mode="eval"))) else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def is_json(node):
    if isinstance(node, ast.Dict):
        return not any(isinstance(key, ast.Tuple) for key in node.keys)
    return not (isinstance(node, ast.Constant) and isinstance(node.value, (bytes, complex, type(...))))


def as_json(value):
    """Raises ValueError for what JSON doesn't have."""
    if value is None:
        return {"none": True}
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return {"int": str(value)}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, set):
        return {"set": sorted((as_json(item) for item in value), key=json.dumps)}
    if isinstance(value, dict):
        return {"dict": {key_of(key): as_json(item) for key, item in value.items()}}
    raise ValueError(value)


def key_of(key):
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, (bool, int, float)):
        return {True: "true", False: "false"}[key] if isinstance(key, bool) else "null" if key is None else str(key)
    raise ValueError(key)


if __name__ == "__main__":
    main()
