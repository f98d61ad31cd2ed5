"""captured.json: queries and keys of whole tiny random models at position 131071, before and after their rotation.

Each model runs one forward pass of three tokens. Its own apply_rotary_pos_emb is wrapped, and what it gets and returns
is kept: the first head of the first layer, or of each layer if the layers differ.
"""

import importlib

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from golden_json import f32
from hf_models import SOURCE

POSITIONS = [0, 4096, 131071]
SMALL = {"vocab_size": 64, "hidden_size": 128, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
         "num_key_value_heads": 1, "max_position_embeddings": 131072, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def rope(rope_type, **more):
    return {"rope_parameters": {"rope_type": rope_type, "rope_theta": 500000.0, **more}}


YARN = {"factor": 3.3, "original_max_position_embeddings": 4096}
MODELS = {
    "llama": {**SMALL, "head_dim": 64, **rope("default")},
    "llama-linear": {**SMALL, "model_type": "llama", "head_dim": 64, **rope("linear", factor=3.3)},
    "llama-yarn": {**SMALL, "model_type": "llama", "head_dim": 128, **rope("yarn", **YARN)},
    "llama-llama3": {**SMALL, "model_type": "llama", "head_dim": 64, **rope(
        "llama3", factor=8.1, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192)},
    "llama-dynamic": {**SMALL, "model_type": "llama", "head_dim": 96, **rope("dynamic", factor=1.7),
                      "max_position_embeddings": 5000},
    "gpt_oss": {**SMALL, "head_dim": 64, "num_local_experts": 2, "num_experts_per_tok": 1, "rope_parameters": {
        "rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0, "original_max_position_embeddings": 4096,
        "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}},
    "gemma4_text": {**SMALL, "head_dim": 64, "global_head_dim": 128, "num_hidden_layers": 2, "hidden_size_per_layer_input": 0,
                    "num_kv_shared_layers": 0, "layer_types": ["sliding_attention", "full_attention"], "rope_parameters": {
        "full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0, "partial_rotary_factor": 0.25},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}},
    "phi3": {**SMALL, "hidden_size": 192, "original_max_position_embeddings": 4096, "rope_parameters": {
        "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 4096,
        "short_factor": [1 + 0.01 * j for j in range(48)], "long_factor": [1.08 + 1.3 * j for j in range(48)]}},
    "qwen3": {**SMALL, "head_dim": 128, **rope("yarn", **{**YARN, "factor": 4.0}, attention_factor=1.1)},
    "glm4": {**SMALL, "head_dim": 128, "partial_rotary_factor": 0.5, **rope("default")},
}


def captured_cases():
    return [case for name, fields in MODELS.items() for case in captured(name, fields)]


def captured(name, fields):
    fields = dict(fields)
    model_type = fields.pop("model_type", name)
    torch.manual_seed(0)
    config = AutoConfig.for_model(model_type, **fields)
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config).eval().float()
    module = importlib.import_module(type(model).__module__)
    apply = module.apply_rotary_pos_emb
    calls = []  # heads before and after their rotation: q and k of each layer

    def applied(*args, **kwargs):
        before = [x.clone() for x in args[:2]]
        out = apply(*args, **kwargs)
        calls.extend(zip(before, out if isinstance(out, tuple) else (out,)))
        return out

    module.apply_rotary_pos_emb = applied
    try:
        with torch.no_grad():
            model(torch.tensor([[3, 5, 7]]), position_ids=torch.tensor([POSITIONS]), use_cache=False)
    finally:
        module.apply_rotary_pos_emb = apply
    assert len(calls) == 2 * config.num_hidden_layers
    differ = "full_attention" in config.rope_parameters
    return [
        made_case(name, model_type, fields, config, layer, *calls[2 * layer : 2 * layer + 2])
        for layer in range(config.num_hidden_layers if differ else 1)
    ]


def made_case(name, model_type, fields, config, layer, query, key):
    (q, q_rotated), (k, k_rotated) = query, key
    heads_first = q.shape[2] == len(POSITIONS) and q.shape[1] == config.num_attention_heads
    layer_types = config.layer_types if "full_attention" in config.rope_parameters else None

    def values(x):
        return f32((x if heads_first else x.transpose(1, 2))[0, 0].flatten())

    return {
        "name": f"{name}, layer {layer}",
        "source": f"{SOURCE}, {model_type}",
        "hf_config": {"model_type": model_type, **fields},
        "layer_type": layer_types[layer] if layer_types else None,
        "positions": POSITIONS,
        "head_dim": q.shape[-1],
        "q": values(q),
        "k": values(k),
        "q_rotated": values(q_rotated),
        "k_rotated": values(k_rotated),
    }
