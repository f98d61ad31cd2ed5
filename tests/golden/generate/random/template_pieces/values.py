"""The variables of random templates, and literals."""

CONTEXT = {
    "s": "Hello World",
    "t": "  çà ß-Ünï\n\tdŽ x ",
    "e": "",
    "html": "<b class='x'>a & b</b>",
    "lines": "one\ntwo  three\n\nfour-five six",
    "num": "42.7",
    "nan": "nan",
    "inf": "-Infinity",
    "emoji": "a😀b👩‍🚀c",
    "n": 7,
    "neg": -13,
    "zero": 0,
    "f": 2.5,
    "g": -0.125,
    "tenth": 0.1,
    "yes": True,
    "no": False,
    "nul": None,
    "l": [3, 1, 2],
    "ls": ["b", "A", "c", "B", "a"],
    "mix": [1, "a", None, 2.5, True, [1]],
    "empty": [],
    "users": [
        {"name": "Zoe", "age": 30, "city": "Oslo", "tags": ["x", "y"], "at": {"zip": 12}},
        {"name": "adam", "age": 25, "city": "oslo", "tags": [], "at": {"zip": 7}},
        {"name": "Bob", "age": 30, "city": "Rome", "admin": True, "at": {"zip": 9}},
    ],
    "d": {"b": 1, "A": 2, "c": "x"},
    "deep": {"items": [1, 2], "a b": {"k": [None, {"z": "ø"}]}, "pop": 5, "real": "r"},
    "messages": [
        {"role": "system", "content": "Be  short."},
        {"role": "user", "content": [{"type": "text", "text": "Hi <|x|>"}, {"type": "image"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1.5}}}]},
    ],
}

STRINGS = ["s", "t", "e", "html", "lines", "num", "emoji", "nan", "inf", "s", "t", "html"]
WHOLES = ["n", "neg", "zero", "l[0]"]
FLOATS = ["f", "g", "tenth"]
LISTS = ["l", "ls", "mix", "empty", "users", "deep['items']", "messages"]
DICTS = ["d", "deep", "users[0]", "messages[1]"]
BOOLS = ["yes", "no"]
ANYTHING = STRINGS + WHOLES + FLOATS + LISTS + DICTS + BOOLS + ["nul", "missing", "s.nothing", "users[9]"]

TEXT_LITERALS = [
    "''",
    "' '",
    "'a'",
    "'A'",
    "'l'",
    "'o'",
    "'ab'",
    "'abc'",
    '"it\'s"',
    "'é'",
    "'ß'",
    "'ǆ'",
    "'😀'",
    r"'\n'",
    r"'a\tb'",
    r"'\x41\u00e9\U0001F600'",
    r"'\q\é\101\\'",
    "'1'",
    "' 12 '",
    "'0x1F'",
    "'1_000'",
    "'1e3'",

    "'٣'",
    "'a,b,,c'",
    "'They\\'re bill\\'s friends'",
    "'ΣΑΣ ΌΣΟΣ'",
    "'ab' \"cd\"",
    "'{} {x}'",
    "'%s'",
    "'name'",
    "'x-y (z) [w] <v>'",
]
NUMBER_LITERALS = [
    "0", "1", "2", "3", "5", "10", "007", "1_000", "0x1f", "0b101", "0o17", "12345", "9007199254740993",
    "12345678901234567890123", "2", "3",
]
FLOAT_LITERALS = ["0.5", "1.5", "2.5", "3.0", "1e3", "1E-7", "1.25e+2", "1_0.2_5", "1e16", "1e22", "0.1", "2.675", "123456.789"]
