"""Writes packed_weights.json: small matrices in the layouts of other systems, and what those systems dequantize them to.

    python packed_weights.py AUTOAWQ

Needs torch, numpy, `compressed-tensors` (written with 0.20.0) and `mlx` with `mlx-cpu` (0.32.4). AUTOAWQ is a folder with the source of autoawq
0.2.9, of which only awq/utils/packing_utils.py is used. GPTQ is the formula of AutoGPTQ's QuantLinear in double precision, because its packages
need a GPU. Tensors are base64, in the order and element type of safetensors.
"""

import base64
import importlib.util
import json
import sys
from pathlib import Path

import mlx.core as mx
import numpy as np
import torch
from compressed_tensors.compressors.pack_quantized.base import PackedQuantizationCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

ROWS, COLUMNS = 16, 128
DTYPES = {
    torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int32: "I32", torch.int64: "I64",
    torch.float8_e4m3fn: "F8_E4M3",
}  # fmt: skip
rng = np.random.default_rng(16)


def encoded(data):
    return base64.b64encode(data).decode()


def stored(tensor, dtype=None):
    tensor = tensor.contiguous()
    return {"dtype": dtype or DTYPES[tensor.dtype], "shape": list(tensor.shape), "data": encoded(tensor.flatten().view(torch.uint8).numpy().tobytes())}


def case(name, config, tensors, values, exact):
    """`values` are float32, or bfloat16 for weights that are read as such."""
    values = np.ascontiguousarray(values, dtype="<f4")
    return {"name": name, "config": config, "tensors": tensors, "values": encoded(values.tobytes()), "exact": exact}


def random_weights(rows=ROWS, columns=COLUMNS):
    return torch.tensor(rng.standard_normal((rows, columns)) * 0.05, dtype=torch.float32)


def compressed_tensors(name, symmetric, group, scale_dtype, exact):
    weight = random_weights()
    groups = weight.reshape(ROWS, -1, group)
    if symmetric:
        scale, zero = groups.abs().amax(-1) / 7.5, torch.zeros(ROWS, COLUMNS // group)
    else:
        scale = (groups.amax(-1) - groups.amin(-1)) / 15
        zero = torch.clamp(torch.round(-8 - groups.amin(-1) / scale), -8, 7)
    scale = scale.to(scale_dtype)
    weights = QuantizationArgs(num_bits=4, type="int", strategy="group", group_size=group, symmetric=symmetric)
    scheme = QuantizationScheme(targets=["Linear"], weights=weights)
    state = {"weight": weight.to(scale_dtype), "weight_scale": scale, "weight_zero_point": zero.to(torch.int8)}
    packed = PackedQuantizationCompressor.compress(state, scheme)
    values = PackedQuantizationCompressor.decompress({**packed, "weight_scale": scale.float()}, scheme)["weight"]
    config = {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": json.loads(weights.model_dump_json())}},
    }
    tensors = {key: stored(value) for key, value in packed.items() if value is not None}
    return case(name, {"quantization_config": config}, tensors, values.float().numpy(), exact)


def gptq(name, sym, group, checkpoint_format, exact):
    groups = COLUMNS // group
    codes = rng.integers(0, 16, (COLUMNS, ROWS), dtype=np.uint32)
    zeros = np.full((groups, ROWS), 8, dtype=np.uint32) if sym else rng.integers(1, 16, (groups, ROWS), dtype=np.uint32)
    scales = (rng.random((groups, ROWS)) * 0.02 + 0.002).astype(np.float16)
    group_of = np.arange(COLUMNS) // group
    values = (scales.astype(np.float64)[group_of] * (codes.astype(np.int64) - zeros.astype(np.int64)[group_of])).T
    shifts = (4 * np.arange(8, dtype=np.uint32))
    qweight = (codes.reshape(-1, 8, ROWS) << shifts[None, :, None]).sum(1, dtype=np.uint32)
    stored_zeros = zeros - (1 if checkpoint_format == "gptq" else 0)
    qzeros = (stored_zeros.reshape(groups, -1, 8) << shifts).sum(2, dtype=np.uint32)
    config = {"quant_method": "gptq", "bits": 4, "group_size": group, "desc_act": False, "sym": sym, "checkpoint_format": checkpoint_format}
    tensors = {
        "qweight": stored(torch.tensor(qweight.view(np.int32))),
        "qzeros": stored(torch.tensor(qzeros.view(np.int32))),
        "scales": stored(torch.tensor(scales)),
        "g_idx": stored(torch.tensor(group_of.astype(np.int32))),
    }
    return case(name, {"quantization_config": config}, tensors, values, exact)


def awq(name, group, packing, exact):
    groups = COLUMNS // group
    qweight = torch.tensor(rng.integers(-(2**31), 2**31, (COLUMNS, ROWS // 8)), dtype=torch.int32)
    qzeros = torch.tensor(rng.integers(-(2**31), 2**31, (groups, ROWS // 8)), dtype=torch.int32)
    scales = torch.tensor(rng.random((groups, ROWS)) * 0.02 + 0.002, dtype=torch.float16)
    values = packing.dequantize_gemm(qweight, qzeros, scales.float(), 4, group).T
    config = {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": True, "version": "gemm"}
    tensors = {"qweight": stored(qweight), "qzeros": stored(qzeros), "scales": stored(scales)}
    return case(name, {"quantization_config": config}, tensors, values.numpy(), exact)


def mlx(name, group, dtype, rows, exact):
    weight = mx.array(random_weights(rows).numpy()).astype({"F16": mx.float16, "BF16": mx.bfloat16}[dtype])
    codes, scales, biases = mx.quantize(weight, group_size=group, bits=4)
    values = mx.dequantize(codes, scales.astype(mx.float32), biases.astype(mx.float32), group_size=group, bits=4)

    def halves(array):
        return {"dtype": dtype, "shape": list(array.shape), "data": encoded(np.array(array.view(mx.uint16)).tobytes())}

    tensors = {
        "weight": {"dtype": "U32", "shape": list(codes.shape), "data": encoded(np.array(codes).tobytes())},
        "scales": halves(scales),
        "biases": halves(biases),
    }
    return case(name, {"quantization": {"group_size": group, "bits": 4}}, tensors, np.array(values), exact)


def fp8(name, method, scale, scale_name, block=None):
    weight = (random_weights() * 2000).to(torch.float8_e4m3fn)
    wide = scale
    if block is not None:
        wide = scale.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)[:ROWS, :COLUMNS]
    values = (weight.float() * wide.float()).to(torch.bfloat16).float()
    config = {"quant_method": method, **({"weight_block_size": block} if block else {})}
    if method == "compressed-tensors":
        config["config_groups"] = {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float"}}}
    return case(name, {"quantization_config": config}, {"weight": stored(weight), scale_name: stored(scale)}, values.numpy(), True)


def main():
    path = Path(sys.argv[1]) / "awq" / "utils" / "packing_utils.py"
    spec = importlib.util.spec_from_file_location("packing_utils", path)
    packing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(packing)
    blocks = torch.tensor(rng.random((-(-ROWS // 12), -(-COLUMNS // 48))) * 0.01, dtype=torch.float32)
    cases = [
        compressed_tensors("compressed-tensors, symmetric, f16 scales", True, 64, torch.float16, True),
        compressed_tensors("compressed-tensors, symmetric, bf16 scales", True, 128, torch.bfloat16, True),
        compressed_tensors("compressed-tensors, with zero points", False, 32, torch.bfloat16, False),
        gptq("GPTQ, symmetric", True, 32, "gptq", True),
        gptq("GPTQ, with zero points", False, 64, "gptq", False),
        gptq("GPTQ, version 2", False, 128, "gptq_v2", False),
        awq("AWQ", 64, packing, False),
        mlx("MLX, f16", 64, "F16", ROWS, True),
        mlx("MLX, bf16", 32, "BF16", 72, True),
        fp8("FP8, a scale for the tensor", "compressed-tensors", torch.tensor([0.0123]), "weight_scale"),
        fp8("FP8, a scale for each row", "compressed-tensors", (torch.rand(ROWS, 1) * 0.01).to(torch.bfloat16), "weight_scale"),
        fp8("FP8, a scale for each block", "fp8", blocks, "weight_scale_inv", [12, 48]),
    ]
    result = json.dumps(cases, indent=1)
    out = Path(__file__).parents[2] / "packed_weights.json"
    out.write_text(result + "\n", encoding="utf-8")
    print(f"{out.name}: {len(cases)} cases, {len(result)} bytes")


if __name__ == "__main__":
    main()
