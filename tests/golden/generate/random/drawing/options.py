"""The command line that the generators of random/ share."""

import argparse
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "random"


def options_parser(document, subject, cases, cases_help=None, seed=1):
    """A parser of --seed, --cases and --output, with the numbers and the place of the committed file as defaults."""
    parser = argparse.ArgumentParser(description=document.splitlines()[0])
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--cases", type=int, default=cases, help=cases_help)
    parser.add_argument("--output", type=Path, default=FOLDER / f"{subject}.json")
    return parser
