"""Writes web/src/runtime/model/config/class_defaults.ts and class_aliases.ts: what the config classes of transformers have for keys that a
config.json leaves out, and other names of their keys.

    python class_defaults.py           write the files
    python class_defaults.py --check   compare them
"""

import dataclasses
import json
import re
import sys
from pathlib import Path

from transformers import CONFIG_MAPPING

ROOT = Path(__file__).parents[4]
MODEL = ROOT / "web" / "src" / "runtime" / "model"
DEFAULTS, ALIASES = (MODEL / "config" / name for name in ("class_defaults.ts", "class_aliases.ts"))
WIDTH = 120

# Not numbers of the text model, or read in another way: the RoPE by ropeConfig(), windows by rows of architectures, the
# head from the tensors, further predictions not at all.
NOT_HERE = re.compile(r"^(dtype|architectures|problem_type|rope_|num_nextn|num_mtp|tie_word|is_encoder)|token_id$|sliding|window|local_att")
# Outside of transformers, with the class of another one.
SAME_CLASS = {"kimi_k2": "deepseek_v3"}
# Configs of V2's own code leave this out where there are no experts.
EXCEPTIONS = {"deepseek_v2": ["n_routed_experts"]}
HEAD = """\
// What the config classes of transformers have for keys that a config.json leaves out. Written by tests/golden/generate/fields/class_defaults.py:
// only keys that this package reads, without those that are off by default.

type Defaults = Readonly<Record<string, number | string | boolean | readonly number[]>>;

"""
ALIASES_HEAD = "// Other names of keys in the config classes of transformers. Written by tests/golden/generate/fields/class_defaults.py.\n\n"


def main():
    texts = {
        DEFAULTS: HEAD + table("CLASS_DEFAULTS", "The defaults of a class, by `model_type`.", "Defaults", defaults()),
        ALIASES: ALIASES_HEAD + table("CLASS_ALIASES", "Names that a class reads as those of other keys, before these.",
                                      "Readonly<Record<string, string>>", aliases()),
    }
    for file, text in texts.items():
        if "--check" in sys.argv:
            print(f"{file.name}: {'same' if file.read_text() == text else 'differs'}")
        else:
            file.write_text(text)


def table(name, comment, kind, rows):
    lines = [f"/** {comment} @internal */", "// prettier-ignore", f"export const {name}: Readonly<Record<string, {kind}>> = {{"]
    for model_type, values in rows.items():
        lines += wrapped(f'  {key_of(model_type)}: {{ ', [f"{key_of(key)}: {json.dumps(value)}" for key, value in values.items()])
    return "\n".join([*lines, "};", ""])


def wrapped(start, items):
    lines, line = [], start
    for index, item in enumerate(items):
        item += " }," if index == len(items) - 1 else ","
        if len(line) + len(item) > WIDTH:
            lines.append(line.rstrip())
            line = "    "
        line += item + " "
    return [*lines, line.rstrip()]


def key_of(name):
    return name if re.fullmatch(r"\w+", name) else json.dumps(name)


def classes():
    """The text class of each model type that the package runs and transformers has."""
    sources = [path.read_text() for path in (MODEL / "architectures").rglob("*.ts")]
    names = {name for source in sources for list_ in re.findall(r"huggingFace: \[([^\]]*)\]", source) for name in re.findall(r'"([^"]+)"', list_)}
    found = {name: CONFIG_MAPPING[SAME_CLASS.get(name, name)] for name in sorted(names) if SAME_CLASS.get(name, name) in CONFIG_MAPPING}
    return {name: (getattr(found_class, "sub_configs", None) or {}).get("text_config", found_class) for name, found_class in found.items()}


def keys_read():
    """Every word in quotation marks in the sources of the model: more than the keys, but no key is missing."""
    sources = [path.read_text() for path in MODEL.rglob("*.ts") if path not in (DEFAULTS, ALIASES)]
    return {word for source in sources for word in re.findall(r'"(\w+)"', source)}


def defaults():
    read = keys_read()
    rows = {}
    for name, found_class in classes().items():
        fields = {field.name: field.default for field in dataclasses.fields(found_class)}
        rows[name] = {
            key: value for key, value in fields.items()
            if key in read and isinstance(value, bool | int | float | str) and key not in EXCEPTIONS.get(name, [])
            and not NOT_HERE.search(key)
        }
    on_somewhere = {key for row in rows.values() for key, value in row.items() if value is True}
    return {name: {key: value for key, value in row.items() if value is not False or key in on_somewhere} for name, row in rows.items()}


def aliases():
    """Other names by class. Where a class stores a field under another name, that is the other name of the field."""
    read = keys_read()
    rows = {}
    for name, found_class in classes().items():
        fields = {field.name for field in dataclasses.fields(found_class)}
        pairs = [(alias, key) if key in fields else (key, alias) for alias, key in found_class.attribute_map.items()]
        rows[name] = {alias: key for alias, key in pairs if key in fields and key in read and not NOT_HERE.search(key)}
    return {name: row for name, row in rows.items() if row}


if __name__ == "__main__":
    main()
