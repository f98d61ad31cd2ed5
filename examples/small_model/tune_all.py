"""Fine-tunes the small model once with each method on one budget: 300 steps in windows of 1,024 tokens, from the committed weights, the same stories.

    python examples/small_model/tune_all.py [METHOD…]      15 minutes on two free cores; a method that is there already isn't trained again
    node examples/arena/run.mjs small-tuned                measures what it wrote

Writes a model folder for each method to build/small_model_tuned, and the curves to results/fine_tunes.json.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from extended_rope import METHODS

HERE = Path(__file__).parent
OUT = HERE.parent.parent / "build" / "small_model_tuned"
BUDGET = ["--factor", "4", "--steps", "300", "--rate", "3e-4"]
SEARCHED = ["--searched", HERE / "searched" / "1024.json"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", choices=METHODS, help="all without any")
    for method in parser.parse_args().methods or METHODS:
        trained, folder = OUT / f"{method}_f32", OUT / method
        if (folder / "training.json").exists():
            continue
        print(method, flush=True)
        own = SEARCHED if method == "longrope" else []
        python("train.py", "--out", trained, "--from", HERE, *BUDGET, "--method", method, *own)
        python("to_files.py", trained, folder)
    records = {method: json.loads(path.read_text()) for method in METHODS if (path := OUT / method / "training.json").exists()}
    lines = ",\n".join(f"{json.dumps(method)}: {json.dumps(record)}" for method, record in records.items())
    (HERE / "results" / "fine_tunes.json").write_text(f"{{\n{lines}\n}}\n")


def python(script, *arguments):
    subprocess.run([sys.executable, HERE / script, *map(str, arguments)], check=True)


if __name__ == "__main__":
    main()
