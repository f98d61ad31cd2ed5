"""Writes ../../random/jinja_templates.json: templates drawn at random, and what Jinja2 renders in the environment of transformers.

# compare: --cases 60000
# test: tests/unit/text/template/random.test.mjs

A template has expressions of every operator, filter, test and method of Python's strings, lists, dicts and numbers that the sandbox allows, and
statements that nest, with all kinds of whitespace control. Most arguments have the type that is asked for, some any type, so that errors are
compared as well. The result is a text, `null` if rendering fails, or `false` if the text has an address in memory.
"""

import copy
import json
import random
import re
import warnings

import jinja2
from drawing.options import options_parser
from template_pieces.statements import Statements
from template_pieces.values import CONTEXT
from transformers.utils.chat_template_utils import _compile_jinja_template


def main():
    options = options_parser(__doc__, "jinja_templates", 2400).parse_args()
    warnings.simplefilter("ignore")
    statements = Statements(random.Random(options.seed))
    cases = {}
    while len(cases) < options.cases:
        template = statements.template()
        if len(template) < 600:
            cases[template] = rendered(template)
    file = {
        "versions": {"jinja2": jinja2.__version__},
        "seed": options.seed,
        "context": CONTEXT,
        "cases": list(cases.items()),
    }
    text = json.dumps(file, ensure_ascii=False, separators=(",", ":"))
    options.output.write_text(text.replace('],["', '],\n["') + "\n", encoding="utf-8")


def rendered(template):
    try:
        text = _compile_jinja_template.__wrapped__(template).render(**copy.deepcopy(CONTEXT))  # some filters change a list
        text.encode("utf-8")
    except Exception:  # each kind of error of Python and Jinja is a failure
        return None
    return False if re.search(r" at 0x[0-9a-f]{6,}", text, re.IGNORECASE) else text


if __name__ == "__main__":
    main()
