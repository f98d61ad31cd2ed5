"""Blocks of weights by llama.cpp itself, through the library that llama-cpp-python builds: for what the gguf package lacks."""

import ctypes
from pathlib import Path

import llama_cpp
import numpy as np
from gguf import GGMLQuantizationType as Format
from gguf.constants import GGML_QUANT_SIZES

LIBRARY = ctypes.CDLL(str(next((Path(llama_cpp.__file__).parent / "lib").glob("*ggml-base.*"))))
LIBRARY.ggml_quantize_chunk.restype = ctypes.c_size_t


def add_format(name, number, elements, size):
    """Adds a tensor type to the enumeration of the gguf package (0.19.0 ends at 41)."""
    if name not in Format.__members__:
        member = int.__new__(Format, number)
        member._name_, member._value_ = name, number
        Format._member_map_[name] = Format._value2member_map_[number] = member
        GGML_QUANT_SIZES[member] = (elements, size)
    return Format[name]


Q2_0 = add_format("Q2_0", 42, 64, 18)


def address(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def dequantize(blocks, kind):
    """[rows, bytes] as float32."""
    elements, size = GGML_QUANT_SIZES[kind]
    blocks = np.ascontiguousarray(blocks)
    out = np.empty((blocks.shape[0], blocks.shape[1] // size * elements), dtype=np.float32)
    name = kind.name.lower().replace("_k", "_K")
    getattr(LIBRARY, f"dequantize_row_{name}")(address(blocks), address(out), ctypes.c_int64(out.size))
    return out


QUANTIZED = {}  # by format and bytes of a row


def quantize(array, kind):
    """Float32 [rows, columns] as blocks, [rows, bytes]. All columns are equally important where a format needs their importance.

    Each row is quantized only once in a process, because ggml's IQ4_XS isn't the same every time.
    """
    rows = np.ascontiguousarray(array, dtype=np.float32)
    return np.stack([QUANTIZED.setdefault((kind, row.tobytes()), quantize_row(row, kind)) for row in rows])


def quantize_row(row, kind):
    elements, size = GGML_QUANT_SIZES[kind]
    importance = np.ones_like(row)
    blocks = np.empty(row.size // elements * size, dtype=np.uint8)
    needs_importance = LIBRARY.ggml_quantize_requires_imatrix(ctypes.c_int(kind))
    written = LIBRARY.ggml_quantize_chunk(
        ctypes.c_int(kind),
        address(row),
        address(blocks),
        ctypes.c_int64(0),
        ctypes.c_int64(1),
        ctypes.c_int64(row.size),
        address(importance) if needs_importance else None,
    )
    assert written == blocks.nbytes, f"{kind.name}: ggml wrote {written} bytes of {blocks.nbytes}"
    return blocks
