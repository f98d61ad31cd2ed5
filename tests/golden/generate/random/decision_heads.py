"""Draws decision checkpoints (Laya's head on ModernBERT) with states and questions, and answers them with the laya package.

    python random/decision_heads.py --seed 7 --cases 60 --output decision_heads.json

Half of the cases are GGUF files as llama.cpp reads them: the heads of attention and the epsilon are the encoder's, and temperatures
aren't confined. Julia-1's prompt is that of its own code, which llama.cpp's template writes too. Weights are a formula of their names.
Control tokens in texts are text here, as in ropewalk; the package reads them as control tokens, except [MASK].
"""
# compare: --cases 200
# test: tests/package/model/random/decision_heads.test.mjs

import json
import sys
import tempfile
from pathlib import Path

import torch
from laya import common
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

sys.path.insert(0, str(Path(__file__).parents[1]))  # of tiny_models.py

from shapes.formula_models import compact, formula, placement, run

TOKENIZER = Path(__file__).parents[3] / "files/decision_tokenizer.json"
SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
WORDS = "the rope is long and it may break today because nobody looked at it for three weeks".split()
ODD = ["[MASK]", "[SEP]", "héllo", "日本", "<|x|>", "a  b", "\n", "7", "-"]
TYPES = ["choice", "score", "noul"]
OPTION = {
    "laya": "{% if type == 'choice' %}{{ o.key }}{% if o.description %}: {{ o.description if o.description is string else o.description | tojson }}"
            "{% endif %}{% elif type == 'score' %}level {{ o.key }}: {{ o.description if o.description is string else o.description | tojson }}"
            "{% else %}{{ o.key }}: {% if o.description %}{{ o.description if o.description is string else o.description | tojson }}"
            "{% elif o.key == 'true' %}yes, the statement holds{% else %}no, the statement does not hold{% endif %}{% endif %}",
    "julia": "{% if o.description %}{{ o.description if o.description is string else o.description | tojson }}{% else %}{{ o.key }}{% endif %}",
}  # fmt: skip
BUCKETS = {"choice:2": 0.3, "choice:3-5": 1.7, "choice:11+": 9, "score:3-5": 0.9, "noul:2": 2}


def tokenizer():
    if not TOKENIZER.exists():
        letters = sorted(pre_tokenizers.ByteLevel.alphabet())
        merges = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("i", "s"), ("Ġ", "a"), ("o", "n"), ("Ġ", "r")]
        vocab = {token: i for i, token in enumerate([*SPECIAL, *letters, *("".join(pair) for pair in merges)])}
        made = Tokenizer(models.BPE(vocab, merges))
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        made.add_special_tokens([AddedToken(token, lstrip=token == "[MASK]", normalized=False) for token in SPECIAL])
        made.add_tokens([AddedToken("  ", normalized=False)])
        TOKENIZER.write_text(json.dumps(json.loads(made.to_str()), ensure_ascii=False, separators=(",", ":")) + "\n")
    made = Tokenizer.from_file(str(TOKENIZER))
    names = {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]", "pad_token": "[PAD]"}
    return PreTrainedTokenizerFast(tokenizer_object=made, split_special_tokens=True, clean_up_tokenization_spaces=False, **names)


TOKENS = tokenizer()


def text(draw, least, most):
    words = [draw.choice(ODD if draw.random() < 0.06 else WORDS) for _ in range(draw.randint(least, most))]
    return " ".join(words) + draw.choice(["", "", "?", "."])


def value(draw, least, most):
    return {"a": [text(draw, least, most), 3], "ü": None} if draw.random() < 0.2 else text(draw, least, most)


def question(draw, kind):
    asked = {"type": kind, "instructions": value(draw, 2, 12 if draw.random() < 0.8 else 40)}
    if kind == "choice":
        count = draw.choice([2, 3, 4, 7, 12])
        names = [f"{text(draw, 1, 2)} {i}" for i in range(count)]
        asked["criteria"] = [[name, None if draw.random() < 0.3 else value(draw, 1, 8)] for name in names]
    elif kind == "score":
        asked["criteria"] = [value(draw, 1, 6) for _ in range(draw.randint(2, 6))]
    elif draw.random() < 0.6:
        asked["criteria"] = {key: value(draw, 1, 5) for key in draw.sample(["true", "false"], draw.randint(1, 2))}
    return asked


def internal(asked):
    """As Agent._to_internal()."""
    criteria = asked.get("criteria")
    criteria = dict(criteria) if asked["type"] == "choice" else criteria
    ins = asked["instructions"]
    return {"t": asked["type"], "ins": ins if isinstance(ins, str) else json.dumps(ins, ensure_ascii=False), "crit": criteria}


def julia_options(q):
    """The description alone, or the key."""
    if q["t"] == "choice":
        pairs = list(q["crit"].items())
    elif q["t"] == "score":
        pairs = [(str(i), level) for i, level in enumerate(q["crit"])]
    else:
        pairs = [(key, (q["crit"] or {}).get(key)) for key in ("false", "true")]
    return [key if description is None else common.render_criterion(description) for key, description in pairs]


def draw_case(draw, index):
    is_gguf, form = draw.random() < 0.5, draw.choice(["laya", "laya", "julia"])
    head_dim = 2 * draw.choice([3, 5, 8, 12, 33])
    heads = draw.choice([1, 2, 3, 4])
    hidden = heads * head_dim
    if not is_gguf and hidden % max(1, hidden // 64):
        return None
    encoder = {
        "model_type": "modernbert", "vocab_size": len(TOKENS), "hidden_size": hidden, "num_attention_heads": heads,
        "intermediate_size": draw.choice([17, 24, 40]), "num_hidden_layers": draw.randint(1, 5), "norm_eps": draw.choice([1e-5, 0.01]),
        "local_attention": 2 * draw.randint(2, 20), "global_attn_every_n_layers": draw.choice([1, 2, 3]) if not is_gguf else 3,
        "max_position_embeddings": 1024, "pad_token_id": 3, "cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2,
        "global_rope_theta": draw.choice([1e4, 16e4]), "local_rope_theta": draw.choice([1e3, 1e4]),
    }  # fmt: skip
    head_max = 256 if form == "julia" and not is_gguf else draw.choice([40, 64, 90, 192])
    config = {"head_layers": draw.randint(1, 3), "max_len": 1024, "head_max_len": head_max}
    if form == "laya" and draw.random() < 0.7:
        config["temperature"] = [draw.choice([0.2, 0.7, 1.3, 8]) for _ in TYPES]
    if form == "laya" and draw.random() < 0.5:
        config["temperature_by_options"] = {key: BUCKETS[key] for key in draw.sample(sorted(BUCKETS), 3)}
    model, placed = build(encoder, config, is_gguf)
    state = value(draw, 3, 40)
    asked = {f"q{i}": question(draw, draw.choice(TYPES)) for i in range(draw.randint(1, 4))}
    expected = {name: answer(model, config, state, internal(one), form, is_gguf) for name, one in asked.items()}
    case = {"form": form, "state": state, "questions": asked, "expected": expected, "tensors": compact(placed)}
    if is_gguf:
        return {"gguf": metadata(encoder, config, form), **case}
    own = {"architecture": "JuliaDecisionModel", "head_layers": config["head_layers"]} if form == "julia" else config
    return {"encoder": encoder, "config": own, **case}


def build(encoder, config, is_gguf):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(encoder))
        model = common.build_model(config, folder, pretrained=False)
    placed, values = {}, {}
    for name, tensor in model.state_dict().items():
        if name.startswith("act_head.") or name == "temperature":
            values[name] = torch.zeros_like(tensor)
            continue
        stored = gguf_name(name, encoder["num_hidden_layers"]) if is_gguf else name
        center, shift = placement(stored, tensor.shape, "modernbert")
        if "scorer.3.weight" in name or "type_emb" in name:
            shift -= 3
        placed[stored] = (tuple(tensor.shape), center, shift)
        values[name] = torch.from_numpy(formula(stored, tensor.shape, center, shift))
    model.load_state_dict(values)
    if is_gguf:
        for layer in model.head.layers:
            layer.self_attn.num_heads = encoder["num_attention_heads"]
            layer.self_attn.head_dim = encoder["hidden_size"] // encoder["num_attention_heads"]
            layer.norm1.eps = layer.norm2.eps = encoder["norm_eps"]
        model.scorer[0].eps = encoder["norm_eps"]
    return model.double().eval(), placed


def gguf_name(name, layers):
    parts = name.split(".")
    blocks = {"attn_norm": "attn_norm", "attn.Wqkv": "attn_qkv", "attn.Wo": "attn_output", "mlp_norm": "ffn_norm", "mlp.Wi": "ffn_up",
              "mlp.Wo": "ffn_down"}  # fmt: skip
    head = {"norm1": "attn_norm", "self_attn.in_proj": "attn_qkv", "self_attn.out_proj": "attn_output", "norm2": "ffn_norm",
            "linear1": "ffn_up", "linear2": "ffn_down"}  # fmt: skip
    outside = {"encoder.embeddings.tok_embeddings": "token_embd", "encoder.embeddings.norm": "token_embd_norm", "type_emb": "token_types",
               "encoder.final_norm": "output_norm", "scorer.0": "cls.norm", "scorer.1": "cls", "scorer.3": "cls.output"}  # fmt: skip
    if name.startswith("encoder.layers."):
        return f"blk.{parts[2]}.{blocks['.'.join(parts[3:-1])]}.{parts[-1]}"
    if name.startswith("head.layers."):
        *stem, end = ".".join(parts[3:]).replace("in_proj_", "in_proj.").split(".")
        return f"blk.{layers + int(parts[2])}.{head['.'.join(stem)]}.{end}"
    return f"{outside['.'.join(parts[:-1])]}.{parts[-1]}"


def metadata(encoder, config, form):
    """As llama.cpp's converter writes it, conversion/bert.py."""
    layers, head = encoder["num_hidden_layers"], config["head_layers"]
    keys = {
        "block_count": layers + head, "context_length": encoder["max_position_embeddings"], "embedding_length": encoder["hidden_size"],
        "feed_forward_length": [encoder["intermediate_size"]] * layers + [4 * encoder["hidden_size"]] * head,
        "attention.head_count": encoder["num_attention_heads"], "attention.head_count_kv": encoder["num_attention_heads"],
        "attention.layer_norm_epsilon": encoder["norm_eps"], "attention.sliding_window": encoder["local_attention"],
        "attention.sliding_window_pattern": 3, "attention.causal": False, "rope.freq_base": encoder["global_rope_theta"],
        "rope.freq_base_swa": encoder["local_rope_theta"], "vocab_size": encoder["vocab_size"], "decision.type": "laya",
        "decision.block_count": head, "decision.max_head_tokens": config["head_max_len"],
    }  # fmt: skip
    for name, temperature in zip(TYPES, config.get("temperature", [])):
        keys[f"decision.temperature.{name}"] = temperature
    for name, temperature in config.get("temperature_by_options", {}).items():
        keys["decision.temperature." + name.replace(":", ".").replace("-", "_").rstrip("+")] = temperature
    template = (
        "[CLS]{{ type }} question: {{ instructions if instructions is string else instructions | tojson }}[SEP]"
        "{% for o in options %}[MASK] " + OPTION[form] + "{% endfor %}[SEP]{{ state if state is string else state | tojson }}[SEP]"
    )
    return {**{f"modern-bert.{key}": value for key, value in keys.items()}, "tokenizer.chat_template.systemone": template}


def answer(model, config, state, q, form, is_gguf):
    """Tokens of the prompt, and probabilities of the options in their order; of a noul, of false and true."""
    render = common.render_options
    if form == "julia":
        common.render_options = julia_options
    try:
        ids, markers = common.build_sequence(TOKENS, state, q, config["max_len"], config["head_max_len"])
    finally:
        common.render_options = render
    batch = torch.tensor([ids])
    kind = torch.tensor([common.QTYPES[q["t"]]])
    with torch.no_grad():
        places = torch.tensor([markers])
        logits, _ = model(batch, torch.ones_like(batch), places, torch.ones_like(places, dtype=torch.bool), kind)
    temperature = temperature_of(config, q["t"], len(markers), is_gguf)
    probabilities = torch.softmax(logits[0].double() / temperature, 0)
    return {"tokens": len(ids), "probabilities": [float(f"{p:.8g}") for p in probabilities.tolist()]}


def temperature_of(config, kind, count, is_gguf):
    plain = config.get("temperature", [1, 1, 1])[common.QTYPES[kind]]
    found = config.get("temperature_by_options", {}).get(common.temp_bucket(common.QTYPES[kind], count), plain)
    return found if is_gguf else common.clamp_temperature(found)


if __name__ == "__main__":
    run(__doc__, "decision_heads", 40, draw_case)
