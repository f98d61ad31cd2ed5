"""Finds out which elements of a head a model's own apply function pairs, and by which angles it rotates them.

The function is called on the basis vectors of a head. Nothing is concluded from its name or its code.
"""

import inspect
import re

import numpy as np
import torch

POSITION = 300  # far enough that slow pairs turn visibly, near enough that float32 angles are within 2e-5
TOLERANCE = 1e-4

APPLY = re.compile(r"\b(\w*apply_\w*(?:rot|rope)\w*)\(")
PAIRINGS = ["half", "interleaved", "interleaved_to_half"]


def apply_functions(attention_class):
    """The apply functions that an attention class calls, the most specific name first."""
    classes = [c for c in attention_class.__mro__ if c.__module__.startswith("transformers.models.")]
    functions = {}
    for one in classes:
        for name in APPLY.findall(inspect.getsource(one)):
            function = vars(inspect.getmodule(one)).get(name)
            if function is not None:
                functions.setdefault(name, function)
    return sorted(functions.values(), key=lambda function: -len(function.__name__))


def rotation_matrices(function, width, tables):
    """What the function does with the basis vectors of a head, [width][width], for each way in which it can be called."""
    basis = torch.eye(width)
    for q in (basis.reshape(1, width, 1, width), basis.reshape(1, 1, width, width)):
        for arguments, options in calls(function, q, tables):
            try:
                out = function(*arguments, **options)
            except Exception:  # it takes another layout
                continue
            out = out[0] if isinstance(out, tuple) else out
            if torch.is_tensor(out) and out.numel() == width * width and not torch.is_complex(out):
                yield out.detach().reshape(width, width).double().numpy()


def calls(function, q, tables):
    names = list(inspect.signature(function).parameters)
    if len(tables) == 1:  # cos + i sin
        yield (q, q, tables[0]), {}
        return
    cos, sin = tables
    if names[:3] == ["q", "k", "v"]:  # CLVP takes whole tables
        yield (q, q, q, cos.reshape(1, -1), sin.reshape(1, -1), torch.zeros(1, 1, dtype=torch.long)), {}
    if names[:2] == ["tensor", "sin"]:  # CodeGen and GPT-J take half of each table
        yield (q, sin[..., : sin.shape[-1] // 2], cos[..., : cos.shape[-1] // 2]), {}
    for options in [{"unsqueeze_dim": 1}, {"unsqueeze_dim": 2}] if "unsqueeze_dim" in names else [{}]:
        yield (q, q, cos, sin), options
        yield (q, cos, sin), options


def rotation(pairing, width, offset, angles, scale):
    """The matrix of this package's definition of a pairing."""
    pairs = len(angles)
    matrix = np.eye(width)
    matrix[offset : offset + 2 * pairs, offset : offset + 2 * pairs] = 0
    half = [(offset + j, offset + j + pairs) for j in range(pairs)]
    adjacent = [(offset + 2 * j, offset + 2 * j + 1) for j in range(pairs)]
    reads, writes = (half if pairing == "half" else adjacent), (adjacent if pairing == "interleaved" else half)
    for angle, (a, b), (to_a, to_b) in zip(angles, reads, writes):
        cos, sin = scale * np.cos(angle), scale * np.sin(angle)
        matrix[a, to_a], matrix[a, to_b] = cos, sin
        matrix[b, to_a], matrix[b, to_b] = -sin, cos
    return matrix


def describe(function, widths, tables, inv_freq, scale):
    """The pairing, the offset of the first rotated element, and whether angles are negative; None if nothing fits."""
    angles = POSITION * inv_freq.detach().double().numpy()
    for width in widths:
        for matrix in rotation_matrices(function, width, tables):
            for pairing in PAIRINGS:
                for offset in {0, max(0, width - 2 * len(angles))}:
                    for sign in (1, -1):
                        if np.abs(rotation(pairing, width, offset, sign * angles, scale) - matrix).max() < TOLERANCE:
                            found = {"pairing": pairing}
                            if offset:
                                found["rotary_offset"] = offset
                            if sign < 0:
                                found["opposite_direction"] = True
                            return found
    return None
