"""Writes the models of `npm run bench -- page` to build/peers/page/: the released SmolLM2-135M-Instruct and all-MiniLM-L6-v2, which
`npm test -- released` fetches. GGUF in Q4_0, for which llama.cpp has a kernel in wasm (it has none for the released file's Q4_1), and ONNX in
the files and formats that users of transformers.js have.

    python tests/bench/peers/export_page.py SMOLLM2.gguf MINILM_FOLDER

It needs llama-cpp-python, torch, transformers, gguf, onnx, onnxscript, onnxruntime and onnxruntime-genai, whose builder writes models with
onnxruntime's own attention.
"""

import subprocess
import sys
from pathlib import Path
from shutil import copy, copytree
from tempfile import TemporaryDirectory

import llama_cpp
import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from export_minilm import write_for_transformers_js

OUT = Path(__file__).parents[3] / "build" / "peers" / "page"


def quantize_smollm2(gguf):
    options = llama_cpp.llama_model_quantize_default_params()
    options.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_0
    options.allow_requantize = True
    options.nthread = 1
    out = OUT / gguf.name.replace("Q4_1", "Q4_0")
    if llama_cpp.llama_model_quantize(str(gguf).encode(), str(out).encode(), options) != 0:
        raise RuntimeError(f"{gguf} can't be quantized")


def export_smollm2(gguf):
    source, out = OUT / "smollm2_source", OUT / "smollm2"
    at = {"pretrained_model_name_or_path": gguf.parent, "gguf_file": gguf.name}
    dequantized = AutoModelForCausalLM.from_pretrained(**at, dtype=torch.float32)
    config = AutoConfig.from_pretrained(**at)
    model = AutoModelForCausalLM.from_config(config)  # the other one counts as quantized, and can't be saved
    model.load_state_dict(dequantized.state_dict())
    model.save_pretrained(source)
    AutoTokenizer.from_pretrained(**at).save_pretrained(source)
    (out / "onnx").mkdir(parents=True, exist_ok=True)
    for name in ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"]:
        copy(source / name, out)
    build_onnx(source, "int4", config.head_dim, out / "onnx" / "model_q4.onnx")
    build_onnx(source, "fp32", config.head_dim, OUT / "smollm2.onnx")
    quantize_dynamic(OUT / "smollm2.onnx", out / "onnx" / "model_quantized.onnx", weight_type=QuantType.QInt8)
    (OUT / "smollm2.onnx").unlink()


def build_onnx(source, precision, head_dim, target):
    with TemporaryDirectory() as built:
        subprocess.run(
            [
                *(sys.executable, "-m", "onnxruntime_genai.models.builder", "-m", "", "-i", source, "-o", built),
                *("-p", precision, "-e", "cpu", "-c", OUT / "cache"),
                *("--extra_options", "int4_accuracy_level=4", "int4_block_size=32", "shared_embeddings=false"),
            ],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        model = onnx.load(Path(built) / "model.onnx")
    for tensor in [*model.graph.input, *model.graph.output]:  # transformers.js makes an empty cache from these shapes
        for size in tensor.type.tensor_type.shape.dim:
            if size.dim_param == "kv_cache_dim":
                size.dim_value = head_dim
    onnx.save(model, target)


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    quantize_smollm2(Path(sys.argv[1]))
    export_smollm2(Path(sys.argv[1]))
    copytree(sys.argv[2], OUT / "minilm_source", dirs_exist_ok=True)
    write_for_transformers_js(Path(sys.argv[2]), OUT / "minilm")
    for path in sorted([*OUT.glob("*.gguf"), *OUT.glob("*/onnx/*")]):
        print(f"{path.relative_to(OUT)}: {path.stat().st_size:,} bytes")
