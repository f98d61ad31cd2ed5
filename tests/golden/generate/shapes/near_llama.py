"""Shapes of more architectures near Llama. See variants.py."""

from tiny_models_configs import LAYER_NORM, LLAMA3, RMS, rope
from shapes.variants import NARROW, WIDE

CONFIGS = {
    "glm": {"model_type": "glm", **NARROW, **RMS, **rope(1000.0, partial_rotary_factor=0.5), "attention_bias": True},
    "cwm": {"model_type": "cwm", **NARROW, **RMS, "sliding_window": 16, "num_hidden_layers": 4,
            "rope_parameters": {**LLAMA3, "rope_theta": 500.0}},
    "helium": {"model_type": "helium", **NARROW, **RMS, **rope(1000.0)},
    "internlm3": {"model_type": "internlm3", **NARROW, **RMS, **rope(1000.0), "attention_bias": True, "mlp_bias": True},
    "hyperclovax": {
        "model_type": "hyperclovax",
        **WIDE,
        **RMS,
        **rope(1000.0),
        "embedding_multiplier": 3.0,
        "residual_multiplier": 0.4,
        "attention_multiplier": 0.2,
        "logits_scaling": 0.5,
    },
    "jais2": {"model_type": "jais2", **NARROW, **LAYER_NORM, **rope(1000.0)},
    # Code outside of transformers: the weights of one of its architectures under other names.
    "xverse": {"model_type": "llama", **WIDE, **RMS, **rope(1000.0)},
    "orion": {"model_type": "stablelm", **WIDE, **LAYER_NORM, **rope(1000.0, partial_rotary_factor=1.0)},
    "exaone": {"model_type": "llama", **WIDE, **RMS, "num_attention_heads": 3, "num_key_value_heads": 1,
               "rope_parameters": {**LLAMA3, "rope_theta": 500.0}},
}

GGUF = {"glm": "chatglm", "jais2": "jais2", "xverse": "xverse", "orion": "orion", "exaone": "exaone"}
INTERLEAVED = {"xverse"}
# Windows that GGUF's llama doesn't have; no architecture of their own there.
NOT_IN_GGUF = {"cwm", "helium", "internlm3", "hyperclovax"}

KEYS = {
    "exaone": {"num_layers": "num_hidden_layers", "layer_norm_epsilon": "rms_norm_eps"},
    "orion": {"rms_norm_eps": "layer_norm_eps"},
}


def usual_keys(config):
    """A config with the keys of other architectures."""
    renamed = KEYS.get(config["model_type"], {})
    return {renamed.get(key, key): value for key, value in config.items()}
