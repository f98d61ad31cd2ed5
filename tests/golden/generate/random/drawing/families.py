"""Whole configs drawn within what a family allows. A drawer returns the config, the kind of Auto class, and the longest text to read."""

VOCABULARY = 64
ACTIVATIONS = ["gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_python", "relu", "silu", "swish", "tanh", "relu2"]
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SLIDING, FULL = "sliding_attention", "full_attention"


def maybe(draw, values, chance=0.6):
    """Some of the keys: a class has a default for those that are absent."""
    return {key: value for key, value in values.items() if draw.random() < chance}


def heads_of(draw, most=6):
    """A number of heads, and one that divides it."""
    heads = draw.randint(1, most)
    return heads, draw.choice([count for count in range(1, heads + 1) if heads % count == 0])


def rope(draw, width, labels):
    """RoPE for each kind of layer."""
    return {label: rope_of(draw, width) for label in labels}


def rope_of(draw, width):
    theta = {"rope_theta": draw.choice([50.0, 1000.0, 10000.0, 250000.0])}
    kind = draw.choice(["default", "default", "proportional", "linear", "yarn", "llama3"])
    keys = {
        "default": {},
        "proportional": {"partial_rotary_factor": draw.choice([0.25, 0.5, 0.75, 1.0])},
        "linear": {"factor": draw.choice([2.0, 3.5])},
        "yarn": {"factor": draw.choice([2.0, 4.0]), "original_max_position_embeddings": draw.choice([16, 32])},
        "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": draw.choice([16, 64])},
    }[kind]
    return {"rope_type": kind, **theta, **keys}


def lfm3(draw):
    heads, kv_heads = heads_of(draw)
    layers, width = draw.randint(1, 6), 2 * draw.randint(1, 8)
    config = {
        "model_type": "lfm3",
        "architectures": ["Lfm3ForCausalLM"],
        "vocab_size": VOCABULARY,
        **SPECIAL,
        "max_position_embeddings": 256,
        "hidden_size": draw.randint(5, 40),
        "intermediate_size": draw.randint(3, 60),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": width,
        draw.choice(["norm_eps", "rms_norm_eps"]): draw.choice([1e-6, 1e-5, 0.01]),
        "sliding_window": draw.randint(1, 30),
        **maybe(draw, {
            "conv_L_cache": draw.randint(2, 9),
            "conv_bias": draw.random() < 0.5,
            "attention_bias": draw.random() < 0.5,
            "use_sandwich_norm": draw.random() < 0.5,
            "use_attention_gate": draw.random() < 0.5,
            "tie_word_embeddings": draw.random() < 0.5,
            "layer_types": [draw.choice(["conv", SLIDING, FULL]) for _ in range(layers)],
            "rope_parameters": rope(draw, width, [SLIDING, FULL]),
        }),
    }
    return config, "ForCausalLM", 60


def embedding_gemma2(draw):
    heads, kv_heads = heads_of(draw)
    layers = draw.randint(1, 5)
    width, wide = 2 * draw.randint(1, 6), 2 * draw.randint(1, 8)
    types = [*[draw.choice([SLIDING, FULL]) for _ in range(layers - 1)], FULL]
    config = {
        "model_type": "embedding_gemma2_text",
        "architectures": ["EmbeddingGemma2TextModel"],
        "vocab_size": VOCABULARY,
        **SPECIAL,
        "max_position_embeddings": 256,
        "hidden_size": draw.randint(5, 30),
        "intermediate_size": draw.randint(3, 40),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": width,
        "sliding_window": draw.randint(0, 20),
        "hidden_size_per_layer_input": draw.randint(1, 20),
        "embedding_dim": draw.randint(1, 40),
        "rms_norm_eps": draw.choice([1e-6, 0.01]),
        **maybe(draw, {
            "hidden_activation": draw.choice(ACTIVATIONS),
            "attention_bias": draw.random() < 0.5,
            "rope_parameters": {SLIDING: {"rope_type": "default", "rope_theta": 100.0}, FULL: rope_of(draw, wide)},
        }),
        **draw.choice([{"layer_types": types}, {"sliding_window_pattern": draw.randint(1, 4)}]),
    }
    types = config.get("layer_types") or [FULL if (i + 1) % config["sliding_window_pattern"] == 0 else SLIDING for i in range(layers)]
    types = [*types[:-1], FULL]
    own = {"head_dim": wide, "num_key_value_heads": heads_of_same(draw, heads)}
    if draw.random() < 0.4:
        config |= {"global_head_dim": own["head_dim"], "num_global_key_value_heads": own["num_key_value_heads"]}
    else:
        own = maybe(draw, own, 0.8)
        digits = draw.choice([1, 2])  # the class writes as many for each layer
        config["per_layer_config"] = {str(layer).zfill(digits): own for layer, kind in enumerate(types) if kind == FULL and own}
    return config, "", 60


def heads_of_same(draw, heads):
    return draw.choice([count for count in range(1, heads + 1) if heads % count == 0])


def encoder_kind(draw):
    return draw.choice(["", "ForMaskedLM", "ForSequenceClassification"])


def with_kind(config, stem, kind):
    one = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}} if kind == "ForSequenceClassification" else {}
    return {**config, "architectures": [f"{stem}{kind or 'Model'}"], **one}


def mpnet(draw):
    heads = draw.randint(1, 5)
    longest = draw.choice([20, 60, 200, 300])
    config = {
        "model_type": "mpnet",
        "vocab_size": VOCABULARY,
        "hidden_size": heads * draw.randint(1, 9),
        "num_hidden_layers": draw.randint(1, 4),
        "num_attention_heads": heads,
        "intermediate_size": draw.randint(3, 50),
        "max_position_embeddings": longest + 2,
        **maybe(draw, {
            "hidden_act": draw.choice(ACTIVATIONS),
            "layer_norm_eps": draw.choice([1e-12, 1e-5, 0.01]),
            "relative_attention_num_buckets": draw.randint(32, 40),
            "pad_token_id": draw.choice([0, 1, 2]),
            "tie_word_embeddings": draw.random() < 0.5,
        }),
    }
    kind = encoder_kind(draw)
    return with_kind(config, "MPNet", kind), kind, longest


def distilbert(draw):
    heads = draw.randint(1, 5)
    longest = draw.choice([20, 60])
    config = {
        "model_type": "distilbert",
        "vocab_size": VOCABULARY,
        draw.choice(["dim", "hidden_size"]): heads * draw.randint(1, 9),
        draw.choice(["n_layers", "num_hidden_layers"]): draw.randint(1, 4),
        draw.choice(["n_heads", "num_attention_heads"]): heads,
        "hidden_dim": draw.randint(3, 50),
        "max_position_embeddings": longest,
        **maybe(draw, {
            "activation": draw.choice(ACTIVATIONS),
            "sinusoidal_pos_embds": draw.random() < 0.5,
            "pad_token_id": draw.choice([0, 1, 2]),
            "tie_word_embeddings": draw.random() < 0.5,
            "seq_classif_dropout": 0.3,
        }),
    }
    kind = encoder_kind(draw)
    return with_kind(config, "DistilBert", kind), kind, longest


def gpt2(draw):
    heads = draw.randint(1, 6)
    longest = draw.choice([20, 60])
    config = {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": VOCABULARY,
        **SPECIAL,
        draw.choice(["n_embd", "hidden_size"]): heads * draw.randint(1, 9),
        draw.choice(["n_layer", "num_hidden_layers"]): draw.randint(1, 4),
        draw.choice(["n_head", "num_attention_heads"]): heads,
        draw.choice(["n_positions", "max_position_embeddings"]): longest + draw.randint(0, 5),
        **maybe(draw, {
            "n_inner": draw.choice([None, draw.randint(3, 60)]),
            "activation_function": draw.choice(ACTIVATIONS),
            "layer_norm_epsilon": draw.choice([1e-5, 0.01]),
            "scale_attn_weights": draw.random() < 0.5,
            "reorder_and_upcast_attn": draw.random() < 0.5,
            "tie_word_embeddings": draw.random() < 0.5,
            "n_ctx": longest,
        }),
    }
    return config, "ForCausalLM", longest


FAMILIES = {"lfm3": lfm3, "embedding_gemma2": embedding_gemma2, "mpnet": mpnet, "distilbert": distilbert, "gpt2": gpt2}
