"""Writes the golden vectors, tests/golden/*.json. See README.md there.

    python make_golden.py            write the files
    python make_golden.py --check    generate them again and compare with the committed files
"""

import argparse
import tempfile
from importlib.metadata import version
from pathlib import Path

import torch
import transformers

from golden_json import write_cases
from hf_attention import attention_cases
from hf_axial import axial_cases
from hf_bits import frequency_bits_cases
from hf_cached_attention import cached_attention_cases
from hf_captured import captured_cases
from hf_frequencies import frequency_cases
from hf_position_schemes import position_scheme_cases
from hf_rotations import rotation_cases
from linear_attention import linear_attention_cases
from other_systems_cases import other_system_cases

HERE = Path(__file__).parents[1]
FILES = {
    "frequencies.json": frequency_cases,
    "frequency_bits.json": frequency_bits_cases,
    "rotations.json": rotation_cases,
    "captured.json": captured_cases,
    "axial.json": axial_cases,
    "other_systems.json": other_system_cases,
    "attention.json": attention_cases,
    "position_schemes.json": position_scheme_cases,
    "cached_attention.json": cached_attention_cases,
    "linear_attention.json": linear_attention_cases,
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--check", action="store_true", help="only compare with the committed files")
    check_only = arguments.parse_args().check

    require_listed_versions()
    transformers.logging.set_verbosity_error()  # made-up configurations cause irrelevant warnings
    torch.set_num_threads(1)

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if check_only else HERE
        for name, cases in FILES.items():
            made = cases()
            write_cases(folder / name, made)
            same = f", {'same as' if same_bytes(folder / name, HERE / name) else 'DIFFERS from'} the committed file"
            print(f"{name}: {len(made)} cases, {(folder / name).stat().st_size} bytes{same if check_only else ''}")


def require_listed_versions():
    """The vectors belong to the releases in requirements.txt. Other releases give other vectors."""
    for line in Path(__file__).with_name("requirements.txt").read_text().splitlines():
        package, _, wanted = line.partition("==")
        if wanted and version(package) != wanted:
            raise SystemExit(f"{package} must be {wanted}, as in requirements.txt (got {version(package)})")


def same_bytes(a, b):
    return b.exists() and a.read_bytes() == b.read_bytes()


if __name__ == "__main__":
    main()
