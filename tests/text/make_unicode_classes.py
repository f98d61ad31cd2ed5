"""Writes web/src/runtime/text/unicode/runs.ts: which characters are letters, numbers and so on, for Hugging Face's Rust tokenizers. And
bert_runs.ts there: the classes of its normalizers and of BERT's words, which have older versions of Unicode, and script_runs.ts: the
scripts of its pre-tokenizer UnicodeScripts.

Asks the library about each character, so that the classes have its version of Unicode (16.0). Run it in a separate environment:

    pip install tokenizers==0.23.3
    python tests/text/make_unicode_classes.py
"""

from collections import Counter
from pathlib import Path

from tokenizers import Regex, normalizers, pre_tokenizers

# a letter for each class of characters; N and M have parts that patterns name too
CLASSES = {"A": "Lu", "B": "Ll", "C": "Lt", "D": "Lm", "E": "Lo", "F": "Mn", "G": "M", "H": "Nd", "I": "N", "J": "P", "K": "S"}
CHARACTERS = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
TEXT = "".join(map(chr, CHARACTERS))
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def main():
    class_of = {}
    for letter, name in reversed(CLASSES.items()):
        class_of.update(dict.fromkeys(members(name), letter))
    han = dict.fromkeys(members("Han"), "A")
    out = Path(__file__).parents[2] / "web/src/runtime/text/unicode/runs.ts"
    out.write_text(
        "// Unicode 16.0, as tests/text/make_unicode_classes.py writes it: runs of characters of the same class. A letter names the class, and\n"
        "// its length in base 36 follows unless it is 1. Z is any other class.\n\n"
        + "/** General categories: " + ", ".join(f"{letter} {name}" for letter, name in CLASSES.items()) + ". */\n"
        + constant("CATEGORY_RUNS", runs(class_of)) + "\n/** The script Han: A. */\n" + constant("HAN_RUNS", runs(han)),
        encoding="utf-8",
    )
    bert_runs(out.with_name("bert_runs.ts"))
    script_runs(out.with_name("script_runs.ts"))


def bert_runs(out):
    """Asks the components of BERT about each character."""
    letters = {}
    letters.update(dict.fromkeys(changed(normalizers.StripAccents(), ""), "D"))
    letters.update(dict.fromkeys(changed(normalizers.BertNormalizer(False, False, True, False), ""), "C"))
    letters.update(dict.fromkeys(changed(normalizers.BertNormalizer(True, False, False, False), ""), "B"))
    words = pre_tokenizers.BertPreTokenizer()
    letters.update({code: "A" for code in CHARACTERS if len(words.pre_tokenize_str(f"a{chr(code)}a")) == 3})
    decomposed = dict.fromkeys(changed(normalizers.NFKD()), "A")
    out.write_text(
        "// Classes of characters in the components of a tokenizer.json, as tests/text/make_unicode_classes.py writes them. Written as in runs.ts.\n\n"
        "/** A: words of their own (punctuation). B: removed by clean_text. C: marks removed by BERT's strip_accents, C and D: by StripAccents. */\n"
        + constant("BERT_RUNS", runs(letters))
        + "\n/** A: characters that NFKD changes. Later versions of Unicode decompose more. */\n"
        + constant("DECOMPOSED_RUNS", runs(decomposed)),
        encoding="utf-8",
    )


def script_runs(out):
    """Asks UnicodeScripts about each character: whether it is a word with one of each script."""
    words = pre_tokenizers.UnicodeScripts()
    members, class_of = [], {}
    previous = None
    for code in CHARACTERS:
        character = chr(code)
        if not words.pre_tokenize_str(character):
            continue  # of no script
        if previous is not None and len(words.pre_tokenize_str(previous + character)) == 1:
            class_of[code] = class_of[ord(previous)]
        else:
            found = (i for i, member in enumerate(members) if len(words.pre_tokenize_str(member + character)) == 1)
            class_of[code] = next(found, len(members))
            if class_of[code] == len(members):
                members.append(character)
        previous = character
    counts = Counter(class_of[code] for code in class_of if class_of.get(code - 1) != class_of[code])
    by_count = {script: i for i, (script, _) in enumerate(counts.most_common())}
    letters = {code: script_letters(by_count[script]) for code, script in class_of.items()}
    out.write_text(
        "// Scripts, as tests/text/make_unicode_classes.py writes them. Written as in runs.ts, but with two letters for most scripts, U to Y and another.\n\n"
        + constant("SCRIPT_RUNS", runs(letters)),
        encoding="utf-8",
    )


def script_letters(index):
    return chr(65 + index) if index < 20 else chr(85 + (index - 20) // 26) + chr(65 + (index - 20) % 26)


def changed(normalizer, into=None):
    """The characters that a normalizer changes, or changes into a text."""
    results = ((code, normalizer.normalize_str(chr(code))) for code in CHARACTERS)
    return [code for code, result in results if (result != chr(code) if into is None else result == into)]


def members(name):
    splitter = pre_tokenizers.Split(Regex(r"\p{%s}" % name), "removed", invert=True)
    return {ord(character) for piece, _ in splitter.pre_tokenize_str(TEXT) for character in piece}


def runs(class_of):
    text, previous, length = "", "Z", 0
    for code in range(0x110000):
        letter = class_of.get(code, "Z")
        if letter != previous:
            text += run(previous, length)
            previous, length = letter, 0
        length += 1
    return text if previous == "Z" else text + run(previous, length)


def run(letter, length):
    written = ""
    rest = length
    while rest > 0:
        rest, digit = divmod(rest, 36)
        written = DIGITS[digit] + written
    return "" if length == 0 else letter if length == 1 else letter + written


def constant(name, text):
    lines = [text[at : at + 130] for at in range(0, len(text), 130)]
    return f"export const {name} =\n" + " +\n".join(f'  "{line}"' for line in lines) + ";\n"


main()
