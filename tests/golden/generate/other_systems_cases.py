"""other_systems.json: configurations whose frequencies or scale differ between systems, with each system's result."""

from longrope_factors import PHI_3_5_LONG, PHI_3_5_SHORT
from other_systems import llama_cpp, lucidrains, vllm, vllm_table_rows, xpos_scales, yarn_code

SYSTEMS = {"llama.cpp": llama_cpp, "vllm": vllm, "yarn": yarn_code, "lucidrains": lucidrains}

CONTEXT = "src/llama-context.cpp llama_context, ggml/src/ggml-cpu/ops.cpp rope_yarn, ggml_rope_yarn_corr_dims"
RAMP = "ggml/src/ggml-cpu/ops.cpp rope_yarn_ramp"
DEEPSEEK2 = f"{CONTEXT}, src/models/deepseek2.cpp"
ROPE_FACTORS = "src/llama-model.cpp get_rope_factors, conversion/phi.py"
VLLM = "vllm/model_executor/layers/rotary_embedding/"
YARN = "jquesnelle/yarn scaled_rope/"
LUCIDRAINS = "rotary_embedding_torch/rotary_embedding_torch.py RotaryEmbedding"


def rope_config(head_dim, rope_theta, max_position_embeddings, rope_type, pairing="half", *, top=None, **scaling):
    """A configuration in this package's own form. `top` has further keys outside rope_scaling."""
    return {
        "head_dim": head_dim,
        "rope_theta": rope_theta,
        "pairing": pairing,
        "max_position_embeddings": max_position_embeddings,
        **(top or {}),
        "rope_scaling": {"rope_type": rope_type, **scaling},
    }


def yarn(head_dim, rope_theta, max_position_embeddings, factor, original, top=None, **more):
    return rope_config(head_dim, rope_theta, max_position_embeddings, "yarn", top=top, factor=factor,
                       original_max_position_embeddings=original, **more)


def deepseek(model_type, rope_theta, max_position_embeddings, factor, **more):
    config = yarn(64, rope_theta, max_position_embeddings, factor, 4096, top={"model_type": model_type}, **more)
    return {**config, "pairing": "interleaved"}


def qwen(**more):
    return yarn(128, 1000000.0, 131072, 4.0, 32768, **more)


def phi_3_5_mini(context_length, **scaling):
    return rope_config(96, 10000.0, 131072, "longrope", short_factor=PHI_3_5_SHORT, long_factor=PHI_3_5_LONG, **scaling,
                       top={"original_max_position_embeddings": 4096, "context_length": context_length})


def without(config, key):
    return {name: value for name, value in config.items() if name != key}


DEVSTRAL_2 = yarn(128, 1000000.0, 262144, 64.0, 4096, top={"model_type": "ministral3"},
                  beta_fast=4.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=0.0)
DEEPSEEK_V3 = deepseek("deepseek_v3", 10000.0, 163840, 40.0, beta_fast=32, beta_slow=1, mscale=1.0, mscale_all_dim=1.0)
DEEPSEEK_V2_LITE = deepseek("deepseek_v2", 10000.0, 163840, 40.0, beta_fast=32, beta_slow=1, mscale=0.707,
                            mscale_all_dim=0.707)
KIMI_K2 = deepseek("kimi_k2", 50000.0, 131072, 32.0, beta_fast=1.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0)
GPT_OSS = yarn(64, 150000.0, 131072, 32.0, 4096, beta_fast=32.0, beta_slow=1.0, truncate=False)
LLAMA_3_1 = rope_config(128, 500000.0, 131072, "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                        original_max_position_embeddings=8192)
INTERNLM = rope_config(128, 1000000.0, 32768, "dynamic", factor=2.0)
HUNYUAN = rope_config(128, 10000.0, 32768, "ntk_alpha", alpha=1000.0)
# sqrt(1 + ln 32 / ln 4096), which the converter writes as rope.scaling.attn_factor
LONGROPE_SCALE = 1.1902380714238083

# (name, source file, configuration[, seq_len])
LLAMA_CPP_CASES = [
    ("yarn", CONTEXT, qwen()),
    ("yarn-attention-factor-not-read", CONTEXT, qwen(attention_factor=1.0)),
    ("yarn-attn-factor-multiplies", CONTEXT, qwen(attn_factor=0.9)),
    ("yarn-log-multiplier", CONTEXT, qwen(mscale=1.0, mscale_all_dim=1.0)),
    ("yarn-log-multiplier-takes-mscale-as-1", CONTEXT, qwen(mscale=0.707, mscale_all_dim=0.707)),
    ("yarn-mscale-alone-not-read", CONTEXT, qwen(mscale=0.5)),
    ("yarn-truncate-not-read", CONTEXT, qwen(truncate=False)),
    ("gpt-oss-20b", CONTEXT, GPT_OSS),
    ("deepseek-v3", DEEPSEEK2, DEEPSEEK_V3),
    ("deepseek-v2-lite", DEEPSEEK2, DEEPSEEK_V2_LITE),
    ("deepseek-without-log-multiplier", DEEPSEEK2, deepseek("deepseek_v3", 10000.0, 163840, 40.0)),
    ("kimi-k2-betas-not-read", DEEPSEEK2, KIMI_K2),
    ("devstral-2-betas-read", f"{CONTEXT}, src/models/mistral3.cpp", DEVSTRAL_2),
    ("longrope-short", ROPE_FACTORS, phi_3_5_mini(4096, attn_factor=LONGROPE_SCALE), 100),
    ("longrope-long-by-context", ROPE_FACTORS, phi_3_5_mini(8192, attn_factor=LONGROPE_SCALE), 100),
    ("llama-3.1-8b", "conversion/llama.py generate_extra_tensors (rope_freqs)", LLAMA_3_1),
    ("dynamic-absent", "conversion/base.py set_gguf_parameters (dynamic: pass)", INTERNLM, 65536),
    ("ntk-alpha-baked-in", "conversion/hunyuan.py set_gguf_parameters", HUNYUAN),
    ("linear", CONTEXT, rope_config(128, 1000000.0, 131072, "linear", factor=8.0)),
    ("linear-attn-factor-multiplies", CONTEXT, rope_config(128, 1000000.0, 131072, "linear", factor=3.3, attn_factor=0.9)),
    ("default-attn-factor-multiplies", CONTEXT, rope_config(96, 10000.0, 4096, "default", attn_factor=1.19)),
    # windows so short or long that the ramp's ends are reversed, equal, or a fraction of a pair apart
    *[(f"yarn-window-{original}", RAMP, yarn(64, 10000.0, 32768, 4.0, original)) for original in (3, 6, 201, 2000000)],
    ("yarn-betas-equal", RAMP, {**yarn(64, 10000.0, 32768, 4.0, 4096, beta_fast=1.0, beta_slow=1.0), "model_type": "ministral3"}),
]

VLLM_CASES = [
    ("yarn", f"{VLLM}yarn_scaling_rope.py", qwen()),
    ("yarn-attention-factor", f"{VLLM}yarn_scaling_rope.py", qwen(attention_factor=1.0)),
    ("yarn-attn-factor-not-read", f"{VLLM}__init__.py get_rope", qwen(attn_factor=0.9)),
    ("yarn-mscale", f"{VLLM}yarn_scaling_rope.py", qwen(mscale=0.707, mscale_all_dim=1.0)),
    ("yarn-mscale-alone-not-read", f"{VLLM}yarn_scaling_rope.py", qwen(mscale=0.707)),
    ("yarn-extrapolation-factor-not-read", f"{VLLM}__init__.py get_rope", qwen(extrapolation_factor=0.5)),
    ("yarn-factor-3.3", f"{VLLM}yarn_scaling_rope.py", yarn(96, 12345.678, 40000, 3.3, 4099, beta_fast=31.7, beta_slow=0.9)),
    *[(f"yarn-window-{original}", f"{VLLM}common.py yarn_linear_ramp_mask", yarn(64, 10000.0, 32768, 4.0, original))
      for original in (3, 6, 201, 2000000)],
    ("yarn-mrope", f"{VLLM}mrope.py MRotaryEmbedding", qwen(mrope_section=[16, 24, 24])),
    ("yarn-mrope-interleaved", f"{VLLM}mrope.py, models/qwen3_vl.py", qwen(mrope_section=[24, 20, 20], mrope_interleaved=True)),
    ("mrope", f"{VLLM}mrope.py MRotaryEmbedding", rope_config(128, 1000000.0, 32768, "default", mrope_section=[16, 24, 24])),
    ("default", f"{VLLM}base.py", rope_config(80, 10000.0, 2048, "default")),
    ("linear", f"{VLLM}linear_scaling_rope.py", rope_config(128, 1000000.0, 4096, "linear", factor=3.3)),
    ("llama-3.1-8b", f"{VLLM}llama3_rope.py", LLAMA_3_1),
    ("gemma-4-factor-not-read", f"{VLLM}gemma4_rope.py",
     rope_config(512, 1000000.0, 131072, "proportional", factor=8.0, top={"partial_rotary_factor": 0.25})),
    ("deepseek-attention-factor-1", f"{VLLM}deepseek_scaling_rope.py, models/deepseek_v2.py",
     {**DEEPSEEK_V3, "rope_scaling": {**DEEPSEEK_V3["rope_scaling"], "attention_factor": 1.0}}),
    ("deepseek-truncate-not-read", f"{VLLM}deepseek_scaling_rope.py",
     {**DEEPSEEK_V3, "rope_scaling": {**DEEPSEEK_V3["rope_scaling"], "truncate": False}}),
    ("gpt-oss-20b-truncate-read", f"{VLLM}yarn_scaling_rope.py", GPT_OSS),
    ("deepseek-v3", f"{VLLM}deepseek_scaling_rope.py, models/deepseek_v2.py", DEEPSEEK_V3),
    ("deepseek-mscale-ratio", f"{VLLM}deepseek_scaling_rope.py",
     deepseek("deepseek_v3", 10000.0, 163840, 40.0, mscale=1.0, mscale_all_dim=0.707)),
    ("deepseek-mscale-defaults", f"{VLLM}deepseek_scaling_rope.py", deepseek("deepseek_v3", 10000.0, 163840, 40.0)),
    ("deepseek-mscale-without-all-dim", f"{VLLM}deepseek_scaling_rope.py",
     deepseek("deepseek_v3", 10000.0, 163840, 40.0, mscale=0.5)),
    ("kimi-k2-betas-read", f"{VLLM}deepseek_scaling_rope.py", KIMI_K2),
    ("dynamic-unscaled-short", f"{VLLM}dynamic_ntk_scaling_rope.py", INTERNLM, 100),
    ("dynamic-unscaled-long", f"{VLLM}dynamic_ntk_scaling_rope.py", INTERNLM, 1000000),
    ("ntk-fixed", f"{VLLM}ntk_scaling_rope.py", rope_config(128, 10000.0, 4096, "ntk", factor=8.0)),
    ("ntk-mix", f"{VLLM}ntk_scaling_rope.py", rope_config(128, 10000.0, 4096, "ntk_mix", factor=8.0, mixed_b=0.625)),
    ("ntk-alpha", f"{VLLM}dynamic_ntk_alpha_rope.py", HUNYUAN),
    ("longrope-short-by-max-model-len", f"{VLLM}phi3_long_rope_scaled_rope.py", phi_3_5_mini(4096), 100),
    ("longrope-long-by-max-model-len", f"{VLLM}phi3_long_rope_scaled_rope.py", phi_3_5_mini(8192), 100),
    ("longrope-without-max-model-len", f"{VLLM}phi3_long_rope_scaled_rope.py", without(phi_3_5_mini(1), "context_length")),
    ("longrope-given-scale-not-read", f"{VLLM}phi3_long_rope_scaled_rope.py",
     phi_3_5_mini(8192, factor=4.0, attention_factor=1.05), 100),
]


def dynamic_yarn(max_position_embeddings):
    return rope_config(128, 10000.0, max_position_embeddings, "dynamic_yarn", original_max_position_embeddings=4096)


YARN_CASES = [
    ("yarn-static", f"{YARN}LlamaYaRNScaledRotaryEmbedding.py", yarn(128, 10000.0, 65536, 16.0, 4096)),
    *[(f"dynamic-yarn@{n}", f"{YARN}LlamaDynamicYaRNScaledRotaryEmbedding.py", dynamic_yarn(4096), n)
      for n in (1, 4096, 4097, 8192, 16384, 131072)],
    *[(f"dynamic-yarn-table-8192@{n}", f"{YARN}LlamaDynamicYaRNScaledRotaryEmbedding.py", dynamic_yarn(8192), n)
      for n in (8193,)],
    *[(f"dynamic-ntk@{n}", f"{YARN}LlamaDynamicScaledRotaryEmbedding.py",
       rope_config(128, 10000.0, 4096, "dynamic", factor=2.0), n) for n in (4096, 16384)],
    ("ntk-aware", f"{YARN}LlamaNTKScaledRotaryEmbedding.py", rope_config(128, 10000.0, 4096, "ntk", factor=8.0)),
    *[(f"ntk-by-parts-x{factor}", f"{YARN}LlamaPartNTKScaledRotaryEmbedding.py",
       rope_config(128, 10000.0, 4096, "ntk_by_parts", factor=float(factor), original_max_position_embeddings=4096,
                   ramp="two_ramps"))
      for factor in (4, 16)],
]

LUCIDRAINS_CASES = [
    ("theta-rescale", LUCIDRAINS, rope_config(64, 10000.0, 4096, "ntk", "interleaved", factor=4.0)),
    ("interpolate", LUCIDRAINS, rope_config(64, 10000.0, 4096, "linear", "interleaved", factor=2.0)),
]

XPOS_POSITIONS = [0, 1, 511, 1024, 2047]


def other_system_cases():
    groups = {"llama.cpp": LLAMA_CPP_CASES, "vllm": VLLM_CASES, "yarn": YARN_CASES, "lucidrains": LUCIDRAINS_CASES}
    plans = [plan_case(system, *case) for system, cases in groups.items() for case in cases]
    return [*plans, xpos_case(64, 512, 2048), xpos_case(32, 64, 100)]


def plan_case(system, name, source, config, seq_len=None):
    # The original YaRN code and lucidrains' package have no `compat` value. Their rules have separate rope types.
    compat = system if system in ("llama.cpp", "vllm") else "hf"
    inv_freq, attention_factor, softmax_scale = SYSTEMS[system](config, seq_len)
    return {
        "name": f"{system}/{name}",
        "system": system,
        "source": source,
        "config": {**config, "compat": compat},
        "seq_len": seq_len,
        "inv_freq": inv_freq,
        "attention_factor": attention_factor,
        "softmax_scale": softmax_scale,
        **({"table_length": vllm_table_rows(config)} if system == "vllm" else {}),
    }


def xpos_case(head_dim, scale_base, length):
    """Unscaled frequencies, with `scales`, [positions][pairs], which multiply queries and divide keys."""
    config = rope_config(head_dim, 10000.0, length, "default", "interleaved")
    positions = [position for position in XPOS_POSITIONS if position < length] + [length - 1]
    positions = sorted(set(positions))
    scales = xpos_scales(head_dim, scale_base, length, positions)
    case = plan_case("lucidrains", f"xpos-{scale_base}", f"{LUCIDRAINS}.get_scale", config)
    return {**case, "xpos": {"scale_base": scale_base, "length": length, "positions": positions, "scales": scales}}
