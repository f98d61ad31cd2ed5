"""Writes encoder_vocabularies.json: WordPiece and Unigram vocabularies, and hashes of what the reference tokenizers do with 2,000 texts.

Most are trained with Hugging Face's Rust tokenizers on pages of docs/ and the corpus below. `sentence_piece` is trained with Google's
sentencepiece, as the vocabulary of a GGUF file. Texts come from a generator that tests/text/random_texts.mjs has too. Run it in a separate
environment:

    pip install tokenizers==0.23.3 sentencepiece==0.2.3 protobuf
    python tests/text/make_encoder_vocabularies.py
"""

import base64
import hashlib
import io
import json
import re
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

VERSIONS = {"tokenizers": "0.23.3", "sentencepiece": "0.2.3"}
COUNT = 2000
DOCS = Path(__file__).parents[2] / "docs"

CORPUS = """
Das Seil hält länger, als die Garne reichen: Reibung hält sie zusammen. Größe, Maß und Übung. ÜBER ÄRGER, ÖFTER.
La corde est faite de fils; où l'un finit, un autre a déjà commencé. Ça tient très bien, naïve façade, cœur.
Верёвка состоит из прядей, а пряди из нитей. Канат тянется через весь двор. Ещё ёлка, й.
绳子由许多细线捻成。每根线都很短，绳子却很长。 縄は細い糸を撚って作る。ガラス、ﾃﾚﾋﾞ。
밧줄은 여러 가닥으로 만든다. 한글 텍스트. हिन्दी में रस्सी। เชือกยาวมาก। עברית العربية
I can't, don't, we've, they're: it's 3.5% of 1,000,000 € at ½ price! 👍🏽 🪢 ２０２６ ＡＢＣ ﬁne ℃ №5
""".strip().splitlines()

PIECES = (
    ["the", "rope", " and", "Yarn", " of", "attention", "ing", "'s", "n't", "do not", "can't", " ", "  ", "   ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2028"]
    + ["\u0085", "\u200b", "\u200d", "\ufeff", "\u00ad", "\0", "\x01", "\x7f", "\x8f", "\ufffd", "\ue000", "\ufdd0", "é", "e\u0301", "Å", "A\u030a", "ñ", "İ", "ı", "ß"]
    + ["ẞ", "Σ", "ΑΣ", "ς", "ǅ", "ﬁ", "ﬃ", "½", "Ⅷ", "²", "℃", "№", "㍿", "ｱ", "ﾞ", "ガ", "カ\u3099", "ｅ\u0301", "Ａ", "１"]
    + ["한글", "ㅎ", "각", "漢字", "绳子", "\u3400", "\U00020000", "\U0002b830", "\uf900", "ひらがな", "カナ", "रस्सी", "क्ष", "เชือก", "עברית", "العربية", "\u0640", "\u0301", "\u0308\u0304", "\u20e3"]
    + ["👍🏽", "👩‍👩‍👧", "🇫🇷", "🪢", "1\ufe0f\u20e3", ".", ",", "!", "?", "'", " ' ", "-", "—", "…", "«", "”", "/", "@", "#", "$"]
    + ["€", "+", "^", "`", "|", "~", "_", "▁", "▁▁", "##", "##s", "[CLS]", "[SEP]", "[UNK]", "[MASK]", "<s>", "</s>", "<unk>", "<mask>", "<tool>"]
    + ["TOOL", "0", "12", "3.5", "1,000", "٣", "๓", "\U0001d7d8", "\U00010428", "\U00010400", "\U0001e900", "Ⓐ", "ᾳ", "ǆ", "ŉ", "ﷺ", "\u1e9b\u0323", "<0x41>", "Ñ", "xyz"]
)
RANGES = [(0x20, 0x7F), (0x80, 0x250), (0x300, 0x370), (0x370, 0x600), (0x600, 0x2000), (0x2000, 0x3100), (0x3100, 0xD800), (0xE000, 0x10000), (0x10000, 0x20000)]


class Numbers:
    """The generator of random_texts.mjs."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 1664525 + 1013904223) & 0xFFFFFFFF
        return (self.state >> 8) % limit


def text(seed):
    numbers = Numbers(seed)
    parts = []
    for _ in range([1, 2, 4, 8, 16, 40][numbers.below(6)]):
        kind = numbers.below(16)
        if kind < 10:
            parts.append(PIECES[numbers.below(len(PIECES))])
        elif kind < 13:
            first, end = RANGES[numbers.below(len(RANGES))]
            parts.append(chr(first + numbers.below(end - first)))
        elif kind < 15:
            parts.append(" " + PIECES[numbers.below(8)])
        else:
            parts.append("aéx縄"[numbers.below(4)] * (90 + numbers.below(30)))
    return "".join(parts)


def corpus():
    pages = [line for name in ["which_rope", "kv_caches"] for line in (DOCS / f"{name}.md").read_text().splitlines()]
    return [line for line in pages if line] + CORPUS * 3


# -- WordPiece --

def word_piece(lowercase, size, normalizer=None, pre_tokenizer=None):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizer or normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, limit_alphabet=200, show_progress=False)
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def around(tokenizer, cls, sep, twice=False):
    ids = [(name, tokenizer.token_to_id(name)) for name in {cls, sep}]
    pair = f"{cls} $A {sep} {sep} $B {sep}" if twice else f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1"
    return processors.TemplateProcessing(single=f"{cls} $A {sep}", pair=pair, special_tokens=ids)


def bert():
    tokenizer = word_piece(True, 700)
    tokenizer.post_processor = around(tokenizer, "[CLS]", "[SEP]")
    return tokenizer


def bert_cased():
    tokenizer = word_piece(False, 700)
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False, lstrip=True), AddedToken("TOOL", normalized=True, single_word=True)])
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    return tokenizer


def words():
    """WordPiece with the other normalizers and pre-tokenizers."""
    steps = [normalizers.Nmt(), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    split = [pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation("merged_with_previous")]
    tokenizer = word_piece(True, 500, normalizers.Sequence(steps), pre_tokenizers.Sequence(split))
    tokenizer.add_tokens([AddedToken("TOOL", normalized=True)])
    return tokenizer


# -- Unigram --

RULES = "Ａ\tA\nｅ\te\n１\t1\ne\u0301\té\nﬁ\tfi\n½\t1⁄2\n\u3000\t \n\u00a0\t \nｱ\tア\nカ\u3099\tガ\n㍿\t株式会社\n\u0001\t\n\u200b\t \nﷺ\tصلى الله عليه وسلم\n\u0301\t\n\u212b\tÅ\nA\u030a\tÅ"


def charsmap():
    """A small map of characters, as sentencepiece compiles it."""
    rules = []
    for line in RULES.split("\n"):
        source, target = line.split("\t")
        rules.append(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target))
    rules += ["9\t20", "A\t20", "D A\t20"]
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        file.write("\n".join(rules) + "\n")
        file.flush()
        model = train(normalization_rule_tsv=file.name, vocab_size=500)
    return model


def train(**options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()), model_writer=model, model_type="unigram", character_coverage=0.995, minloglevel=2, num_threads=1,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, user_defined_symbols=["<tool>"], **options,
    )
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return proto


def unigram(normalizer, pre_tokenizer, decoder, size, byte_fallback=False):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] + ([f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else [])
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(corpus(), trainer)
    data = json.loads(tokenizer.to_str())
    data["model"]["byte_fallback"] = byte_fallback
    data["model"]["vocab"] = [[piece, round(score, 6)] for piece, score in data["model"]["vocab"]]
    data["added_tokens"] = data["added_tokens"][:5]
    return Tokenizer.from_str(json.dumps(data))


def xlm_roberta(proto):
    metaspace = dict(replacement="▁", prepend_scheme="always")
    normalizer = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)
    split = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(**metaspace)])
    tokenizer = unigram(normalizer, split, decoders.Metaspace(**metaspace), 600)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = around(tokenizer, "<s>", "</s>", twice=True)
    return tokenizer


def t5(proto):
    metaspace = dict(replacement="▁", prepend_scheme="first")
    steps = [
        normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap), normalizers.Strip(left=False, right=True),
        normalizers.Replace(Regex(" {2,}"), "▁"),
    ]
    tokenizer = unigram(normalizers.Sequence(steps), pre_tokenizers.Metaspace(**metaspace), decoders.Metaspace(**metaspace), 500)
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False), AddedToken("TOOL", normalized=True, rstrip=True)])
    end = [("</s>", tokenizer.token_to_id("</s>"))]
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=end)
    return tokenizer


def bytes_of_unknown():
    steps = [normalizers.NFKC(), normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    decoder = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(content=" ", left=1, right=0)]
    split = pre_tokenizers.Split(Regex("▁?[^▁]+"), "isolated")
    tokenizer = unigram(normalizers.Sequence(steps), split, decoders.Sequence(decoder), 800, byte_fallback=True)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


# -- what they do --

def hashed(values):
    written = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()[:5]


def cases(tokenizer, texts):
    """A hash for each text of its ids, those of the text alone, those of a truncated pair with its types, and its decoded texts."""
    hashes = []
    for i, first in enumerate(texts):
        ids = tokenizer.encode(first).ids
        tokenizer.encode_special_tokens = True
        plain = tokenizer.encode(first, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        tokenizer.enable_truncation(5 + i % 24)
        pair = tokenizer.encode(first, texts[(i + 1) % len(texts)])
        short = tokenizer.encode(first).ids
        tokenizer.no_truncation()
        decoded = [tokenizer.decode(ids), tokenizer.decode(ids, skip_special_tokens=False)]
        hashes.append(hashed([ids, plain, pair.ids, pair.type_ids, short, *decoded]))
    return "".join(hashes)


def sentence_piece(proto, texts):
    """
    The vocabulary as a GGUF file has it. The texts end in a letter and have no ▁: llama.cpp adds no ▁ to a text of spaces, and leaves one at
    the end of a text, unlike sentencepiece.
    """
    kinds = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6}
    ids = {}
    for merges in [True, False]:
        proto.normalizer_spec.remove_extra_whitespaces = merges
        processor = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
        ids[str(merges).lower()] = "".join(hashed(processor.encode(re.sub("<tool>|▁", "", text) + "a")) for text in texts)
    return {
        "tokens": [piece.piece for piece in proto.pieces],
        "scores": [round(piece.score, 6) for piece in proto.pieces],
        "token_type": [kinds[piece.type] for piece in proto.pieces],
        "charsmap": base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode(),
        "hashes": ids,
    }


def main():
    for package, wanted in VERSIONS.items():
        if version(package) != wanted:
            raise SystemExit(f"needs {package} {wanted}, but {version(package)} is installed")
    texts = [text(seed) for seed in range(COUNT)]
    proto = charsmap()
    for piece in proto.pieces:
        piece.score = round(piece.score, 6)
    tokenizers = {
        "bert": bert(), "bert_cased": bert_cased(), "words": words(), "xlm_roberta": xlm_roberta(proto), "t5": t5(proto),
        "bytes_of_unknown": bytes_of_unknown(),
    }
    out = {
        "pieces": PIECES,
        "ranges": RANGES,
        "tokenizers": {name: {"json": json.loads(tokenizer.to_str()), "hashes": cases(tokenizer, texts)} for name, tokenizer in tokenizers.items()},
        "sentence_piece": sentence_piece(proto, texts),
    }
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("encoder_vocabularies.json")
    path.write_text(json.dumps(out, separators=(",", ":")) + "\n")


main()
