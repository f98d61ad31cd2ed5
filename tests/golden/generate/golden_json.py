"""Writes golden vectors: float32 values in their shortest decimal form, one key per line, arrays on one line."""

import json
from pathlib import Path

import numpy as np


def f32(values):
    """Nested lists of Python floats that print briefly and convert back to exactly the same float32."""
    array = np.asarray(values, dtype=np.float32)
    # str(float32) is the shortest decimal that identifies this float32. float() of it prints the same digits.
    shortest = [float(str(value)) for value in array.ravel()]
    return np.array(shortest, dtype=np.float64).reshape(array.shape).tolist()


def write_cases(path, cases):
    """Writes an array of cases. Every key of a case starts a line, so that a diff shows what changed."""
    names = [case["name"] for case in cases]
    assert len(set(names)) == len(names), f"{path}: case names must be unique"
    text = ",\n".join(_case_text(case) for case in cases)
    Path(path).write_text(f"[\n{text}\n]\n", encoding="utf-8")


def _case_text(case):
    lines = [f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in case.items()]
    return "{" + ",\n ".join(lines) + "}"
