"""Writes grammar_masks.json: the tokens that llama.cpp's grammar sampler allows at each step of random texts. See README.md.

    python make_masks.py            write the file
    python make_masks.py --check    compute the cases again and compare with the committed file

The vocabulary has all bytes, words, pieces of JSON, and parts of characters. It is the same for all cases.
"""

import argparse
import base64
import codecs
import ctypes
import json
import random
import sys
import tempfile
from pathlib import Path

import gguf
import llama_cpp as lib

sys.path.insert(0, str(Path(__file__).parents[1]))

HERE = Path(__file__).parents[2]
STEPS = 24
TEXTS = 4
JSON_GRAMMAR = r'''
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws # a comment
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
'''
GRAMMARS = {
    "text": 'root ::= "the cat"',
    "alternatives": 'root ::= "the " ("cat" | "dog" | "cattle") " sat"',
    "set": "root ::= [a-f0-9]+",
    "set without": 'root ::= [^a-z]* "x"',
    "escapes": r'root ::= [\x41-\x43\n\t\\\]\[-]+ "\x41\u00e9\U0001F600\""',
    "accents": "root ::= [à-ü]+",
    "Greek and Japanese": "root ::= ([α-ω]+ | [ぁ-ん]+) [a-c]",
    "any character": 'root ::= . . "z"',
    "beyond the basic plane": r"root ::= [\U0001F600-\U0001F64F]+ [a-z]",
    "optional": 'root ::= "a"? "b"? "c"',
    "repeat exactly": 'root ::= "ab"{3} [0-9]{2}',
    "repeat from": 'root ::= [a-c]{2,} "!"',
    "repeat between": 'root ::= ("cat" | "dog"){1,3} "."',
    "repeat up to": 'root ::= [a-z]{0,5} " " [0-9]',
    "rules": 'root ::= greeting ", " name\ngreeting ::= "hello" | "hi"\nname ::= [A-Z] [a-z]*',
    "recursion": 'root ::= term ("+" term)*\nterm ::= [0-9]+ | "(" root ")"',
    "right recursion": 'root ::= "a" root | "b"',
    "nested repeats": "root ::= (([a-c] | [d-f] [0-9])+ \" \")* \"end\"",
    "empty alternatives": 'root ::= ("a" | "") ("" | "b") ("c" | )',
    "lines": 'root ::= (\n  "one"  # comment\n  | "two"\n)\n',
    "JSON": JSON_GRAMMAR,
    "list": 'root ::= ("- " [^\\n]+ "\\n"){1,4}',
    "date": 'root ::= [0-9]{4} "-" [01] [0-9] "-" [0-3] [0-9]',
    "chess": 'root ::= "1. " move " " move "\\n" ([1-9] [0-9]? ". " move " " move "\\n")+\n'
    'move ::= (pawn | nonpawn | castle) [+#]?\npawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?\n'
    'nonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]\ncastle ::= "O-O" "-O"?',
}
PIECES = [
    "the", " the", "cat", " cat", "dog", "cattle", " sat", "hello", "hi", ", ", "ab", "abab", "ababab", "abc", "bc", "end", " end", "one", "two",
    '{"', '":', '": ', '", "', '"}', "{}", "[]", "[[", "]]", "],", "},", ",\n", "\n  ", "\n    ", '":"', "true", "false", "null", "12", "2024", "-0",
    "0.5", "e+", "\\n", "\\u00", '\\"', "1.", ". ", "Nf3", "e4", "O-O", "- ", "\n- ", "à", "é", "ü", "éà", "α", "βγ", "あ", "いう", "日本", "😀", "😀😃",
    "a😀", "zz", " z", "+1", "(1", "))", "fa", "d1", "e2f", "XYZ", "Anna", "x!", "!",
]  # fmt: skip
PARTS = [b"\xc3", b"\xf0\x9f", b"\x98\x80", b"a\xc3", b"\xa9b", b"\xe3\x81", b"\x82\xe3", b"\x80", b"\xe6\x97"]


def tokens():
    pieces = [bytes([byte]) for byte in range(256)] + [piece.encode() for piece in PIECES] + PARTS
    return [b""] + sorted(set(pieces), key=pieces.index)  # token 0 ends a text


def byte_characters():
    printed = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    return {byte: chr(byte) for byte in printed} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def write_vocabulary(path, all_tokens):
    characters = byte_characters()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(8)
    writer.add_feed_forward_length(8)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(["<end>", *("".join(characters[byte] for byte in token) for token in all_tokens[1:])])
    writer.add_token_types([3] + [1] * (len(all_tokens) - 1))
    writer.add_token_merges(["a b"])  # llama.cpp wants some
    writer.add_eos_token_id(0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def load_vocabulary(path):
    parameters = lib.llama_model_default_params()
    parameters.vocab_only = True
    return lib.llama_model_load_from_file(str(path).encode(), parameters)


def allowed_by(sampler, size):
    array = (lib.llama_token_data * size)(*(lib.llama_token_data(token, 0, 0) for token in range(size)))
    candidates = lib.llama_token_data_array(array, size, -1, False)
    lib.llama_sampler_apply(sampler, ctypes.byref(candidates))
    return [array[i].id for i in range(size) if array[i].logit > -1e30]


def begins_text(text):
    """Whether bytes are UTF-8 but for a character that isn't complete, after whose first byte any other may follow.

    llama.cpp allows bytes that no character has, such as surrogates and forms that are too long.
    """
    try:
        codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        return False
    return b"\0" not in text and text[-1:] not in (b"\xe0", b"\xed", b"\xf0", b"\xf4")


def case(vocabulary, all_tokens, name, grammar, text, draw):
    size = len(all_tokens)
    sampler = lib.llama_sampler_init_grammar(vocabulary, grammar.encode(), b"root")
    assert sampler, name
    steps = []
    so_far = b""
    for _ in range(STEPS):
        allowed = allowed_by(sampler, size)
        bits = bytearray((size + 7) // 8)
        for token in allowed:
            bits[token // 8] |= 1 << token % 8
        valid = [token for token in allowed if begins_text(so_far + all_tokens[token])]
        long = [token for token in valid if token > 256]
        token = draw.choice(long if long and draw.random() < 0.6 else valid)  # else single bytes would be nearly all
        so_far += all_tokens[token]
        steps.append([base64.b64encode(bytes(bits)).decode(), token])
        if token == 0:
            break
        lib.llama_sampler_accept(sampler, token)
    lib.llama_sampler_free(sampler)
    return {"name": f"{name}, text {text}", "grammar": grammar, "steps": steps}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--check", action="store_true", help="only compare with the committed file")
    check_only = arguments.parse_args().check

    all_tokens = tokens()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocabulary.gguf"
        write_vocabulary(path, all_tokens)
        model = load_vocabulary(path)
        vocabulary = lib.llama_model_get_vocab(model)
        draw = random.Random(20261123)
        cases = [
            case(vocabulary, all_tokens, name, grammar, text, draw)
            for name, grammar in GRAMMARS.items()
            for text in range(TEXTS)
        ]
    golden = {"tokens": [base64.b64encode(token).decode() for token in all_tokens], "cases": cases}
    target = HERE / "grammar_masks.json"
    if not check_only:
        lines = ",\n".join(json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in cases)
        target.write_text(f'{{"tokens": {json.dumps(golden["tokens"])},\n"cases": [\n{lines}\n]}}\n', encoding="utf-8")
        return
    print("same as" if golden == json.loads(target.read_text()) else "DIFFERS from", "the committed file")


if __name__ == "__main__":
    main()
