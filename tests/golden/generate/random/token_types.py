"""Draws what tokenizer files say about token types, and asks transformers for the scores of a cross-encoder.

    python random/token_types.py --seed 7 --cases 50 --output token_types.json

The model is tiny_models/bert_ranker. AutoTokenizer decides by the files whether the two texts of a pair have types.
"""
# compare: --cases 120
# test: tests/package/model/random/token_types.test.mjs

import json
import shutil
import sys
import tempfile
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForSequenceClassification, AutoTokenizer

sys.path.insert(0, str(Path(__file__).parents[1]))  # of tiny_models.py

from shapes.formula_models import run

RANKER = Path(__file__).parents[2] / "tiny_models/bert_ranker"
CLASSES = (
    "BertTokenizer", "BertTokenizerFast", "ElectraTokenizerFast", "MobileBertTokenizer", "PreTrainedTokenizerFast",
    "TokenizersBackend", "DistilBertTokenizer", "RobertaTokenizerFast", "MPNetTokenizer",
)  # fmt: skip
NAMES = ("input_ids", "attention_mask", "token_type_ids")


def draw_case(draw, index):
    config = {}
    if draw.random() < 0.8:
        config["tokenizer_class"] = draw.choice(CLASSES)
    if draw.random() < 0.3:
        config["model_input_names"] = [*NAMES[: draw.choice([2, 3])]]
    texts = ["".join(draw.choice("abcdefghij ") for _ in range(draw.randint(4, 20))) for _ in range(2)]
    with tempfile.TemporaryDirectory() as folder:
        for file in ("config.json", "model.safetensors", "tokenizer.json"):
            shutil.copy(RANKER / file, folder)
        (Path(folder) / "tokenizer_config.json").write_text(json.dumps(config))
        typed = "token_type_ids" in AutoTokenizer.from_pretrained(folder).model_input_names
        model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).double().eval()
    pair = Tokenizer.from_file(str(RANKER / "tokenizer.json")).encode(*texts)
    ids = {"input_ids": torch.tensor([pair.ids])}
    if typed:
        ids["token_type_ids"] = torch.tensor([pair.type_ids])
    with torch.no_grad():
        logit = model(**ids).logits[0, 0].item()
    return {"tokenizer_config": config, "texts": texts, "logit": float(f"{logit:.7g}")}


if __name__ == "__main__":
    run(__doc__, "token_types", 30, draw_case)
