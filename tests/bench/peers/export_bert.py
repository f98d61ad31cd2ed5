"""Writes the encoders that `npm run bench -- embed` runs, to build/peers/bert/: in the shapes of MiniLM-L6 and bge-small with random weights, and a
released model if its folder is named. Each has config.json and model.safetensors for this package, and model.onnx and model_int8.onnx for
onnxruntime-web.

    python tests/bench/peers/export_bert.py [FOLDER]    needs torch, transformers, onnx, onnxscript and onnxruntime

FOLDER: all-MiniLM-L6-v2 as sentence-transformers saves it, such as the copy that the tests of released models keep.
The ONNX files are made as those that transformers.js runs: torch's exporter, then onnxruntime's dynamic quantization.
"""

import sys
from pathlib import Path

import torch
from onnxruntime import InferenceSession
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import BertConfig, BertModel

OUT = Path(__file__).parents[3] / "build" / "peers" / "bert"
SHAPES = {"minilm_l6": 6, "bge_small": 12}  # layers of 384


class LastHiddenState(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        padding = (1 - attention_mask[:, None, None, :].float()) * -1e9
        types, positions = torch.zeros_like(input_ids), torch.arange(input_ids.shape[1])[None]
        embedded = self.model.embeddings(input_ids=input_ids, token_type_ids=types, position_ids=positions)
        return self.model.encoder(embedded, attention_mask=padding).last_hidden_state


def check(model, path):
    """Fails unless the ONNX file computes what the model computes, for texts of different lengths."""
    ids, mask = torch.randint(1000, 20000, (2, 12)), torch.ones(2, 12, dtype=torch.long)
    mask[0, 8:] = 0
    with torch.no_grad():
        expected = model(input_ids=ids, attention_mask=mask).last_hidden_state.numpy()
    [actual] = InferenceSession(path).run(None, {"input_ids": ids.numpy(), "attention_mask": mask.numpy()})
    difference = abs(actual - expected)[mask.numpy() == 1].max()
    assert difference < 1e-4, difference


def write_onnx(model, path, int8_path):
    """Writes a BertModel as ONNX, and once more with weights of 8 bits."""
    axes = {0: torch.export.Dim("texts", min=2), 1: torch.export.Dim("tokens", min=2)}
    example = [torch.ones(3, 9, dtype=torch.long) for _ in range(2)]  # one tensor for both would make them one input
    names = ["input_ids", "attention_mask"]
    torch.onnx.export(
        LastHiddenState(model).eval(), tuple(example), path, dynamo=True, external_data=False, input_names=names,
        output_names=["last_hidden_state"], dynamic_shapes={name: axes for name in names},
    )
    check(model, path)
    quantize_dynamic(path, int8_path, weight_type=QuantType.QInt8)


def export(model, name):
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    write_onnx(model, folder / "model.onnx", folder / "model_int8.onnx")
    for path in sorted(folder.glob("model*")):
        print(f"{name}/{path.name}: {path.stat().st_size:,} bytes")


def main():
    for name, layers in SHAPES.items():
        torch.manual_seed(1)
        config = BertConfig(hidden_size=384, num_hidden_layers=layers, num_attention_heads=12, intermediate_size=1536, attn_implementation="eager")
        export(BertModel(config, add_pooling_layer=False).eval(), name)
    for folder in sys.argv[1:2]:
        export(BertModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="eager").eval(), "minilm")


if __name__ == "__main__":
    main()
