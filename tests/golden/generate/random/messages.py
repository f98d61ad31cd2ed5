"""random/messages.json: conversations drawn at random, and what transformers renders of them in the form that each template reads.

The templates are this project's, one for each form of contents, arguments and tools, so the form that each of them reads is known here.
"""
# compare: --cases 4000
# test: tests/unit/text/random_messages.test.mjs

import json
import random

from transformers.utils import chat_template_utils as utils
from transformers.utils.chat_template_utils import render_jinja_template

from drawing.options import options_parser

ROLES = "[{{ m.role }}]"
TOOLS = {
    "nested": "{% for t in tools or [] %}<{{ t.function.name }}|{{ t.function.parameters | tojson }}>{% endfor %}",
    "flat": "{% for t in tools or [] %}<{{ t.name }}|{{ t.parameters | tojson }}>{% endfor %}",
}
CONTENTS = {
    "text": "{{ (m['content'] or '') | trim }}",
    "joined": "{{ m['content'] + ';' }}",
    "none": "{% if m['content'] is none %}-{% else %}{{ m['content'] }}{% endif %}",
    "parts": "{% for p in m['content'] %}{% if p['type'] == 'text' %}{{ p['text'] }}|{% endif %}{% endfor %}",
    "selected": "{% for p in m['content'] | selectattr('type', 'equalto', 'text') %}{{ p['text'] }},{% endfor %}",
    "both": "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content or [] %}({{ p.text }}){% endfor %}{% endif %}",
}
ARGUMENTS = {
    "object": "{{ c.function.arguments | tojson }}",
    "items": "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }};{% endfor %}",
    "text": "{{ '' + c.function.arguments }}",
}
REASONING = ["reasoning_content", "thinking", "reasoning"]
READS_REASONING = {name: "m." + name for name in REASONING} | {
    "all": "m.reasoning, m.thinking, m.reasoning_content",
    "first": "m.thinking or m['reasoning_content']",
}
SYSTEM = {
    "read": "",
    "refused": "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}",
    "skipped": "",
}
NAMES = {"read": "{% if m.name %}{{ m.name }}:{% endif %}", "unread": ""}
WORDS = ["rope", "Knoten", "縄 🪢", "a  b", "\"quoted\"", "it's", "{x}", "<b>", "\\n", "1.50", "é\u0301", "line\nbreak", "None", "tie"]


ALIAS = utils._alias_reasoning_fields


def template(content, arguments, tools, reasoning, system, names):
    return (
        TOOLS[tools]
        + SYSTEM[system]
        + "{% for m in messages" + (" if m.role != 'system'" if system == "skipped" else "") + " %}" + ROLES
        + NAMES[names]
        + "".join("{% if " + read + " %}~{{ " + read + " }}~{% endif %}" for read in READS_REASONING[reasoning].split(", "))
        + CONTENTS[content]
        + "{% for c in m.tool_calls or [] %}({{ c.function.name }} " + ARGUMENTS[arguments] + "){% endfor %}\n{% endfor %}"
        + "{% if add_generation_prompt %}[assistant]{% endif %}"
    )


def text(draw):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, 5)))


def value(draw, depth=0):
    kinds = ["text", "int", "big", "float", "bool", "none"] + (["list", "dict"] if depth < 3 else [])
    kind = draw.choice(kinds)
    if kind == "text":
        return draw.choice(["", text(draw)])
    if kind == "int":
        return draw.randint(-1000, 1000)
    if kind == "big":
        return draw.randint(10**16, 10**22)
    if kind == "float":
        return draw.choice([1.0, -0.5, 1e-7, 2.5e20, 0.1])
    if kind == "list":
        return [value(draw, depth + 1) for _ in range(draw.randint(0, 3))]
    if kind == "dict":
        return named(draw, depth + 1)
    return draw.choice([True, False]) if kind == "bool" else None


def named(draw, depth=0):
    keys = draw.sample(["city", "10", "2", "a b", "ключ", "x", "n"], draw.randint(1, 4))
    return {key: value(draw, depth) for key in keys}


def content_of(draw):
    if draw.random() < 0.7:
        return text(draw)
    return [{"type": "text", "text": text(draw)} for _ in range(draw.randint(1, 3))]


def conversation(draw):
    messages = [{"role": draw.choice(["system", "developer"]), "content": content_of(draw)}] if draw.random() < 0.4 else []
    for _ in range(draw.randint(1, 3)):
        messages.append({"role": "user", "content": content_of(draw)})
        if draw.random() < 0.1:
            messages[-1]["name"] = draw.choice(["Anna", "Nils_2"])
        answer = {"role": "assistant"}
        if draw.random() < 0.3:
            reasoning = text(draw)
            for name in draw.sample(REASONING, draw.choice([1, 1, 2, 3])):
                answer[name] = reasoning
        if draw.random() < 0.5:
            answer["tool_calls"] = [
                {"id": f"call{n:05}", "type": "function", "function": {"name": draw.choice(["tie", "find_rope"]), "arguments": json.dumps(named(draw), ensure_ascii=False)}}
                for n in range(draw.randint(1, 2))
            ]
            answer["content"] = draw.choice([None, "", content_of(draw)])
            messages.append(answer)
            messages += [
                {"role": "tool", "tool_call_id": call["id"], "name": call["function"]["name"], "content": content_of(draw)}
                for call in answer["tool_calls"]
            ]
        else:
            messages.append({**answer, "content": content_of(draw)})
    if draw.random() < 0.5:
        messages.append({"role": "user", "content": content_of(draw)})
    return messages


def in_form(messages, content, arguments, system, reasoning):
    """Messages as the template reads them: llama.cpp's rule, and None where a template asks for it."""
    messages = [{**message, "role": "system"} if message["role"] == "developer" else message for message in messages]
    if system != "read" and messages[0]["role"] == "system":
        messages = [merged(messages[0], messages[1]), *messages[2:]]
    return [message_in_form(dict(message), content, arguments, reasoning) for message in messages]


def merged(system, following):
    """The message after a system message that the template doesn't read, with its text in front."""
    before, after = system["content"], following["content"]
    if isinstance(before, str) and isinstance(after, str):
        return {**following, "content": before + "\n" + after}
    return {**following, "content": parts(before) + parts(after)}


def parts(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def message_in_form(message, content, arguments, read):
    given = message.get("content")
    if given in (None, ""):
        if given is None and content not in ("none", "joined"):
            message.pop("content")  # transformers leaves out what is None
        elif content in ("parts", "selected"):
            message["content"] = [{"type": "text", "text": ""}]
        else:
            message["content"] = None if content == "none" and given is None else ""
    elif isinstance(given, str) and content in ("parts", "selected"):
        message["content"] = [{"type": "text", "text": given}]
    elif isinstance(given, list) and content not in ("parts", "selected", "both"):
        message["content"] = "\n".join(part["text"] for part in given)
    if message.get("tool_calls") and arguments != "text":
        message["tool_calls"] = [
            {**call, "function": {**call["function"], "arguments": json.loads(call["function"]["arguments"])}} for call in message["tool_calls"]
        ]
    reasoning = next((message.pop(name) for name in REASONING if name in message), None)
    for name in REASONING:
        message.pop(name, None)
    if reasoning is None:
        return message
    return {**message, **({name: reasoning for name in REASONING} if read != "all" else {"reasoning": reasoning})}


def draw_case(draw):
    forms = {
        "content": draw.choice(list(CONTENTS)),
        "arguments": draw.choice(list(ARGUMENTS)),
        "tools": draw.choice(list(TOOLS)),
        "reasoning": draw.choice(list(READS_REASONING)),
        "system": draw.choice(list(SYSTEM)),
        "names": draw.choice(list(NAMES)),
    }
    source = template(**forms)
    messages = conversation(draw)
    names = draw.sample(["tie", "find_rope", "measure"], draw.randint(0, 2))
    tools = [{"name": name, "description": text(draw), "parameters": {"type": "object", "properties": {}}} for name in names]
    nested = [{"type": "function", "function": tool} for tool in tools]
    prompt = draw.random() < 0.7
    # transformers gives reasoning under two names, and such a template would write it twice
    utils._alias_reasoning_fields = (lambda chat: chat) if forms["reasoning"] == "all" else ALIAS
    rendered, _ = render_jinja_template(
        conversations=[in_form(messages, forms["content"], forms["arguments"], forms["system"], forms["reasoning"])],
        tools=(nested if forms["tools"] == "nested" else tools) or None,
        chat_template=source,
        add_generation_prompt=prompt,
    )
    given = draw.choice([tools, nested])
    lost = [f"messages[{i}].name" for i, message in enumerate(messages) if message["role"] == "user" and "name" in message]
    return {
        "forms": forms,
        "template": source,
        "messages": messages,
        "tools": given,
        "prompt": prompt,
        "text": rendered[0],
        **({"lost": lost} if lost and forms["names"] == "unread" else {}),
    }


def main():
    options = options_parser(__doc__, "messages", 140).parse_args()
    draw = random.Random(options.seed)
    cases = [draw_case(draw) for _ in range(options.cases)]
    golden = {"source": "transformers 5.24.0, render_jinja_template", "seed": options.seed, "cases": cases}
    options.output.write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
