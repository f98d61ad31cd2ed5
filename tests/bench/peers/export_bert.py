"""Writes the encoder that `npm run bench -- embed` runs, to build/peers/bert33/: random weights in the shape of a BERT with 33 million weights,
as config.json and model.safetensors for this package, and as model.onnx and model_int8.onnx for onnxruntime-web.

    python tests/bench/peers/export_bert.py        needs torch, transformers, onnx, onnxscript and onnxruntime

The ONNX files are made as those that transformers.js runs: torch's exporter, then onnxruntime's dynamic quantization.
"""

from pathlib import Path

import torch
from onnxruntime import InferenceSession
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import BertConfig, BertModel

OUT = Path(__file__).parents[3] / "build" / "peers" / "bert33"


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


def main():
    torch.manual_seed(1)
    config = BertConfig(hidden_size=384, num_hidden_layers=12, num_attention_heads=12, intermediate_size=1536, attn_implementation="eager")
    model = BertModel(config, add_pooling_layer=False).eval()
    OUT.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(OUT)
    write_onnx(model, OUT / "model.onnx", OUT / "model_int8.onnx")
    for path in sorted(OUT.glob("model*")):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
