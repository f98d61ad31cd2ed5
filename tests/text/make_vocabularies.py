"""Writes vocabularies.json: small vocabularies trained on the corpus below, and the reference tokenizers' encodings of the texts.

The byte-level vocabulary and the tokenizer.json in the style of Llama 2 are trained with Hugging Face's Rust tokenizers, with the
patterns of the models' own tokenizer.json files. The SentencePiece vocabulary is trained with Google's sentencepiece. Run it in a
separate environment:

    pip install tokenizers==0.23.3 sentencepiece==0.2.1
    python tests/text/make_vocabularies.py
"""

import io
import json
import random
from importlib.metadata import version
from pathlib import Path

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

VERSIONS = {"tokenizers": "0.23.3", "sentencepiece": "0.2.1"}

CORPUS = """
A rope is made of strands, and strands of yarns; the yarns are spun from fibres no longer than an arm.
The ropewalk was a lane, a quarter of a mile long, along which the spinners walked backwards all day.
They'd say: "We've walked to the moon, and we'll walk back." I'm sure it's true; you're sure it isn't.
In 1770 a cable of 120 fathoms weighed 4500 pounds, in 1805 it weighed 9000. That's 3.5% a year.
for (int i = 0; i < count; ++i) { sum += values[i] * weights[i]; }  // the sum of products
Das Seil hält länger, als die Garne reichen: Reibung hält sie zusammen. Größe, Maß und Übung.
La corde est faite de fils; où l'un finit, un autre a déjà commencé. Ça tient très bien.
Верёвка состоит из прядей, а пряди из нитей. Канат тянется через весь двор.
绳子由许多细线捻成。每根线都很短，绳子却很长。 縄は細い糸を撚って作る。
""".strip().splitlines()

TEXTS = [
    "", " ", "  ", "   ", "\n", "\n\n", " \n", "\t", "\r\n", "\n \n", "a", " a", "a ", "  a  b   c    d",
    "The ropewalk was long.", " The ropewalk", "THE ROPE'S END; they'LL, We'Ve, I'm, 'tis", "strands\n\nof yarns\n  of fibres\n",
    "1 12 123 1234 12345 3.14159 1,000,000", "x=1;y[22]+=333;", "foo_bar.baz(qux)->next != nullptr && !done;",
    "\tif (a) {\n\t\treturn;\n\t}\n",
    "Größe über Maß", "où déjà Ça", "Верёвка и канат", "绳子很长。糸を撚る", "한글 텍스트", "camelCaseWordsAndHTTPServer2Go",
    "e\u0301 n\u0303 o\u0308\u0304", "👍🏽 👩‍👩‍👧 🇫🇷 🪢", "a\u00a0b\u2003c\u3000d\u0085e\ufefff", "½ Ⅷ ² ٣٤ ๓๔",
    "\u0001\u0007\u001b\u007f", "हिन्दी ไทย עברית العربية",
    "$5 £6 €7 ~^`|<=>+ «quoted» “quoted” …—", "word!!! word??? word... #tag @name 50% a/b/c", "ǅ ʔ ªº Ａｂｃ １２３", "trailing space \n next",
]

ALPHABET = list("aZ09 .,'\n\t_-é漢Ж½ 　ſ\u0301") + ["\r\n", "'s", "  ", "👍"]


def main():
    for package, wanted in VERSIONS.items():
        if version(package) != wanted:
            raise SystemExit(f"needs {package} {wanted}, but {version(package)} is installed")
    generator = random.Random("vocabularies")
    texts = TEXTS + ["".join(generator.choices(ALPHABET, k=40)) for _ in range(12)]
    out = {"texts": texts, "byte_level": byte_level(texts), "sentence_piece": sentence_piece(texts), "llama_json": llama_json(texts)}
    Path(__file__).with_name("vocabularies.json").write_text(json.dumps(out, ensure_ascii=True, separators=(",", ":")) + "\n")


# -- byte-level byte-pair encoding --

IGNORED_CASE = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LINE_ENDS = r"\s*[\r\n]+|\s+(?!\S)|\s+"


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def gpt4(digits, letters=r"\p{L}"):
    others = rf"[^\s{letters.strip('[]')}\p{{N}}]"
    words = rf"[^\r\n\p{{L}}\p{{N}}]?{letters}+|\p{{N}}{digits}| ?{others}+[\r\n]*"
    return [split(f"{IGNORED_CASE}|{words}|{LINE_ENDS}")]


def cased(suffix, digits):
    upper, lower, lead = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"[^\r\n\p{L}\p{N}]?"
    words = f"{lead}{upper}*{lower}+{suffix}|{lead}{upper}+{lower}*{suffix}"
    return [split(rf"{words}|\p{{N}}{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|" + LINE_ENDS)]


BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
DIGITS = pre_tokenizers.Digits(individual_digits=True)
HAN = split("[一-龥ࠀ-一가-퟿]+")

# BYTES, which maps bytes to characters, is added below as the last step, except after GPT2, which does it too
PRE_TOKENIZERS = {
    "gpt-2": [GPT2],
    "smollm": [DIGITS, GPT2],
    "llama-bpe": gpt4("{1,3}"),
    "qwen2": gpt4(""),
    "qwen35": gpt4("", r"[\p{L}\p{M}]"),
    "deepseek-coder": [split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), HAN, DIGITS],
    "deepseek-v3": [
        split(r"\p{N}{1,3}"),
        split("[一-龥\u3040-ゟ゠-ヿ]+"),
        split(
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
            "| ?[\\p{P}\\p{S}]+[\r\n]*|" + LINE_ENDS
        ),
    ],
    "gpt-4o": cased(IGNORED_CASE + "?", "{1,3}"),
    "tekken": cased("", ""),
    "bloom": [split(" ?[^(\\s|[.,!?…。，、।۔،])]+")],
}


def byte_level(texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = GPT2
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=520, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=["<|begin|>", "<|im_end|>"],
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens([AddedToken("<tool>", special=False, normalized=False)])
    ids = {}
    for name, steps in PRE_TOKENIZERS.items():
        last = [] if steps[-1] is GPT2 else [BYTES]
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*steps, *last])
        ids[name] = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*PRE_TOKENIZERS["qwen2"], BYTES])
    begin = ("<|begin|>", tokenizer.token_to_id("<|begin|>"))
    tokenizer.post_processor = processors.TemplateProcessing(single="<|begin|> $A", special_tokens=[begin])
    return {"tokenizer_json": json.loads(tokenizer.to_str()), "ids": ids, "marked": marked(tokenizer)}


MARKED = ["<|begin|>rope<|im_end|>\n", "a<tool>b", "<|im_end|><|im_end|>", "The <|im_end| rope", "x <tool> y<|im_end|> z"]


def marked(tokenizer):
    """Encodes texts with special tokens, recognized and not, and decodes them."""
    cases = []
    for text in MARKED:
        ids = tokenizer.encode(text).ids
        tokenizer.encode_special_tokens = True
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        cases.append({
            "text": text, "ids": ids, "plain": plain,
            "decoded": tokenizer.decode(ids), "decoded_whole": tokenizer.decode(ids, skip_special_tokens=False),
        })
    return cases


# -- SentencePiece --

def sentence_piece(texts):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_writer=model, model_type="bpe", vocab_size=560, byte_fallback=True, character_coverage=0.98,
        normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=True, split_digits=True,
        allow_whitespace_only_pieces=True, control_symbols=["<|end|>"], minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    size = processor.get_piece_size()
    kinds = [kind(processor, i) for i in range(size)]
    bare = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    bare.override_normalizer_spec(add_dummy_prefix=False)
    return {
        "tokens": [processor.id_to_piece(i) for i in range(size)],
        "scores": [processor.get_score(i) for i in range(size)],
        "token_type": kinds,
        "ids": [processor.encode(text) for text in texts],
        "ids_without_prefix": [bare.encode(text) for text in texts],
    }


def kind(processor, i):
    if processor.is_unknown(i):
        return 2
    if processor.is_control(i):
        return 3
    return 6 if processor.is_byte(i) else 1


def llama_json(texts):
    """Trains a tokenizer.json in the style of Llama 2: prefix ▁, byte fallback, a decoder with four steps."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    specials = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=specials, limit_alphabet=60, show_progress=False, max_token_length=8)
    tokenizer.train_from_iterator(CORPUS, trainer)
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = data["added_tokens"][:3]  # the byte tokens are only in the model's vocabulary
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(content=" ", left=1, right=0)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    encodings = [tokenizer.encode(text) for text in texts]
    return {
        "tokenizer_json": json.loads(tokenizer.to_str()),
        "ids": [encoding.ids for encoding in encodings],
        "decoded": [tokenizer.decode(encoding.ids) for encoding in encodings],
        "decoded_whole": [tokenizer.decode(encoding.ids, skip_special_tokens=False) for encoding in encodings],
    }


main()
