"""Writes quantized_files.json: the tensors of GGUF files that llama-quantize writes, and llama.cpp's logits with them.

    python quantized_files.py

Needs `llama-cpp-python` (written with 0.3.36), whose function llama_model_quantize is what llama-quantize calls, `gguf` (0.19.0), and node for
the model of tests/files/wide_model.mjs. q4_k is `--pure` with the head (or the embedding of a model without one) in Q6_K.
"""

import ctypes
import json
import subprocess
import tempfile
import zlib
from pathlib import Path

import llama_cpp
import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, LlamaFileType

ROOT = Path(__file__).parents[4]
TINY = ROOT / "tests" / "golden" / "tiny_models"
SOURCES = ["llama", "llama3", "llama_bf16", "llama_f16", "qwen2", "qwen3", "qwen3_moe", "gemma2", "phi3"]
FILE_TYPES = {"q8_0": LlamaFileType.MOSTLY_Q8_0, "q4_0": LlamaFileType.MOSTLY_Q4_0, "q4_k": LlamaFileType.MOSTLY_Q4_K_S}
PROMPT = [5, 17, 33, 9, 41, 2, 60, 23]


def quantize(source, target, to):
    options = llama_cpp.llama_model_quantize_default_params()
    options.ftype = int(FILE_TYPES[to])
    options.nthread = 1
    if to == "q4_k":
        options.pure = True
        tensors = {tensor.name: tensor for tensor in GGUFReader(source).tensors}
        wide = tensors["token_embd.weight"].shape[0] % 256 == 0
        better = GGMLQuantizationType.Q6_K if wide else GGMLQuantizationType.Q8_0
        if "output.weight" in tensors:
            options.output_tensor_type = int(better)
        else:
            options.token_embedding_type = int(better)
    assert llama_cpp.llama_model_quantize(str(source).encode(), str(target).encode(), ctypes.byref(options)) == 0


def tensors_of(path):
    tensors = sorted(GGUFReader(path).tensors, key=lambda tensor: tensor.name)
    return {tensor.name: [tensor.tensor_type.name.lower(), zlib.crc32(tensor.data.tobytes())] for tensor in tensors}


def logits_of(path):
    model = llama_cpp.Llama(
        str(path), n_ctx=256, n_threads=1, logits_all=True, flash_attn=False, verbose=False,
        type_k=llama_cpp.GGML_TYPE_F32, type_v=llama_cpp.GGML_TYPE_F32,
    )  # fmt: skip
    model.eval(PROMPT)
    logits = np.array(model.scores[len(PROMPT) - 1], dtype=np.float64)
    model.close()
    return [float(f"{value:.7g}") for value in logits]


def main():
    with tempfile.TemporaryDirectory() as scratch:
        wide = Path(scratch) / "wide.gguf"
        subprocess.run(["node", ROOT / "tests" / "files" / "wide_model.mjs", wide], check=True)
        sources = {name: TINY / name / "model.gguf" for name in SOURCES} | {"wide": wide}
        target = Path(scratch) / "quantized.gguf"
        result = {"prompt": PROMPT, "files": []}
        for name, source in sources.items():
            for to in FILE_TYPES:
                if (name, to) == ("qwen3_moe", "q4_k"):
                    continue  # --pure doesn't keep more bits for the keys and values of 8 experts
                quantize(source, target, to)
                made = {"source": name, "to": to, "tensors": tensors_of(target)}
                if name == "wide":
                    made["logits"] = logits_of(target)
                result["files"].append(made)
                print(name, to)
    path = ROOT / "tests" / "golden" / "quantized_files.json"
    path.write_text(json.dumps(result, indent=None, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
