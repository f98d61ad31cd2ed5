"""Configurations as in released config.json files, reduced to the keys that position embedding reads.

`origin` says where the values come from: "mlc-llm" and "tt-metal" are copies of the released file in those
repositories, "class default" is the transformers class, "published" another public page, "made up" a configuration of
this project. Long `layer_types` lists are shortened to one layer of each type.
"""

from dataclasses import dataclass, field

from longrope_factors import PHI_3_5_LONG, PHI_3_5_SHORT, PHI_3_5_VISION_SHORT, PHI_4_LONG, PHI_4_SHORT

SLIDING_AND_FULL = ["sliding_attention", "full_attention"]


@dataclass
class Preset:
    name: str
    model: str
    origin: str
    hf_config: dict
    layer_types: list = field(default_factory=lambda: [None])
    seq_lens: list = field(default_factory=lambda: [None])


def config(model_type, hidden_size, num_attention_heads, max_position_embeddings, **more):
    return {
        "model_type": model_type,
        "hidden_size": hidden_size,
        "num_attention_heads": num_attention_heads,
        "max_position_embeddings": max_position_embeddings,
        **more,
    }


def llama3(factor, low=1.0, high=4.0):
    return {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": low,
        "high_freq_factor": high,
        "original_max_position_embeddings": 8192,
    }


def yarn(factor, original, key="rope_type", **more):
    return {key: "yarn", "factor": factor, "original_max_position_embeddings": original, **more}


def mla(model_type, hidden_size, heads, max_position_embeddings, **more):
    """DeepSeek-style attention: RoPE applies to a separate part of each head."""
    parts = {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
    return config(model_type, hidden_size, heads, max_position_embeddings, **parts, **more)


PLAIN = [
    Preset("llama-2-7b", "Llama-2-7B", "mlc-llm", config("llama", 4096, 32, 2048, rope_scaling=None)),
    Preset("codellama-7b", "CodeLlama-7B", "mlc-llm",
           config("llama", 4096, 32, 16384, rope_scaling=None, rope_theta=1000000)),
    Preset("tinyllama-1.1b", "TinyLlama-1.1B", "mlc-llm", config("llama", 2048, 32, 2048, rope_theta=10000.0)),
    Preset("smollm2-135m", "SmolLM2-135M", "mlc-llm", config("llama", 576, 9, 8192, rope_theta=100000)),
    Preset("smollm3-3b", "SmolLM3-3B", "published", config("smollm3", 2048, 16, 65536, rope_theta=5000000.0)),
    Preset("smollm3-class-default", "SmolLM3 without rope_theta", "class default", config("smollm3", 2048, 16, 32768)),
    Preset("mistral-7b-v0.3", "Mistral-7B-v0.3", "mlc-llm", config("mistral", 4096, 32, 32768, rope_theta=1000000.0)),
    Preset("mistral-nemo-12b", "Mistral-Nemo-12B", "published",
           config("mistral", 5120, 32, 1024000, head_dim=128, rope_theta=1000000.0)),
    Preset("mixtral-8x7b", "Mixtral-8x7B", "mlc-llm", config("mixtral", 4096, 32, 32768, rope_theta=1000000.0)),
    Preset("mixtral-class-default", "Mixtral without rope_theta", "class default", config("mixtral", 4096, 32, 32768)),
    Preset("qwen2-0.5b", "Qwen2-0.5B", "mlc-llm", config("qwen2", 896, 14, 32768, rope_theta=1000000.0)),
    Preset("qwen3-0.6b", "Qwen3-0.6B", "mlc-llm",
           config("qwen3", 1024, 16, 40960, head_dim=128, rope_scaling=None, rope_theta=1000000)),
    Preset("qwen3-4b-2507-new-style", "Qwen3-4B-Instruct-2507", "mlc-llm, rewritten with rope_parameters",
           config("qwen3", 2560, 32, 262144, head_dim=128, rope_parameters={
               "rope_type": "default", "rope_theta": 5000000})),
    Preset("gemma-2-2b", "Gemma-2-2B", "mlc-llm", config("gemma2", 2304, 8, 8192, head_dim=256, rope_theta=10000.0)),
    Preset("falcon-7b", "Falcon-7B", "published", config("falcon", 4544, 71, 2048)),
    Preset("starcoder2", "StarCoder2", "mlc-llm", config("starcoder2", 4608, 36, 16384, rope_theta=1000000)),
    Preset("command-r", "Command-R", "published", config("cohere", 8192, 64, 131072, rope_theta=8000000.0)),
    Preset("aya-23-8b", "aya-23-8B", "mlc-llm", config("cohere", 4096, 32, 8192, rope_theta=10000)),
    Preset("gemma-3-1b", "Gemma-3-1B", "mlc-llm",
           config("gemma3_text", 1152, 4, 32768, head_dim=256, rope_theta=1000000, rope_local_base_freq=10000,
                  rope_scaling=None, layer_types=SLIDING_AND_FULL, num_hidden_layers=2),
           layer_types=SLIDING_AND_FULL),
    Preset("modernbert-base", "ModernBERT-base", "published",
           config("modernbert", 768, 12, 8192, global_rope_theta=160000.0, local_rope_theta=10000.0),
           layer_types=SLIDING_AND_FULL),
    Preset("deepseek-v2-no-scaling", "DeepSeek-V2 shape without scaling", "made up",
           mla("deepseek_v2", 2048, 16, 4096, rope_theta=10000)),
    Preset("glm-5", "GLM-5", "published (class defaults, rope_theta 8e6)",
           mla("glm_moe_dsa", 6144, 64, 202752, rope_parameters={"rope_type": "default", "rope_theta": 8000000.0})),
]

PARTIAL = [
    Preset("phi-1.5", "Phi-1.5", "published",
           config("phi", 2048, 32, 2048, partial_rotary_factor=0.5, rope_theta=10000.0)),
    Preset("phi-2", "Phi-2", "published", config("phi", 2560, 32, 2048, partial_rotary_factor=0.4, rope_theta=10000.0)),
    Preset("phi-class-default", "Phi without partial_rotary_factor", "class default", config("phi", 2560, 32, 2048)),
    Preset("stablelm-3b", "StableLM-3B-4e1t", "mlc-llm",
           config("stablelm", 2560, 32, 4096, partial_rotary_factor=0.25, rope_theta=10000)),
    Preset("stablelm-2-1.6b-new-style", "StableLM-2-1.6B", "mlc-llm, rewritten with rope_parameters",
           config("stablelm", 2048, 32, 4096, rope_parameters={
               "rope_type": "default", "rope_theta": 10000, "partial_rotary_factor": 0.25})),
    Preset("gpt-neox-20b", "GPT-NeoX-20B", "published",
           config("gpt_neox", 6144, 64, 2048, rotary_emb_base=10000, rotary_pct=0.25)),
    Preset("pythia-14m", "Pythia-14m", "published",
           config("gpt_neox", 128, 4, 2048, rotary_emb_base=10000, rotary_pct=0.25)),
    Preset("redpajama-3b", "RedPajama-INCITE-3B", "mlc-llm",
           config("gpt_neox", 2560, 32, 2048, rotary_emb_base=10000, rotary_pct=1.0)),
    Preset("gpt-neox-class-default", "GPT-NeoX without rotary keys", "class default",
           config("gpt_neox", 6144, 64, 2048)),
    Preset("glm-4-9b-0414", "GLM-4-9B-0414", "published",
           config("glm4", 4096, 32, 32768, head_dim=128, partial_rotary_factor=0.5, rope_theta=10000.0)),
    Preset("glm-4-9b-chat-1m", "GLM-4-9B-chat-1m", "published",
           config("glm", 4096, 32, 1048576, head_dim=128, partial_rotary_factor=0.5, rope_theta=100000000.0)),
    Preset("glm-class-default", "GLM without partial_rotary_factor", "class default",
           config("glm", 4096, 32, 131072, head_dim=128)),
    Preset("minimax-m2", "MiniMax-M2", "published",
           config("minimax_m2", 3072, 48, 196608, head_dim=128, rotary_dim=64, rope_theta=5000000)),
    Preset("mimo-v2-flash", "MiMo-V2-Flash (64 of 192: int(192 * 0.334))", "class default, written out",
           config("mimo_v2_flash", 4096, 64, 262144, head_dim=192, num_hidden_layers=6, rope_parameters={
               "full_attention": {"rope_type": "default", "rope_theta": 5000000.0, "partial_rotary_factor": 0.334},
               "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.334}}),
           layer_types=SLIDING_AND_FULL),
    Preset("qwen3.5-9b", "Qwen3.5-9B", "tt-metal", {
        "model_type": "qwen3_5",
        "text_config": config("qwen3_5_text", 4096, 16, 262144, head_dim=256, rope_parameters={
            "mrope_interleaved": True, "mrope_section": [11, 11, 10], "rope_type": "default",
            "rope_theta": 10000000, "partial_rotary_factor": 0.25}),
    }),
    Preset("qwen3-next-class-default", "Qwen3-Next without partial_rotary_factor", "class default",
           config("qwen3_next", 2048, 16, 262144, head_dim=256, rope_theta=10000000)),
]

MULTI_AXIS = [
    Preset("qwen2-vl-7b", "Qwen2-VL-7B", "published",
           config("qwen2_vl", 3584, 28, 32768, rope_theta=1000000.0, rope_scaling={
               "type": "mrope", "mrope_section": [16, 24, 24]})),
    Preset("qwen2.5-vl-7b", "Qwen2.5-VL-7B", "tt-metal",
           config("qwen2_5_vl", 3584, 28, 128000, rope_theta=1000000.0, rope_scaling={
               "type": "mrope", "mrope_section": [16, 24, 24]})),
    Preset("qwen3-vl-8b", "Qwen3-VL-8B", "published", {
        "model_type": "qwen3_vl",
        "text_config": config("qwen3_vl_text", 4096, 32, 262144, head_dim=128, rope_theta=5000000, rope_scaling={
            "mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"}),
    }),
]

LINEAR = [
    Preset("vicuna-7b-v1.5-16k", "Vicuna-7B-v1.5-16k", "published",
           config("llama", 4096, 32, 4096, rope_scaling={"factor": 4.0, "type": "linear"})),
    Preset("deepseek-coder-6.7b", "DeepSeek-Coder-6.7B", "published",
           config("llama", 4096, 32, 16384, rope_theta=100000, rope_scaling={"factor": 4.0, "type": "linear"})),
    Preset("gemma-3-27b", "Gemma-3-27B", "published", {
        "model_type": "gemma3",
        "text_config": config("gemma3_text", 5376, 32, 131072, head_dim=128, num_hidden_layers=6,
                              rope_scaling={"factor": 8.0, "rope_type": "linear"}),
    }, layer_types=SLIDING_AND_FULL),
    Preset("gemma-3-12b-new-style", "Gemma-3-12B", "published, rewritten with rope_parameters",
           config("gemma3_text", 3840, 16, 131072, head_dim=256, num_hidden_layers=6, rope_parameters={
               "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
               "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}),
           layer_types=SLIDING_AND_FULL),
    Preset("modernbert-linear", "ModernBERT with rope_scaling: it goes to both layer types", "made up",
           config("modernbert", 768, 12, 16384, rope_scaling={"rope_type": "linear", "factor": 2.0}),
           layer_types=SLIDING_AND_FULL),
    Preset("phi-linear", "Phi with linear scaling over a partial rotation", "made up",
           config("phi", 2560, 32, 8192, partial_rotary_factor=0.4,
                  rope_scaling={"rope_type": "linear", "factor": 2.5})),
]

DYNAMIC = [
    Preset("internlm2.5-7b", "InternLM2.5-7B", "mlc-llm",
           config("internlm2", 4096, 32, 32768, rope_theta=1000000, rope_scaling={"type": "dynamic", "factor": 2.0}),
           seq_lens=[None, 32768, 32769, 65536, 131072, 1000000]),
    Preset("minicpm-2b-128k", "MiniCPM-2B-128k", "mlc-llm",
           config("minicpm", 2304, 36, 65536, rope_theta=1000000.0, rope_scaling={"type": "dynamic", "factor": 4.0}),
           seq_lens=[4096, 100000, 262144]),
    Preset("stablelm-dynamic", "StableLM with dynamic scaling over a partial rotation", "made up",
           config("stablelm", 2560, 32, 4096, rope_parameters={
               "rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0, "partial_rotary_factor": 0.25}),
           seq_lens=[2048, 16384]),
    Preset("hunyuan-7b", "HunYuan-7B (type dynamic with alpha: static)", "published",
           config("hunyuan_v1_dense", 4096, 32, 32768, head_dim=128, rope_theta=10000.0, rope_scaling={
               "type": "dynamic", "alpha": 1000.0, "factor": 1.0, "beta_fast": 32, "beta_slow": 1,
               "mscale": 1.0, "mscale_all_dim": 1.0}),
           seq_lens=[None, 262144]),
]

LLAMA3 = [
    Preset("llama-3.1-8b", "Llama-3.1-8B", "mlc-llm",
           config("llama", 4096, 32, 131072, rope_theta=500000.0, rope_scaling=llama3(8.0))),
    Preset("llama-3.2-1b", "Llama-3.2-1B", "mlc-llm",
           config("llama", 2048, 32, 131072, head_dim=64, rope_theta=500000.0, rope_scaling=llama3(32.0))),
    Preset("llama-3.2-3b-new-style", "Llama-3.2-3B", "mlc-llm, rewritten with rope_parameters",
           config("llama", 3072, 24, 131072, head_dim=128, rope_parameters={**llama3(32.0), "rope_theta": 500000.0})),
    Preset("exaone-4.0-32b", "EXAONE-4.0-32B", "tt-metal", config(
        "exaone4", 5120, 40, 131072, head_dim=128, num_hidden_layers=4, rope_theta=1000000, rope_scaling=llama3(16.0))),
    Preset("apertus-8b", "Apertus-8B", "class default (rope_theta 1.2e7)",
           config("apertus", 4096, 32, 65536, rope_scaling=llama3(8.0))),
    Preset("llama-4-scout", "Llama-4-Scout (low and high factors equal)", "published",
           config("llama4_text", 5120, 40, 10485760, head_dim=128, rope_theta=500000.0,
                  rope_scaling=llama3(16.0, 1.0, 1.0))),
]

PROPORTIONAL = [
    Preset("gemma-4", "Gemma-4", "class default, written out", {
        "model_type": "gemma4",
        "text_config": config(
            "gemma4_text", 2304, 8, 131072, head_dim=256, global_head_dim=512, num_hidden_layers=6, rope_parameters={
                "full_attention": {
                    "rope_type": "proportional", "rope_theta": 1000000.0, "partial_rotary_factor": 0.25},
                "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}),
    }, layer_types=SLIDING_AND_FULL),
    Preset("gemma-4-factor", "Gemma-4 shape with a factor and half of the pairs", "made up",
           config("gemma4_text", 2304, 8, 131072, head_dim=64, global_head_dim=128, num_hidden_layers=6,
                  rope_parameters={
               "full_attention": {
                   "rope_type": "proportional", "rope_theta": 500000.0, "partial_rotary_factor": 0.5, "factor": 4.0},
               "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}),
           layer_types=["full_attention"]),
]


def phi3(hidden_size, heads, rope_type_key, rope_type, short, long, in_dict=None, **more):
    scaling = {rope_type_key: rope_type, "short_factor": short, "long_factor": long, **(in_dict or {})}
    return config("phi3", hidden_size, heads, 131072, original_max_position_embeddings=4096,
                  rope_theta=10000.0, rope_scaling=scaling, **more)


# At 4096 the short list still applies. One token more selects the long one.
AROUND_4096 = [None, 4096, 4097, 131072]

LONGROPE = [
    Preset("phi-3.5-mini", "Phi-3.5-mini", "mlc-llm",
           phi3(3072, 32, "type", "longrope", PHI_3_5_SHORT, PHI_3_5_LONG), seq_lens=AROUND_4096),
    # The released file has no original length inside rope_scaling, so transformers 5.24 rejects the type su.
    Preset("phi-3.5-vision-su", "Phi-3.5-vision (legacy type su)", "mlc-llm, original length repeated in rope_scaling",
           phi3(3072, 32, "type", "su", PHI_3_5_VISION_SHORT, PHI_3_5_LONG,
                in_dict={"original_max_position_embeddings": 4096}), seq_lens=[4096, 131072]),
    Preset("phi-3-legacy-yarn", "Phi-3 with legacy type yarn, which means longrope", "made up, Phi-3.5-mini's lists",
           phi3(3072, 32, "type", "yarn", PHI_3_5_SHORT, PHI_3_5_LONG), seq_lens=[4096, 131072]),
    Preset("phi-4-mini", "Phi-4-mini", "mlc-llm",
           phi3(3072, 24, "rope_type", "longrope", PHI_4_SHORT, PHI_4_LONG, partial_rotary_factor=0.75),
           seq_lens=[4096, 131072]),
    Preset("phimoe-short", "Phi-3.5-MoE at short length (short_mscale replaces the scale)", "made up lists and mscales",
           config("phimoe", 4096, 32, 131072, original_max_position_embeddings=4096, rope_theta=10000.0, rope_scaling={
               "type": "longrope", "short_factor": [1.0 + i / 64 for i in range(64)],
               "long_factor": [1.0 + i / 2 for i in range(64)], "short_mscale": 1.25, "long_mscale": 1.5,
               "original_max_position_embeddings": 4096}),
           seq_lens=[4096]),
    Preset("llama-longrope-given-scale", "Llama with longrope, factor and attention_factor given", "made up",
           config("llama", 1024, 16, 65536, rope_theta=10000.0, rope_scaling={
               "rope_type": "longrope", "factor": 8.0, "attention_factor": 1.1,
               "original_max_position_embeddings": 8192,
               "short_factor": [1.0 + i / 128 for i in range(32)],
               "long_factor": [1.0 + i * i / 64 for i in range(32)]}),
           seq_lens=[8192, 8193]),
    Preset("llama-longrope-factor", "Llama with longrope, factor given and max length not extended", "made up",
           config("llama", 1024, 16, 8192, rope_theta=10000.0, rope_scaling={
               "rope_type": "longrope", "factor": 4.0, "original_max_position_embeddings": 8192,
               "short_factor": [1.0] * 32, "long_factor": [1.0 + i for i in range(32)]}),
           seq_lens=[8192, 32768]),
]
