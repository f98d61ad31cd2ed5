"""Writes one-layer llamas with matrices in each weight format, tiny_models/llama_<format>/, like tiny_models.py.

The expected logits are those of transformers with the weights in the file, dequantized by llama.cpp. For formats
of less than 16 bits there are also logits with the inputs of each product rounded to 8 bits, as in integer kernels.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import gguf
import torch
from gguf import GGMLQuantizationType as Format
from gguf import LlamaFileType as FileType

from formats import ggml_blocks
from tiny_models import expectations, logits_after_steps, make_folders, random_model, write_expected
from tiny_models_configs import RMS, SIZES, rope
from to_gguf import convert

LLAMA = {"model_type": "llama", **SIZES, **RMS, **rope(1000.0), "num_hidden_layers": 1, "tie_word_embeddings": True}
# Superblocks have 256 weights of a row. With 16-bit weights, files of that width would be too large.
WIDE = {**LLAMA, "hidden_size": 256, "intermediate_size": 256}
NARROW = {**LLAMA, "hidden_size": 128, "intermediate_size": 128}


@dataclass
class Quantized:
    config: dict
    format: Format
    file_type: FileType
    better: Format = None  # the format of embedding, v_proj and down_proj in mixtures
    seed: str = "llama"


FORMATS = {
    "llama_f16": Quantized(NARROW, Format.F16, FileType.MOSTLY_F16),
    "llama_bf16": Quantized(NARROW, Format.BF16, FileType.MOSTLY_BF16),
    "llama_q8_0": Quantized(WIDE, Format.Q8_0, FileType.MOSTLY_Q8_0),
    "llama_q4_0": Quantized(WIDE, Format.Q4_0, FileType.MOSTLY_Q4_0),
    "llama_q4_1": Quantized(WIDE, Format.Q4_1, FileType.MOSTLY_Q4_1),
    "llama_q5_0": Quantized(WIDE, Format.Q5_0, FileType.MOSTLY_Q5_0),
    "llama_q5_1": Quantized(WIDE, Format.Q5_1, FileType.MOSTLY_Q5_1),
    "llama_q2_k": Quantized(WIDE, Format.Q2_K, FileType.MOSTLY_Q2_K),
    "llama_q3_k": Quantized(WIDE, Format.Q3_K, FileType.MOSTLY_Q3_K_M),
    "llama_q4_k": Quantized(WIDE, Format.Q4_K, FileType.MOSTLY_Q4_K_S),
    "llama_q4_k_m": Quantized(WIDE, Format.Q4_K, FileType.MOSTLY_Q4_K_M, better=Format.Q6_K),
    "llama_q5_k": Quantized(WIDE, Format.Q5_K, FileType.MOSTLY_Q5_K_M),
    "llama_q6_k": Quantized(WIDE, Format.Q6_K, FileType.MOSTLY_Q6_K),
    "llama_iq4_nl": Quantized(WIDE, Format.IQ4_NL, FileType.MOSTLY_IQ4_NL),
    "llama_q1_0": Quantized(WIDE, Format.Q1_0, FileType.MOSTLY_Q1_0),
    "llama_q2_0": Quantized(WIDE, ggml_blocks.Q2_0, 41),
    "llama_tq1_0": Quantized(WIDE, Format.TQ1_0, FileType.MOSTLY_TQ1_0),
    "llama_tq2_0": Quantized(WIDE, Format.TQ2_0, FileType.MOSTLY_TQ2_0),
    "llama_mxfp4": Quantized(WIDE, Format.MXFP4, FileType.MOSTLY_MXFP4_MOE),
    "llama_nvfp4": Quantized(WIDE, Format.NVFP4, FileType.MOSTLY_NVFP4),
    # with the other seed, float32 and float64 round a tie in the prompt differently, which moves all logits
    "llama_iq4_xs": Quantized(WIDE, Format.IQ4_XS, FileType.MOSTLY_IQ4_XS, seed="llama_iq4_xs"),
    "llama_iq3_s": Quantized(WIDE, Format.IQ3_S, FileType.MOSTLY_IQ3_S),
    "llama_iq3_xxs": Quantized(WIDE, Format.IQ3_XXS, FileType.MOSTLY_IQ3_XXS),
    "llama_iq2_s": Quantized(WIDE, Format.IQ2_S, FileType.MOSTLY_IQ2_S),
    "llama_iq2_xs": Quantized(WIDE, Format.IQ2_XS, FileType.MOSTLY_IQ2_XS),
    "llama_iq2_xxs": Quantized(WIDE, Format.IQ2_XXS, FileType.MOSTLY_IQ2_XXS),
    "llama_iq1_s": Quantized(WIDE, Format.IQ1_S, FileType.MOSTLY_IQ1_S),
    "llama_iq1_m": Quantized(WIDE, Format.IQ1_M, FileType.MOSTLY_IQ1_M),
}
# The gguf package can't quantize to these formats. ggml can.
QUANTIZED_BY_GGML = {
    *(Format.Q2_K, Format.Q3_K, Format.Q4_K, Format.Q5_K, Format.Q6_K, Format.IQ4_NL),
    *(Format.Q1_0, ggml_blocks.Q2_0, Format.MXFP4, Format.NVFP4, Format.IQ4_XS, Format.IQ3_S, Format.IQ3_XXS),
    *(Format.IQ2_S, Format.IQ2_XS, Format.IQ2_XXS, Format.IQ1_S, Format.IQ1_M),
}


def main():
    make_folders(__doc__, FORMATS, write_quantized)


def write_quantized(name, folder):
    """All formats of one width and seed start from the same weights."""
    quantized = FORMATS[name]
    model = random_model(f"{quantized.seed}{quantized.config['hidden_size']}", quantized.config)

    def encode(tensor_name, array):
        weight_format = format_of(quantized, tensor_name, array)
        return (array, None) if weight_format is None else (blocks_of(array, weight_format), weight_format)

    with tempfile.TemporaryDirectory() as scratch:
        model.save_pretrained(scratch)
        convert(Path(scratch), folder / "model.gguf", quantized.file_type, encode)

    round_weights(model, quantized)
    expected = expectations(name, model.double())
    if quantized.format not in (Format.F16, Format.BF16):
        expected |= rounded_expectations(model, expected["prompt"], expected["steps"])
    write_expected(folder / "expected.json", expected)


def format_of(quantized, tensor_name, array):
    if array.ndim == 1:
        return None
    mixed = quantized.better and any(part in tensor_name for part in ("embed_tokens", "v_proj", "down_proj"))
    return quantized.better if mixed else quantized.format


def blocks_of(array, weight_format):
    if weight_format in QUANTIZED_BY_GGML:
        return ggml_blocks.quantize(array, weight_format)
    return gguf.quants.quantize(array, weight_format)


def dequantized(blocks, weight_format):
    if weight_format in (Format.F16, Format.BF16):
        return gguf.quants.dequantize(blocks, weight_format)
    return ggml_blocks.dequantize(blocks, weight_format)


def round_weights(model, quantized):
    """Replaces each matrix by its dequantized values. A row's blocks don't depend on the order of rows in the file."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if weight_format := format_of(quantized, name, parameter):
                stored = dequantized(blocks_of(parameter.numpy(), weight_format), weight_format)
                parameter.copy_(torch.from_numpy(stored))


def rounded_expectations(model, prompt, steps):
    """Logits at the prompt's last position and at each step, with the inputs of every product rounded to 8 bits."""
    products = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    hooks = [product.register_forward_pre_hook(lambda _, inputs: (rounded(inputs[0]),)) for product in products]
    with torch.no_grad():
        prompt_logits = model(torch.tensor([prompt])).logits[0, -1]
        step_logits = logits_after_steps(model, prompt, steps)
    for hook in hooks:
        hook.remove()
    return {"rounded_prompt_logits": prompt_logits, "rounded_step_logits": step_logits}


def rounded(activations):
    """Rounds to multiples of 1/127 of the largest magnitude, in groups of 32."""
    groups = activations.unflatten(-1, (-1, 32))
    unit = (groups.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-300)  # a group of zeros
    return ((groups / unit).round() * unit).flatten(-2)


if __name__ == "__main__":
    main()
