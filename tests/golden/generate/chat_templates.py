"""chat_templates.json: conversations as rendered by transformers' apply_chat_template.

The templates of real models are in ../shared/data/templates, and only their output is stored. Two templates of this
project are in tests/text. Run it by itself with both available: python tests/golden/generate/chat_templates.py
"""

import datetime
import json
from importlib.metadata import version
from pathlib import Path

import jinja2
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

REPOSITORY = Path(__file__).parents[3]
FOLDERS = {"shared": REPOSITORY.parent / "shared/data/templates", "own": REPOSITORY / "tests/text"}
VERSIONS = {"transformers": "5.23.0", "Jinja2": "3.1.6"}
NOW = [2024, 7, 6, 9, 5, 3]

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_wind",
        "description": "The wind in a harbour; “knots” & <degrees>",
        "parameters": {
            "type": "object",
            "properties": {"harbour": {"type": "string", "enum": ["Brest", "Århus"]}, "hours": {"type": "integer", "default": 3}},
            "required": ["harbour"],
        },
    },
}
CALL = {"type": "function", "function": {"name": "get_wind", "arguments": {"harbour": "Århus", "hours": 3, "gusts": True, "unit": None}}}


def message(role, content, **more):
    return {"role": role, "content": content, **more}


SYSTEM = message("system", "You splice ropes. ")
USER = message("user", "  How long is a ropewalk?\n")
ANSWER = message("assistant", "\nA quarter of a mile, \"give or take\".\n")
MORE = message("user", "Länger als 300 m? 縄 🪢 <b>&amp;</b>")

CONVERSATIONS = {
    "one question": {"messages": [USER]},
    "no prompt for an answer": {"messages": [USER, ANSWER], "add_generation_prompt": False},
    "system and several turns": {"messages": [SYSTEM, USER, ANSWER, MORE]},
    "several turns": {"messages": [USER, ANSWER, MORE]},
    "an empty message": {"messages": [message("user", "")]},
    "two questions in a row": {"messages": [USER, MORE]},
    "a role nobody knows": {"messages": [message("bosun", "Heave!")]},
    "tools": {"messages": [SYSTEM, USER], "tools": [WEATHER]},
    "a tool called": {
        "messages": [USER, message("assistant", "", tool_calls=[CALL]), message("tool", "{\"knots\": 12}"), MORE],
        "tools": [WEATHER],
    },
    "two tools called": {"messages": [USER, message("assistant", "", tool_calls=[CALL, CALL]), message("tool", "1"), message("tool", "2")]},
    "no thinking, by variable": {"messages": [USER, ANSWER, MORE], "variables": {"enable_thinking": False, "flavour": "tarred"}},
    "no thinking, by message": {"messages": [message("system", "Be short. /no_think"), USER]},
    "reasoning": {"messages": [USER, message("assistant", "Long.", thinking="It is a lane."), MORE]},
    "a date": {"messages": [USER], "variables": {"date_string": "1 Jan 1770"}},
}


class FixedDate(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(*NOW)


def main():
    for package, wanted in VERSIONS.items():
        if version(package) != wanted:
            raise SystemExit(f"{package} must be {wanted} (got {version(package)})")
    chat_template_utils.datetime = FixedDate
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.BPE({"<bos>": 0, "<eos>": 1}, [])), bos_token="<bos>", eos_token="<eos>"
    )
    templates = [(origin, path) for origin, folder in FOLDERS.items() for path in sorted(folder.glob("*.jinja"))]
    if len(templates) != 6:
        raise SystemExit(f"needs six templates (found {len(templates)}); check that ../shared exists")
    cases = [
        {"template": path.name, "origin": origin, "conversation": name, **render(tokenizer, path.read_text(), **conversation)}
        for origin, path in templates
        for name, conversation in CONVERSATIONS.items()
    ]
    golden = {"source": "transformers 5.23.0, apply_chat_template", "now": NOW, "conversations": CONVERSATIONS, "cases": cases}
    text = json.dumps(golden, ensure_ascii=False, indent=1)
    (Path(__file__).parents[1] / "chat_templates.json").write_text(text + "\n", encoding="utf-8")


def render(tokenizer, template, messages, add_generation_prompt=True, tools=None, variables=None):
    """The rendered text, or the error that the template raises, or another failure."""
    try:
        text = tokenizer.apply_chat_template(
            messages, chat_template=template, tools=tools, add_generation_prompt=add_generation_prompt, tokenize=False, **(variables or {})
        )
        return {"text": text}
    except jinja2.exceptions.UndefinedError as error:
        return {"fails": str(error)}
    except jinja2.exceptions.TemplateError as error:
        return {"raises": str(error)}


main()
