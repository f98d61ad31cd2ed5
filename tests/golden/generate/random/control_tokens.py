"""random/control_tokens.json: chats with control tokens in the messages, and the ids of transformers' `sanitize_control_tokens`.

Tokenizers are those of tokenizer_pipelines.py. `ids` is null where transformers refuses: the vocabulary can't write the token as text. Left out is
BPE with a prefix of later parts, whose unknown tokens are a matter of tokenizer_pipelines.py.
"""
# compare: --cases 400
# test: tests/unit/text/control_tokens.test.mjs

import json
import random

from transformers import PreTrainedTokenizerFast
from tokenizers import Tokenizer

from drawing.options import options_parser
from pipelines.cases import text
from pipelines.parts import SPECIALS
from tokenizer_pipelines import ADDED, draw, filled, silence

TOKENS = [*SPECIALS, *(token for token in ADDED if token.strip())]


def main():
    options = options_parser(__doc__, "control_tokens", 60).parse_args()
    silence()
    rng = random.Random(options.seed)
    cases = []
    while len(cases) < options.cases:
        file = draw(rng)
        if file is None or not file["added_tokens"] or file["model"].get("continuing_subword_prefix"):
            continue
        case = drawn(rng, file)
        if case is not None:
            cases.append(case)
    golden = {"source": "transformers 5.24.0, apply_chat_template(sanitize_control_tokens=True)", "seed": options.seed, "cases": cases}
    options.output.write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def drawn(rng, file):
    tokens = [token["content"] for token in file["added_tokens"]]
    mark = rng.choice([token for token in tokens if "\n" not in token] or ["|"])
    template = "{% for m in messages %}" + mark + "{{ m.role }} {{ m.content }}" + rng.choice([mark, "", "\\n", " "]) + "{% endfor %}"
    chats = [[{"role": role, "content": content(rng, tokens)} for role in ("user", "assistant")[: rng.randint(1, 2)]] for _ in range(6)]
    try:
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(filled(file)), chat_template=template)
        ids = [encoded(tokenizer, chat) for chat in chats]
    except BaseException:  # the library fails for some texts, as for one without an unknown token
        return None
    return {"file": file, "template": template, "chats": chats, "ids": ids}


def content(rng, tokens):
    return "".join(rng.choice([*tokens, *TOKENS, text(rng.randrange(2**31)), " ", "a"]) for _ in range(rng.randint(1, 4)))


def encoded(tokenizer, chat):
    try:
        return tokenizer.apply_chat_template(chat, sanitize_control_tokens=True, tokenize=True, return_dict=False)
    except ValueError as error:
        if "sanitize" in str(error):
            return None
        raise


if __name__ == "__main__":
    main()
