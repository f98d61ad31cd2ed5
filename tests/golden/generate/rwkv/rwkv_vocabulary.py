"""The tokens of the tiny RWKV models: a file of the same form as rwkv_vocab_v20230424.txt, which models of RWKV World have.

A line has an id, a Python literal (str, or bytes if they aren't UTF-8), and the number of bytes. Id 0 isn't in the file.
"""

import json

FILE = "rwkv_vocab_v20230424.txt"
PIECES = ["\n\n", "th", "he", "the", " the", " t", "''", "\"'", "\\n", "é", "你", "你好", " ", "  ", "the cat", b"\xe4\xbd", b"\x80\x81"]
CHAT_TEMPLATE = "{% for message in messages %}{{ message.role | capitalize }}: {{ message.content }}\n\n{% endfor %}"
VOCABULARY = 276  # the last have no token


def tokens():
    """Bytes of the tokens from id 1 on."""
    single = [bytes([byte]) for byte in range(256)]
    pieces = {piece if isinstance(piece, bytes) else piece.encode() for piece in PIECES}
    return single + sorted(pieces - set(single), key=lambda piece: (len(piece), piece))


def write_vocabulary(folder):
    lines = [f"{id} {literal(token)} {len(token)}\n" for id, token in enumerate(tokens(), start=1)]
    assert len(lines) < VOCABULARY
    (folder / FILE).write_text("".join(lines), encoding="utf-8")
    # without a template of its own, the converter of llama.cpp would add one
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": CHAT_TEMPLATE}, indent=2) + "\n", encoding="utf-8")


def literal(token):
    try:
        return repr(token.decode())
    except UnicodeDecodeError:
        return repr(token)
