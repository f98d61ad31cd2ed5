"""Writes json_schemas.json: the schemas of the JSON Schema Test Suite, with values that match and values that don't. See README.md.

    python make_schemas.py

The suite (MIT license) is in the source distribution of the package `jsonschema`, which this script gets from PyPI. The schemas of all
drafts from 4 on are taken, each once, without those of the folder `optional`.
"""

import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parents[2]
PACKAGE = "jsonschema==4.26.0"
DRAFTS = ["draft2020-12", "draft2019-09", "draft7", "draft6", "draft4"]


def groups(archive, draft):
    for name in sorted(archive.getnames()):
        parts = Path(name).parts
        if parts[1:4] == ("json", "tests", draft) and len(parts) == 5 and name.endswith(".json"):
            for group in json.load(archive.extractfile(name)):
                yield Path(name).stem, group


def main():
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", PACKAGE, "-d", folder]
        subprocess.run(command, check=True)
        (path,) = Path(folder).iterdir()
        with tarfile.open(path) as archive:
            found = {draft: list(groups(archive, draft)) for draft in DRAFTS}
    seen = {}
    for draft in DRAFTS:
        for file, group in found[draft]:
            key = json.dumps(group["schema"], sort_keys=True).replace(f'"$schema": "https://json-schema.org/draft/{draft[5:]}/schema", ', "")
            values = [[test["data"], test["valid"]] for test in group["tests"]]
            if key in seen:
                seen[key]["drafts"].append(draft)
            else:
                name = f"{file}: {group['description']}"
                seen[key] = {"name": name, "drafts": [draft], "schema": group["schema"], "values": values}
    lines = ",\n".join(json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in seen.values())
    (HERE / "json_schemas.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
