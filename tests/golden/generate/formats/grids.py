"""Writes src/matmul/grids.cpp: the grids of the IQ formats, from the gguf package (0.19.0), where they are those of ggml-common.h.

    python grids.py

A point of a grid is a word of 16 bits: eight pairs of bits, or four nibbles, each an index into the few values that coordinates have.
"""

from pathlib import Path

import numpy as np
from gguf import quants

# The words of a point's coordinates have 2 or 4 bits.
GRIDS = {
    "iq2_xxs": (quants.IQ2_XXS, 2),
    "iq2_xs": (quants.IQ2_XS, 2),
    "iq2_s": (quants.IQ2_S, 2),
    "iq3_xxs": (quants.IQ3_XXS, 4),
    "iq3_s": (quants.IQ3_S, 4),
    "iq1_s": (quants.IQ1_S, 2),
}

HEADER = """// The points of the grids of the IQ formats, which were chosen by hand and by search: they follow no rule.
// Source: ggml-common.h of llama.cpp, through the gguf package (MIT License). Written by tests/golden/generate/formats/grids.py.
#include "matmul/dequantize.h"

namespace ropewalk {

// clang-format off
"""


def words_of(kind, bits):
    kind.init_grid()
    points = np.asarray(kind.grid).reshape(kind.grid_shape)
    values = np.unique(points)
    indices = np.searchsorted(values, points).astype(np.uint32)
    words = (indices << (bits * np.arange(points.shape[1], dtype=np.uint32))).sum(axis=1)
    return values, words


def main():
    text = HEADER
    for name, (kind, bits) in GRIDS.items():
        values, words = words_of(kind, bits)
        print(name, len(words), [int(value) for value in values])
        numbers = [str(word) for word in words]
        lines, line = [], ""
        for number in numbers:
            if len(line) + len(number) + 1 > 139:
                lines.append(line)
                line = ""
            line += f"{number},"
        lines.append(line)
        constant = "k" + "".join(part.capitalize() for part in name.split("_")) + "Grid"
        text += f"const std::uint16_t {constant}[{len(words)}] = {{\n" + "\n".join(lines) + "};\n"
    text += "// clang-format on\n\n}  // namespace ropewalk\n"
    path = Path(__file__).parents[4] / "src" / "matmul" / "grids.cpp"
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
