"""Writes array_files.json: the bytes of .npy files by NumPy, and what safetensors reads from a file that it wrote itself.

    python views/array_files.py
"""

import base64
import io
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save

sys.path.insert(0, str(Path(__file__).parents[1]))
from golden_json import write_cases

HERE = Path(__file__).parents[2]
ARRAYS = {
    "Float32Array": np.array([[1.5, -2, 3], [4, 5, 6]], "<f4"),
    "Float64Array": np.array([[[0.1]]], "<f8"),
    "Int32Array": np.array(-7, "<i4"),
    "Uint8Array": np.array([1, 2, 3], "|u1"),
}


def main():
    cases = [{"name": name, "values": a.ravel().tolist(), "shape": list(a.shape), "npy": npy(a)} for name, a in ARRAYS.items()]
    whole = {"name": "safetensors", "bytes": encoded(save(ARRAYS, {"text": "a ball"}))}
    write_cases(HERE / "array_files.json", [*cases, whole])


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return encoded(file.getvalue())


def encoded(data):
    return base64.b64encode(data).decode()


if __name__ == "__main__":
    main()
