"""chat_templates.json, chat_template_hashes.json, chat_template_expressions.json: what transformers' apply_chat_template renders.

- chat_templates.json: texts, for the two templates of this project in tests/text.
- chat_template_hashes.json: hashes of texts, for every template of models/templates of llama.cpp, which scripts/setup/released.mjs fetches.
  Messages have the forms that a template reads. chat_template_forms.json has those of released templates, as llama.cpp finds them by trials;
  FORMS has what its trials don't see, and those of this project's templates.
- chat_template_expressions.json: texts of the templates in tests/text/expressions.jinja, one on each line.

The templates of real models have their models' licenses, so they aren't in this repository. Run it by itself:
python tests/golden/generate/chat_templates.py <folder of templates>
"""

import datetime
import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path

import jinja2
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

REPOSITORY = Path(__file__).parents[3]
OWN = ["dated_chat.jinja", "plain_chat.jinja"]
VERSIONS = {"transformers": "5.24.0", "Jinja2": "3.1.6"}
NOW = [2024, 7, 6, 9, 5, 3]

# Templates that write calls only where the content is None, that ask whether it is, and that read parts although llama.cpp's trial doesn't see it
WITH_NONE = {"content": ["text"], "arguments": "text", "none": "always"}
ASKS_NONE = {"content": ["text"], "arguments": "object", "none": "given"}
WITH_EMPTY = {"content": ["text"], "arguments": "object", "empty": ""}
WITH_PARTS = {"content": ["text", "parts"], "arguments": "object"}
FORMS = {
    "dated_chat.jinja": WITH_EMPTY,
    "plain_chat.jinja": {"content": ["text"], "arguments": "object"},
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja": WITH_NONE,
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja": ASKS_NONE,
    # these fail without a content
    "Qwen-QwQ-32B.jinja": WITH_EMPTY,
    "Qwen-Qwen3-0.6B.jinja": WITH_EMPTY,
    "unsloth-mistral-Devstral-Small-2507.jinja": {**WITH_EMPTY, "content": ["text", "parts"]},
    "LFM2-8B-A1B.jinja": WITH_EMPTY,
    "LFM2.5-Instruct.jinja": WITH_EMPTY,
    "ibm-granite-granite-3.3-2B-Instruct.jinja": WITH_EMPTY,
    "microsoft-Phi-3.5-mini-instruct.jinja": WITH_EMPTY,
    "llama-cpp-rwkv-world.jinja": ASKS_NONE,
    "LFM2.5-8B-A1B.jinja": WITH_PARTS,
    "mistralai-Ministral-3-14B-Reasoning-2512.jinja": WITH_PARTS,
}

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
    "content in parts": {"messages": [message("user", [{"type": "text", "text": "How long "}, {"type": "text", "text": "is it?"}])]},
    "no content, and arguments as text": {
        "messages": [
            USER,
            message("assistant", None, tool_calls=[{"id": "call_0_abc", "type": "function", "function": {
                "name": "get_wind", "arguments": json.dumps(CALL["function"]["arguments"])}}]),
            message("tool", "{\"knots\": 12}", tool_call_id="call_0_abc", name="get_wind"),
        ],
        "tools": [WEATHER],
    },
    "named calls and a number": {
        "messages": [
            SYSTEM, USER, message("assistant", "", tool_calls=[{"id": "abcdefghi", **CALL}]),
            message("tool", "{\"knots\": 12.0, \"list\": [1, null]}", tool_call_id="abcdefghi", name="get_wind"),
            message("assistant", "Twelve."), MORE,
        ],
        "tools": [WEATHER],
        "variables": {"thinking_budget": 512, "enable_thinking": True},
    },
}


NONE = object()  # apply_chat_template() leaves out what is None, so it is put in where templates' values are made
make_plain = chat_template_utils._plain_template_data
chat_template_utils._plain_template_data = lambda value: None if value is NONE else make_plain(value)
RELEASED_FORMS = json.loads((Path(__file__).parents[1] / "chat_template_forms.json").read_text())["templates"]


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
    folder = Path(sys.argv[1])
    cases = [
        {"template": path.name, "conversation": name, **render(tokenizer, path, **conversation)}
        for path in [REPOSITORY / "tests/text" / name for name in OWN]
        for name, conversation in CONVERSATIONS.items()
    ]
    source = "transformers 5.24.0, apply_chat_template"
    write("chat_templates.json", {"source": source, "now": NOW, "conversations": CONVERSATIONS, "cases": cases}, indent=1)
    hashes = {
        path.name: {"template": digest(path.read_text()), "texts": [short(tokenizer, path, conversation) for conversation in CONVERSATIONS.values()]}
        for path in sorted(folder.glob("*.jinja"))
    }
    write("chat_template_hashes.json", {"source": source, "templates": hashes}, indent=0)
    lines = (REPOSITORY / "tests/text/expressions.jinja").read_text().splitlines()
    texts = [render_text(tokenizer, line, [message("user", "Heave!")]) for line in lines]
    write("chat_template_expressions.json", {"source": source, "texts": texts}, indent=0)


def write(name, golden, indent=None):
    text = json.dumps(golden, ensure_ascii=False, indent=indent)
    (Path(__file__).parents[1] / name).write_text(text + "\n", encoding="utf-8")


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def short(tokenizer, path, conversation):
    """The hash of the text, the error that the template raises, or null for another failure."""
    result = render(tokenizer, path, **conversation)
    return digest(result["text"]) if "text" in result else {"raises": result["raises"]} if "raises" in result else None


def render(tokenizer, path, messages, **options):
    """Renders messages in the form that the template reads."""
    forms = FORMS.get(path.name) or RELEASED_FORMS[path.name]
    return render_text(tokenizer, path.read_text(), [in_form(message, forms) for message in messages], **options)


def in_form(message, forms):
    """Contents and arguments as llama.cpp gives them to a template."""
    message = dict(message)
    if isinstance(message["content"], list) and "parts" not in forms["content"]:
        message["content"] = "\n".join(part["text"] for part in message["content"])
    if message.get("tool_calls") and message["content"] in (None, ""):
        asks = forms.get("none") == "always" or (forms.get("none") == "given" and message["content"] is None)
        message["content"] = NONE if asks else forms.get("empty", message["content"])
    calls = message.get("tool_calls", [])
    for i, call in enumerate(calls):
        arguments = call["function"]["arguments"]
        if forms["arguments"] == "object" and isinstance(arguments, str):
            arguments = json.loads(arguments)
        if forms["arguments"] == "text" and not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
        calls = [*calls[:i], {**call, "function": {**call["function"], "arguments": arguments}}, *calls[i + 1 :]]
    return {**message, "tool_calls": calls} if calls else message


def render_text(tokenizer, template, messages, add_generation_prompt=True, tools=None, variables=None):
    """The rendered text, the error that the template raises, or another failure."""
    try:
        text = tokenizer.apply_chat_template(
            messages, chat_template=template, tools=tools, add_generation_prompt=add_generation_prompt, tokenize=False, **(variables or {})
        )
        return {"text": text}
    except Exception as error:  # a wrong value in a template may raise any error of Python
        return {"raises" if type(error) is jinja2.exceptions.TemplateError else "fails": str(error)}


main()
