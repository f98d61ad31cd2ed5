"""Writes random/strftime.json: dates and formats drawn at random, and what Python's strftime writes on Linux.

    python strftime.py [--seed N] [--cases N] [--output FILE]
"""

# compare: --cases 20000
# test: tests/unit/text/template/strftime.test.mjs

import json
import random
from datetime import datetime

from drawing.options import options_parser

# Codes of numbers, of names, and others, for which glibc and Python disagree about flags. %s depends on the zone.
NUMBERS, NAMES, OTHERS = "YCyGgmdejuwUWVHkIlMS", "BbhAap", "PfzZnt%cDxFRrTXQ"


def main():
    options = options_parser(__doc__, "strftime", 400).parse_args()
    draw = random.Random(options.seed)
    cases = []
    for _ in range(options.cases):
        parts = [draw.randrange(1000, 2400), draw.randrange(1, 13), draw.randrange(1, 29)]
        if draw.random() < 0.3:
            parts[1:] = draw.choice([[12, 31], [12, 30], [12, 29], [1, 1], [1, 2], [1, 3], [1, 4]])
        clock = [draw.randrange(24), draw.randrange(60), draw.randrange(60), draw.randrange(1000)]
        kinds = [(draw.choice(NUMBERS), "-_0"), (draw.choice(NUMBERS), "-_0"), (draw.choice(NAMES), "^"), (draw.choice(OTHERS), "")]
        codes = [f"%{draw.choice(flags) if flags and draw.random() < 0.4 else ''}{code}" for code, flags in kinds]
        draw.shuffle(codes)
        text = draw.choice([" ", "-", "/", ", "]).join(codes)
        cases.append([parts, clock, text, datetime(*parts, *clock[:3], clock[3] * 1000).strftime(text)])
    options.output.write_text("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")
    print(len(cases), "cases")


if __name__ == "__main__":
    main()
