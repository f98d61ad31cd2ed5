"""YaRN configurations: released checkpoints, then made-up ones for each single key."""

from hf_presets import SLIDING_AND_FULL, Preset, config, mla, yarn

BETAS = {"beta_fast": 32, "beta_slow": 1}
MSCALES = {"mscale": 1.0, "mscale_all_dim": 1.0}
PLAIN_SLIDING = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}


def yarn_code(model_type, hidden_size, heads, factor, original):
    """The checkpoints of the YaRN paper: old-style keys, base 1e4, maximum length = factor times the original length."""
    scaling = yarn(factor, original, "type", finetuned=True)
    return config(model_type, hidden_size, heads, int(factor * original), rope_theta=10000.0, rope_scaling=scaling)


def ministral3(hidden_size, heads, max_position_embeddings, rope_theta, scaling):
    parameters = {**scaling, "type": "yarn", "rope_theta": rope_theta}
    return config("ministral3", hidden_size, heads, max_position_embeddings, head_dim=128, rope_parameters=parameters)


YARN_RELEASED = [
    Preset("qwen2.5-7b-yarn", "Qwen2.5-7B with YaRN as its model card tells", "published",
           config("qwen2", 3584, 28, 32768, rope_theta=1000000.0, rope_scaling=yarn(4.0, 32768, "type"))),
    Preset("qwen3-8b-yarn-new-style", "Qwen3-8B with YaRN, factor 4", "published, rewritten with rope_parameters",
           config("qwen3", 4096, 32, 131072, head_dim=128, rope_parameters=yarn(4.0, 32768, rope_theta=1000000))),
    Preset("yarn-llama-2-7b-64k", "Yarn-Llama-2-7b-64k", "published", yarn_code("llama", 4096, 32, 16.0, 4096)),
    Preset("yarn-llama-2-7b-128k", "Yarn-Llama-2-7b-128k", "published", yarn_code("llama", 4096, 32, 32.0, 4096)),
    Preset("yarn-llama-2-70b-32k", "Yarn-Llama-2-70b-32k", "published", yarn_code("llama", 8192, 64, 8.0, 4096)),
    Preset("yarn-mistral-7b-64k", "Yarn-Mistral-7b-64k", "published", yarn_code("mistral", 4096, 32, 8.0, 8192)),
    Preset("yarn-mistral-7b-128k", "Yarn-Mistral-7b-128k", "published", yarn_code("mistral", 4096, 32, 16.0, 8192)),
    Preset("deepseek-v2-lite", "DeepSeek-V2-Lite", "mlc-llm",
           mla("deepseek_v2", 2048, 16, 163840, rope_theta=10000,
               rope_scaling=yarn(40, 4096, "type", **BETAS, mscale=0.707, mscale_all_dim=0.707))),
    Preset("deepseek-v3", "DeepSeek-V3", "published",
           mla("deepseek_v3", 7168, 128, 163840, rope_theta=10000,
               rope_scaling=yarn(40, 4096, "type", **BETAS, **MSCALES))),
    Preset("kimi-k2", "Kimi-K2 (both betas 1)", "published",
           mla("kimi_k2", 7168, 64, 131072, rope_theta=50000.0,
               rope_scaling=yarn(32.0, 4096, "type", beta_fast=1.0, beta_slow=1.0, **MSCALES))),
    Preset("kimi-k2.5", "Kimi-K2.5", "published", {
        "model_type": "kimi_k25",
        "text_config": mla("kimi_k2", 7168, 64, 262144, rope_theta=50000.0,
                           rope_scaling=yarn(64.0, 4096, "type", **BETAS, **MSCALES)),
    }),
    Preset("gpt-oss-20b", "gpt-oss-20b (truncate false)", "published",
           config("gpt_oss", 2880, 64, 131072, head_dim=64, rope_theta=150000,
                  rope_scaling=yarn(32.0, 4096, **BETAS, truncate=False))),
    Preset("olmo-3.1-32b", "OLMo-3.1-32B", "tt-metal",
           config("olmo3", 5120, 40, 65536, num_hidden_layers=2, layer_types=SLIDING_AND_FULL, rope_theta=500000,
                  rope_scaling=yarn(8.0, 8192, **BETAS, attention_factor=1.2079441541679836)),
           layer_types=SLIDING_AND_FULL),
    Preset("ministral-3-3b", "Ministral-3-3B", "mlc-llm", {
        "model_type": "mistral3",
        "text_config": ministral3(3072, 32, 262144, 1000000.0,
                                  yarn(16.0, 16384, **BETAS, **MSCALES, llama_4_scaling_beta=0.1)),
    }),
    Preset("devstral-small-2-24b", "Devstral-Small-2-24B", "tt-metal", {
        "model_type": "mistral3",
        "text_config": ministral3(5120, 32, 393216, 100000000.0,
                                  yarn(48.0, 8192, **BETAS, **MSCALES, llama_4_scaling_beta=0.1)),
    }),
    Preset("devstral-2-123b", "Devstral-2-123B (beta_fast 4; mscale_all_dim 0 counts as absent)", "tt-metal",
           ministral3(12288, 96, 262144, 1000000.0,
                      yarn(64.0, 4096, beta_fast=4.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=0.0,
                           llama_4_scaling_beta=0.0))),
    Preset("mistral4", "Mistral4", "class default, written out",
           config("mistral4", 4096, 32, 1048576, qk_nope_head_dim=64, qk_rope_head_dim=64,
                  rope_parameters=yarn(128.0, 8192, **BETAS, **MSCALES, llama_4_scaling_beta=0.1, rope_theta=10000.0))),
    Preset("deepseek-v4", "DeepSeek-V4 (last 64 of 512; attention factor forced to 1)", "class default, written out",
           config("deepseek_v4", 4096, 64, 1048576, head_dim=512, qk_rope_head_dim=64, num_hidden_layers=4,
                  rope_theta=10000.0, compress_rope_theta=160000.0, rope_scaling=yarn(16, 65536, "type", **BETAS)),
           layer_types=["main", "compress"]),
    Preset("laguna-xs.2", "Laguna-XS.2 shape", "published factors, other values class defaults",
           config("laguna", 2048, 48, 131072, head_dim=128, num_hidden_layers=2, layer_types=SLIDING_AND_FULL,
                  rope_parameters={
                      "full_attention": yarn(64.0, 4096, attention_factor=1.0, rope_theta=500000.0,
                                             partial_rotary_factor=0.5),
                      "sliding_attention": PLAIN_SLIDING}),
           layer_types=SLIDING_AND_FULL),
]


def small_llama(max_position_embeddings=65536, rope_theta=10000.0, **more):
    return config("llama", 1024, 16, max_position_embeddings, rope_theta=rope_theta, **more)


def made_up(name, model, **scaling):
    """A head of 32 pairs, base 1e4, factor 16, original length 4096. The correction range is [10, 23]."""
    scaling = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096, **scaling}
    return Preset(name, model, "made up", small_llama(rope_scaling=scaling))


YARN_MADE_UP = [
    made_up("yarn-plain", "factor only"),
    made_up("yarn-attention-factor", "attention_factor wins over mscale",
            attention_factor=1.05, mscale=2.0, mscale_all_dim=0.5),
    made_up("yarn-mscale-ratio", "mscale and mscale_all_dim differ", mscale=1.0, mscale_all_dim=0.707),
    made_up("yarn-mscale-alone", "mscale without mscale_all_dim is not used", mscale=0.5),
    made_up("yarn-betas", "betas 16 and 2", beta_fast=16, beta_slow=2),
    made_up("yarn-betas-zero", "betas 0 and null fall back to 32 and 1", beta_fast=0, beta_slow=None),
    made_up("yarn-equal-betas-untruncated", "both ends at one place: a step", beta_fast=4, beta_slow=4, truncate=False),
    made_up("yarn-truncate-false", "range not rounded", truncate=False),
    made_up("yarn-factor-null", "factor null: max / original = 16", factor=None),
    made_up("yarn-factor-disagrees", "factor 4 where max / original = 16", factor=4.0),
    made_up("yarn-factor-one", "factor 1 changes nothing", factor=1.0),
    made_up("yarn-short-original", "range clamped at pair 0", factor=32.0, original_max_position_embeddings=128),
    Preset("yarn-clamped-high", "range clamped at rotary_dim - 1, beyond the last pair", "made up",
           small_llama(640, rope_theta=6.0, rope_scaling=yarn(2.0, 320))),
    Preset("yarn-no-original", "original length absent: max_position_embeddings", "made up",
           small_llama(4096, rope_scaling={"rope_type": "yarn", "factor": 16.0})),
    Preset("yarn-top-level-original", "a top-level original length wins over the dict's", "made up",
           small_llama(original_max_position_embeddings=2048, rope_scaling=yarn(16.0, 4096))),
    Preset("yarn-partial", "YaRN over a partial rotation", "made up",
           config("glm4", 1024, 8, 65536, head_dim=128,
                  rope_parameters=yarn(8.0, 8192, rope_theta=10000.0, partial_rotary_factor=0.5))),
    Preset("yarn-nested-truncate", "truncate inside a per-layer dict is not read", "made up",
           config("laguna", 1024, 16, 65536, head_dim=64, num_hidden_layers=2, layer_types=SLIDING_AND_FULL,
                  rope_parameters={
                      "full_attention": yarn(16.0, 4096, truncate=False, rope_theta=10000.0, partial_rotary_factor=1.0),
                      "sliding_attention": PLAIN_SLIDING}),
           layer_types=["full_attention"]),
]
