"""Writes quantization.json: rows of floats, quantized by ggml's reference quantization.

    python quantization.py

Needs `llama-cpp-python` (written with 0.3.36), whose library ggml-base is compiled for x86-64 without fused multiply-add, as llama-quantize is,
and `gguf` (0.19.0), whose own quantization of the formats it has is compared with ggml's. Rows are stored as f32 bit patterns in hex, blocks in hex. Many
more rows are stored only as a CRC-32, with elements from a generator that the test has too.
"""

import ctypes
import json
import zlib
from pathlib import Path

import gguf
import llama_cpp
import numpy as np
from gguf import GGMLQuantizationType
from gguf.constants import GGML_QUANT_SIZES

FORMATS = ["Q8_0", "Q4_0", "Q5_0", "Q4_K", "Q6_K"]
COMPARED_WITH_GGUF = ["Q8_0", "Q4_0", "Q5_0"]
COLUMNS = 512
HASHED_ROWS = 64

ggml = ctypes.CDLL(str(Path(llama_cpp.__file__).parent / "lib" / "libggml-base.so"))
ggml.ggml_quantize_chunk.restype = ctypes.c_size_t


def random_rows(seed, rows, scale):
    """Sums of four bytes of a linear congruential generator (Numerical Recipes' constants), about zero, times `scale` in f32."""
    out = np.empty(rows * COLUMNS, dtype=np.float32)
    state = seed
    for i in range(out.size):
        total = 0
        for _ in range(4):
            state = (state * 1664525 + 1013904223) % 2**32
            total += state >> 24
        out[i] = np.float32(total - 510) * np.float32(scale)
    return out.reshape(rows, COLUMNS)


def special_rows():
    """Zeros, one sign, ties of magnitude, halves, constants, few large elements, and numbers near the limits of f16 scales."""
    i = np.arange(COLUMNS)
    sign = np.where(i % 2 == 0, 1.0, -1.0)
    rows = [
        np.zeros(COLUMNS),
        np.where(i < 256, 0.0, sign * (i % 7)),
        0.25 + (i % 50) / 64.0,
        -0.25 - (i % 50) / 64.0,
        sign * 3.0,
        np.full(COLUMNS, 0.7),
        np.full(COLUMNS, -0.7),
        ((i % 255) - 127) / 2.0,
        np.where(i % 64 == 5, 100.0 * sign, 0.001 * (i % 11 - 5)),
        1e-7 * (i % 13 - 6),
        1e-16 * (i % 13 - 6),
        400000.0 * (i % 9 - 4) / 4.0,
        np.where(i % 32 < 16, 0.0, 0.01 * (i % 5)),
    ]
    return np.stack(rows).astype(np.float32)


def quantize(rows, kind):
    elements, size = GGML_QUANT_SIZES[kind]
    out = np.zeros(rows.size // elements * size, dtype=np.uint8)
    written = ggml.ggml_quantize_chunk(
        ctypes.c_int(int(kind)),
        rows.ctypes.data_as(ctypes.c_void_p),
        out.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_int64(0),
        ctypes.c_int64(rows.shape[0]),
        ctypes.c_int64(rows.shape[1]),
        None,
    )
    assert written == out.size
    return out


def main():
    special = special_rows()
    hashed = np.concatenate([random_rows(5, HASHED_ROWS, 0.000137), random_rows(6, HASHED_ROWS, 0.0251)])
    cases = []
    for name in FORMATS:
        kind = GGMLQuantizationType[name]
        blocks = quantize(hashed, kind)
        if name in COMPARED_WITH_GGUF:
            assert np.array_equal(gguf.quantize(hashed, kind).reshape(-1), blocks), name
        cases.append(
            {
                "format": name.lower(),
                "special": [quantize(row.reshape(1, -1), kind).tobytes().hex() for row in special],
                "hashed_crc": zlib.crc32(blocks.tobytes()),
            }
        )
    result = {
        "columns": COLUMNS,
        "special": [row.tobytes().hex() for row in special],
        "hashed": [[5, HASHED_ROWS, 0.000137], [6, HASHED_ROWS, 0.0251]],
        "cases": cases,
    }
    path = Path(__file__).parents[2] / "quantization.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{path.name}: {len(cases)} formats, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
