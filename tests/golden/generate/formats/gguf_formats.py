"""Writes gguf_formats.json: blocks of every format, dequantized by llama.cpp and, where it has the format, by the gguf package.

    python gguf_formats.py

Needs the `gguf` package (written with 0.19.0), llama-cpp-python (0.3.36) and numpy. The first rows are stored in full, as f32 bit
patterns in hex. Many more are stored only as a CRC-32, with inputs from a generator that the test has too.
"""

import json
import zlib
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType
from gguf.constants import GGML_QUANT_SIZES

import ggml_blocks

# Byte offsets of the f16 scales in a block of each format.
SCALES = {
    "Q8_0": [0],
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q2_K": [80, 82],
    "Q3_K": [108],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
    "IQ4_NL": [0],
    "F16": [0],
    "BF16": [0],
    "Q1_0": [0],
    "Q2_0": [0],
    "TQ1_0": [52],
    "TQ2_0": [64],
    "MXFP4": [],
    "NVFP4": [],
    "IQ4_XS": [0],
    "IQ3_S": [0],
    "IQ3_XXS": [0],
    "IQ2_S": [0],
    "IQ2_XS": [0],
    "IQ2_XXS": [0],
    "IQ1_S": [0],
    "IQ1_M": [],
}
# Where the scale isn't two bytes: an offset, and the bits of that byte that are cleared so that the scale is finite.
CLEARED = {"IQ1_M": [55, 0x40]}
HASHED_BLOCKS = 256

# Zeros, the smallest and largest subnormal, the smallest normal, one, the largest finite value, and negatives.
EXTREME_HALVES = [0x0000, 0x8000, 0x0001, 0x03FF, 0x0400, 0x3C00, 0x7BFF, 0xFBFF, 0x8001]


def random_bytes(seed, count):
    """The upper byte of each state of a linear congruential generator (Numerical Recipes' constants)."""
    out = np.empty(count, dtype=np.uint8)
    state = seed
    for i in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        out[i] = state >> 24
    return out


def with_finite_scales(blocks, offsets, cleared):
    """Clears the top bit of the exponent of a scale that would be infinite or NaN."""
    if cleared:
        blocks[:, cleared[0]] &= 0xFF - cleared[1]
    for offset in offsets:
        upper = blocks[:, offset + 1]
        blocks[:, offset + 1] = np.where((upper & 0x7C) == 0x7C, upper & 0xBF, upper)
    return blocks


def extreme_blocks(size, offsets, cleared):
    """All bits clear, all bits set and stripes, with every extreme scale."""
    rows = []
    for i, half in enumerate(EXTREME_HALVES):
        block = np.full(size, [0x00, 0xFF, 0xAA, 0x0F, 0x80][i % 5], dtype=np.uint8)
        for offset in offsets:
            block[offset : offset + 2] = np.array([half], dtype="<u2").view(np.uint8)
        rows.append(block)
    return with_finite_scales(np.stack(rows), [], cleared)


def bits(values):
    return np.ascontiguousarray(values, dtype="<f4").tobytes()


def dequantize(blocks, kind):
    """As llama.cpp does. The gguf package must give the same bits, or not have the format."""
    if kind.name in ("F16", "BF16"):
        return gguf.dequantize(blocks, kind)
    floats = ggml_blocks.dequantize(blocks, kind)
    try:
        assert bits(gguf.dequantize(blocks, kind)) == bits(floats), f"gguf dequantizes {kind.name} in another way"
    except NotImplementedError:
        pass
    return floats


def case_of(name, offsets):
    kind = GGMLQuantizationType[name]
    elements, size = GGML_QUANT_SIZES[kind]
    cleared = CLEARED.get(name)
    shown = with_finite_scales(random_bytes(7, size).reshape(1, size), offsets, cleared)
    extreme = extreme_blocks(size, offsets, cleared)
    hashed = with_finite_scales(random_bytes(11, HASHED_BLOCKS * size).reshape(HASHED_BLOCKS, size), offsets, cleared)
    return {
        "format": name.lower(),
        "elements": elements,
        "bytes": size,
        "scales": offsets,
        **({"cleared": cleared} if cleared else {}),
        "block": shown.tobytes().hex(),
        "floats": bits(dequantize(shown, kind)).hex(),
        "extreme_blocks": [row.tobytes().hex() for row in extreme],
        "extreme_crc": [zlib.crc32(bits(dequantize(row.reshape(1, -1), kind))) for row in extreme],
        "hashed_blocks": HASHED_BLOCKS,
        "hashed_crc": zlib.crc32(bits(dequantize(hashed, kind))),
    }


def main():
    cases = [case_of(name, offsets) for name, offsets in SCALES.items()]
    lines = ",\n".join("{" + ",\n ".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in c.items()) + "}" for c in cases)
    path = Path(__file__).parents[2] / "gguf_formats.json"
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"{path.name}: {len(cases)} formats, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
