"""Writes tiny random models that embed or rank texts, tiny_models/<name>/, and the results of transformers and
sentence-transformers for them, expected_embeddings.json. See tiny_models/README.md.

    python encoders/tiny_encoders.py                write every model
    python encoders/tiny_encoders.py bert           write only this
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

sys.path.insert(0, str(Path(__file__).parents[1]))

from tiny_models import RANDOM_BUFFERS, distribution, generator, make_folders, write_expected  # noqa: E402
from tiny_models_configs import VOCABULARY  # noqa: E402
from tiny_models_vocabulary import FIRST_TEXT_TOKEN, write_tokenizer  # noqa: E402

SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "max_position_embeddings": 96,
}
LAYER_NORM = {"layer_norm_eps": 0.01}
LABEL = {"num_labels": 1}
LENGTHS = [1, 6, 17, 48, 80]
SENTENCES = ["the cat", "A rope is a rope.", "the quick brown fox jumps over the lazy dog, and then the dog sleeps!"]

BERT = {"model_type": "bert", **SIZES, **LAYER_NORM, "type_vocab_size": 2}
XLM_ROBERTA = {"model_type": "xlm-roberta", **SIZES, **LAYER_NORM, "type_vocab_size": 1, "pad_token_id": 1,
               "bos_token_id": 0}
MODERNBERT = {
    "model_type": "modernbert",
    **SIZES,
    "norm_eps": 0.01,
    "num_hidden_layers": 4,
    "local_attention": 12,
    "cls_token_id": 1,
    "sep_token_id": 2,
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 1000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
    },
}
NOMIC = {"model_type": "nomic_bert", **SIZES, **LAYER_NORM, "type_vocab_size": 2}
GTE = {"model_type": "gte", **SIZES, **LAYER_NORM, "type_vocab_size": 1,
       "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0}}
GEMMA = {
    "model_type": "gemma3_text",
    **SIZES,
    "rms_norm_eps": 0.01,
    "num_hidden_layers": 6,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "query_pre_attn_scalar": 8,
    "sliding_window": 12,
    "use_bidirectional_attention": True,
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 1000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
    },
    "tie_word_embeddings": True,
}

MPNET = {"model_type": "mpnet", **SIZES, **LAYER_NORM, "num_attention_heads": 4, "relative_attention_num_buckets": 32}
DISTILBERT = {"model_type": "distilbert", "vocab_size": VOCABULARY, "dim": 30, "hidden_dim": 44, "n_layers": 3, "n_heads": 5,
              "max_position_embeddings": 96, "pad_token_id": 0}
EMBEDDING_GEMMA2 = {
    "model_type": "embedding_gemma2_text",
    **SIZES,
    "rms_norm_eps": 0.01,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 3,
    "head_dim": 4,
    "global_head_dim": 8,
    "num_global_key_value_heads": 2,
    "sliding_window": 5,
    "hidden_size_per_layer_input": 10,
    "embedding_dim": 28,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 1000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
    },
}

CONFIGS = {
    "bert": BERT,
    "bert_ranker": {**BERT, **LABEL, "hidden_act": "gelu_new"},
    "xlm_roberta": XLM_ROBERTA,
    "xlm_roberta_ranker": {**XLM_ROBERTA, **LABEL},
    "modernbert": MODERNBERT,
    "modernbert_biases": {**MODERNBERT, "norm_bias": True, "attention_bias": True, "mlp_bias": True},
    "modernbert_ranker": {**MODERNBERT, **LABEL, "classifier_pooling": "mean", "classifier_bias": True},
    # 48 tokens are trained, the others read with dynamic NTK
    "nomic_bert": {**NOMIC, "max_position_embeddings": 48,
                   "rope_parameters": {"rope_type": "dynamic", "rope_theta": 1000.0, "factor": 2.0}},
    "nomic_bert_own_names": {**NOMIC, "rope_parameters": {"rope_type": "default", "rope_theta": 500.0}},
    "gte": GTE,
    "gte_ranker": {**GTE, **LABEL, "type_vocab_size": 2},
    "jina_embeddings_v3": {"model_type": "jina_embeddings_v3", **SIZES, **LAYER_NORM, "type_vocab_size": 1,
                           "rope_parameters": {"rope_type": "default", "rope_theta": 2000.0}},
    "eurobert": {"model_type": "eurobert", **SIZES, "rms_norm_eps": 0.01, "num_key_value_heads": 1,
                 "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0}},
    "gemma_embedding": GEMMA,
    "mpnet": MPNET,
    # the class uses 32 of its buckets
    "mpnet_ranker": {**MPNET, **LABEL, "relative_attention_num_buckets": 37},
    "distilbert": DISTILBERT,
    "distilbert_ranker": {**DISTILBERT, **LABEL, "activation": "relu"},
    "embedding_gemma2": EMBEDDING_GEMMA2,
    "qwen3_embedding": {"model_type": "qwen3", **SIZES, "rms_norm_eps": 0.01, "num_key_value_heads": 1, "head_dim": 8,
                        "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
                        "tie_word_embeddings": True},
    # a decoder made bidirectional, saved without a head; its windows are wider than its config says by one
    "mistral_embedding": {"model_type": "mistral", **SIZES, "rms_norm_eps": 0.01, "num_key_value_heads": 1,
                          "sliding_window": 12, "is_causal": False,
                          "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0}},
}

# What sentence-transformers does after the model: pooling, sizes of dense layers, whether it normalizes, and prompts.
SENTENCE = {
    "bert": {"pooling": "mean", "normalizes": True},
    "xlm_roberta": {"pooling": "cls", "normalizes": True},
    "modernbert": {"pooling": "cls"},
    "nomic_bert": {"pooling": "mean", "prompts": {"search_query": "query, ", "search_document": "text, "}},
    "gemma_embedding": {
        "pooling": "mean",
        "dense": [56, 24],
        "normalizes": True,
        "prompts": {"query": "task, search! query, ", "document": "title, none! text, "},
        "default_prompt_name": "document",
    },
    "mpnet": {"pooling": "mean", "normalizes": True},
    "distilbert": {"pooling": "mean"},
    "embedding_gemma2": {
        "pooling": "mean",
        "normalizes": True,
        "prompts": {"query": "task, search! query, ", "document": "title, none! text, "},
    },
    "mistral_embedding": {"pooling": "mean"},
    "qwen3_embedding": {"pooling": "lasttoken", "normalizes": True, "prompts": {"query": "Query. ", "document": ""}},
}
NOMIC_OWN_NAMES = [
    ("layers.", "encoder.layers."),
    ("embeddings.LayerNorm", "emb_ln"),
    ("self_attn.o_proj", "attn.out_proj"),
    ("mlp.up_proj", "mlp.fc11"),
    ("mlp.gate_proj", "mlp.fc12"),
    ("mlp.down_proj", "mlp.fc2"),
    ("post_attention_layernorm", "norm1"),
    ("post_mlp_layernorm", "norm2"),
]


def main():
    make_folders(__doc__, CONFIGS, write_encoder)


def write_encoder(name, folder):
    model = random_encoder(name, CONFIGS[name])
    model.save_pretrained(folder)
    write_tokenizer(folder)
    expected = pairs(name, model.double()) if "ranker" in name else texts(name, model.double())
    if name in SENTENCE:
        expected |= sentences(name, folder, **SENTENCE[name])
    if name == "nomic_bert_own_names":
        use_own_names(folder)
    (folder / "model.safetensors").chmod(0o644)
    write_expected(folder / "expected_embeddings.json", expected)


def random_encoder(name, config):
    """A float32 model of `config`. Each parameter comes from a generator seeded by its name."""
    config = AutoConfig.for_model(**config)
    config._attn_implementation = "eager"
    auto = AutoModelForSequenceClassification if "ranker" in name else AutoModel
    model = auto.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        buffers = [(name, buffer) for name, buffer in model.named_buffers() if name.endswith(RANDOM_BUFFERS)]
        for parameter_name, parameter in [*model.named_parameters(), *buffers]:
            random = generator(f"{name}/{parameter_name}").standard_normal(parameter.shape)
            center, spread = distribution(parameter_name, parameter, config.model_type)
            parameter.copy_(torch.from_numpy(center + spread * random))
    return model


def random_text(name, length):
    return generator(f"{name}/{length}").integers(FIRST_TEXT_TOKEN, VOCABULARY, length).tolist()


def texts(name, model):
    """The hidden states of texts one by one, pooled in each way. Lengths ascend: a dynamic RoPE keeps the longest one."""
    results = {"texts": [], "mean": [], "cls": [], "last": [], "max": []}
    for length in LENGTHS:
        tokens = random_text(name, length)
        with torch.no_grad():
            hidden = model(torch.tensor([tokens])).last_hidden_state[0]
        results["texts"].append(tokens)
        results["mean"].append(hidden.mean(0))
        results["cls"].append(hidden[0])
        results["last"].append(hidden[-1])
        results["max"].append(hidden.max(0).values)
    return {key: [row if key == "texts" else row.tolist() for row in rows] for key, rows in results.items()}


def pairs(name, model):
    """The logit of each document after a query. The second text has type 1 where the model has two types."""
    query, documents = random_text(name, 7), [random_text(f"{name}/document", length) for length in LENGTHS]
    types = getattr(model.config, "type_vocab_size", 0) > 1
    logits = []
    for document in documents:
        type_ids = {"token_type_ids": torch.tensor([[0] * len(query) + [1] * len(document)])} if types else {}
        with torch.no_grad():
            logits.append(model(torch.tensor([query + document]), **type_ids).logits[0, 0].item())
    return {"query": query, "documents": documents, "logits": logits}


def sentences(name, folder, pooling, dense=(), normalizes=False, prompts=None, default_prompt_name=None):
    """Adds the files of sentence-transformers to a folder, and returns its vectors of SENTENCES."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules.dense import Dense
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<unk>"}
    tokenizer_config = {"tokenizer_class": "PreTrainedTokenizerFast", **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config) + "\n", encoding="utf-8")
    modules = [Transformer(str(folder), model_kwargs={"attn_implementation": "eager"})]
    modules[0].max_seq_length = SIZES["max_position_embeddings"] - 2  # more than some configs say
    config = CONFIGS[name]
    width = next(config[key] for key in ("embedding_dim", "hidden_size", "dim") if key in config)
    modules.append(Pooling(width, pooling))
    for index, size in enumerate(dense):
        layer = Dense(width, size, bias=False, activation_function=torch.nn.Identity())
        random = generator(f"{name}/dense_{index}").standard_normal(layer.linear.weight.shape)
        with torch.no_grad():
            layer.linear.weight.copy_(torch.from_numpy(random / width**0.5))
        modules.append(layer)
        width = size
    if normalizes:
        modules.append(Normalize())
    model = SentenceTransformer(modules=modules, prompts=prompts, default_prompt_name=default_prompt_name, device="cpu")
    with tempfile.TemporaryDirectory() as scratch:
        model.save_pretrained(scratch, create_model_card=False)
        for path in Path(scratch).rglob("*"):
            kept = path.name in ("modules.json", "config_sentence_transformers.json", "sentence_bert_config.json")
            if path.is_file() and (kept or path.parent != Path(scratch)):
                target = folder / path.relative_to(scratch)
                target.parent.mkdir(exist_ok=True)
                shutil.copyfile(path, target)
    model = model.double()
    vectors = {"sentences": SENTENCES}
    used = {"default": {}, **{name: {"prompt_name": name} for name in (prompts or {})}}
    for key, options in used.items():
        rows = [model.encode([sentence], **options)[0].tolist() for sentence in SENTENCES]
        vectors[f"vectors_{key}"] = rows
    return vectors


def use_own_names(folder):
    """Names and config keys as nomic's own code has written them, before transformers had the model."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    fused = {}
    for name in list(tensors):
        if name.endswith(".q_proj.weight"):
            stem = name.removesuffix("q_proj.weight")
            parts = [tensors.pop(f"{stem}{part}_proj.weight") for part in "qkv"]
            fused[stem.replace("self_attn.", "attn.") + "Wqkv.weight"] = torch.cat(parts)
    renamed = {}
    for name, tensor in {**tensors, **fused}.items():
        for ours, theirs in NOMIC_OWN_NAMES:
            name = name.replace(ours, theirs) if not name.startswith(theirs) else name
        renamed[name] = tensor.contiguous()
    save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    own = {
        "model_type": "nomic_bert",
        "activation_function": "swiglu",
        "layer_norm_epsilon": config["layer_norm_eps"],
        "n_embd": config["hidden_size"],
        "n_head": config["num_attention_heads"],
        "n_inner": config["intermediate_size"],
        "n_layer": config["num_hidden_layers"],
        "n_positions": config["max_position_embeddings"],
        "prenorm": False,
        "qkv_proj_bias": False,
        "rotary_emb_base": config["rope_parameters"]["rope_theta"],
        "rotary_emb_fraction": 1.0,
        "rotary_emb_interleaved": False,
        "type_vocab_size": config["type_vocab_size"],
        "vocab_size": config["vocab_size"],
    }
    (folder / "config.json").write_text(json.dumps(own, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
