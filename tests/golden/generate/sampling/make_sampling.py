"""Writes sampling.json: the tokens that remain after the options of sampling, and their probabilities. See README.md.

    python make_sampling.py            write the file
    python make_sampling.py --check    compute the cases again and compare with the committed file

Half of the cases are llama.cpp's samplers (llama-cpp-python), half the logits processors of transformers.
"""

import argparse
import ctypes
import json
import sys
from pathlib import Path

import llama_cpp
import numpy as np
import torch
import transformers

sys.path.insert(0, str(Path(__file__).parents[1]))
from golden_json import f32, write_cases  # noqa: E402

HERE = Path(__file__).parents[2]
VOCABULARY = 60
BREAKER = "e"

# the options of each case, by their names in SamplerOptions; `spread` scales the logits
LLAMA_CPP = {
    "penalties": {"repetition": 1.3, "frequency": 0.4, "presence": 0.7},
    "negative penalties": {"repetition": 0.8, "frequency": -0.2, "presence": -1},
    "penalty window": {"repetition": 1.5, "frequency": 0.5, "penalty_window": 5},
    "dry": {"dry_multiplier": 0.8, "recent": "repeats"},
    "dry of long repeats": {"dry_multiplier": 1.5, "dry_base": 1.2, "dry_allowed_length": 4, "recent": "repeats"},
    "dry of one token": {"dry_multiplier": 2, "dry_base": 2, "dry_allowed_length": 1, "recent": "one token"},
    "dry with breakers": {"dry_multiplier": 0.8, "recent": "repeats", "breakers": True},
    "dry window": {"dry_multiplier": 0.8, "dry_window": 9, "recent": "repeats"},
    "dry after penalties": {"dry_multiplier": 1, "repetition": 1.2, "presence": 0.5, "recent": "repeats"},
    "top_n_sigma": {"top_n_sigma": 1.5},
    "top_n_sigma of narrow logits": {"top_n_sigma": 1, "spread": 0.1},
    "typical": {"typical_p": 0.6},
    "typical of flat logits": {"typical_p": 0.3, "spread": 0.2},
    "xtc": {"xtc_threshold": 0.05},
    "xtc of one top choice": {"xtc_threshold": 0.3, "spread": 4},
    "temperature last": {"top_p": 0.8, "temperature": 2},
    "all": {
        "repetition": 1.1, "frequency": 0.1, "presence": 0.1, "dry_multiplier": 0.8, "recent": "repeats",
        "top_n_sigma": 2.5, "top_k": 30, "typical_p": 0.95, "top_p": 0.9, "min_p": 0.02, "xtc_threshold": 0.1, "temperature": 0.7,
    },
    "all but one": {"top_k": 40, "typical_p": 0.7, "top_p": 0.6, "min_p": 0.1, "temperature": 1.4},
}  # fmt: skip
TRANSFORMERS = {
    "repetition": {"repetition": 1.4},
    "temperature before top_p": {"temperature": 2, "top_p": 0.8},
    "top_k": {"top_k": 7, "temperature": 0.5},
    "min_p": {"min_p": 0.1, "temperature": 1.5},
    "typical last": {"top_k": 30, "top_p": 0.95, "min_p": 0.01, "typical_p": 0.5},
    "typical": {"typical_p": 0.2},
    "all": {"repetition": 0.9, "temperature": 0.8, "top_k": 20, "top_p": 0.9, "min_p": 0.03, "typical_p": 0.8},
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--check", action="store_true", help="only compare with the committed file")
    check_only = arguments.parse_args().check

    random = np.random.default_rng(20261123)
    cases = [case(random, f"{order}: {name}", order, options) for order, all_cases in
             (("llama_cpp", LLAMA_CPP), ("transformers", TRANSFORMERS)) for name, options in all_cases.items()]  # fmt: skip
    if not check_only:
        write_cases(HERE / "sampling.json", cases)
        return
    committed = json.loads((HERE / "sampling.json").read_text())
    print("same as" if json.loads(json.dumps(cases)) == committed else "DIFFERS from", "the committed file")


def case(random, name, order, options):
    options = dict(options)
    logits = f32(random.normal(0, options.pop("spread", 1.5), VOCABULARY))
    recent = RECENT[options.pop("recent", "random")](random)
    breakers = breaking_tokens() if options.pop("breakers", False) else []
    recent = [breakers[0] if breakers and token == recent[-3] else token for token in recent]  # within the repeats
    kept = {"llama_cpp": kept_by_llama_cpp, "transformers": kept_by_transformers}[order](logits, recent, breakers, options)
    tokens = sorted(kept)
    return {
        "name": name, "order": order, "options": options, "breakers": breakers, "recent": recent, "logits": logits,
        "tokens": tokens, "probabilities": f32([kept[token] for token in tokens]),
    }  # fmt: skip


def repeats(random):
    """A text that ends as three of its parts do, after 2, 3 and 5 tokens."""
    end = random.integers(0, VOCABULARY, 6).tolist()
    parts = [end[-2:], end[-3:], end[-5:], end[-3:]]
    text = [token for part in parts for token in (*part, *random.integers(0, VOCABULARY, 2).tolist())]
    return text + end


RECENT = {
    "random": lambda random: random.integers(0, 12, 20).tolist(),
    "repeats": repeats,
    "one token": lambda random: [3, 5, 5, 5, 5, 5],
}


def vocabulary():
    if not vocabulary.__dict__:
        parameters = llama_cpp.llama_model_default_params()
        parameters.vocab_only = True
        path = HERE / "tiny_models" / "llama" / "model.gguf"
        vocabulary.model = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
    return llama_cpp.llama_model_get_vocab(vocabulary.model)


def breaking_tokens():
    texts = [ctypes.create_string_buffer(64) for _ in range(VOCABULARY)]
    for token, text in enumerate(texts):
        llama_cpp.llama_token_to_piece(vocabulary(), token, text, 63, 0, True)
    found = [token for token, text in enumerate(texts) if BREAKER.encode() in text.value]
    assert found, "no token has the breaker"
    return found


def kept_by_llama_cpp(logits, recent, breakers, options):
    get = options.get
    lib = llama_cpp
    chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
    given = [BREAKER.encode()] if breakers else []
    samplers = [
        lib.llama_sampler_init_penalties(
            VOCABULARY, get("penalty_window", 64), get("repetition", 1), get("frequency", 0), get("presence", 0),
        ),
        lib.llama_sampler_init_dry(
            vocabulary(), get("dry_multiplier", 0), get("dry_base", 1.75), get("dry_allowed_length", 2), get("dry_window", 1024),
            (ctypes.c_char_p * len(given))(*given), len(given),
        ),
        lib.llama_sampler_init_top_n_sigma(get("top_n_sigma", 0)),
        lib.llama_sampler_init_top_k(get("top_k", 0)),
        lib.llama_sampler_init_typical(get("typical_p", 1), 0),
        lib.llama_sampler_init_top_p(get("top_p", 1), 0),
        lib.llama_sampler_init_min_p(get("min_p", 0), 0),
        lib.llama_sampler_init_xtc(1 if "xtc_threshold" in options else 0, get("xtc_threshold", 0.1), 0, 1),
        lib.llama_sampler_init_temp(get("temperature", 1)),
    ]  # fmt: skip
    for sampler in samplers:
        lib.llama_sampler_chain_add(chain, sampler)
    for token in recent:
        lib.llama_sampler_accept(chain, token)
    data = (lib.llama_token_data * VOCABULARY)(*[lib.llama_token_data(i, logit, 0) for i, logit in enumerate(logits)])
    array = lib.llama_token_data_array(data, VOCABULARY, -1, False)
    lib.llama_sampler_apply(chain, ctypes.byref(array))
    kept = {array.data[i].id: array.data[i].logit for i in range(array.size) if array.data[i].logit != -np.inf}
    lib.llama_sampler_free(chain)
    return softmax(kept)


def kept_by_transformers(logits, recent, _breakers, options):
    config = transformers.GenerationConfig(
        do_sample=True, repetition_penalty=options.get("repetition", 1.0), temperature=float(options.get("temperature", 1)),
        top_k=options.get("top_k", 0), top_p=float(options.get("top_p", 1)), min_p=options.get("min_p"),
        typical_p=float(options.get("typical_p", 1)),
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(vocab_size=VOCABULARY, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1)
    )
    model.generation_config = config
    processors = model._get_logits_processor(config, input_ids_seq_length=len(recent))
    scores = processors(torch.tensor([recent]), torch.tensor([logits]))[0].tolist()
    return softmax({token: score for token, score in enumerate(scores) if score != -np.inf})


def softmax(logits):
    values = np.array(list(logits.values()), dtype=np.float64)
    weights = np.exp(values - values.max())
    return dict(zip(logits, weights / weights.sum()))


if __name__ == "__main__":
    main()
