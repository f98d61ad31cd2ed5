"""The RoPE rules of llama.cpp, vLLM, the original YaRN code and lucidrains' package, in double precision.

The code is our own. Each function implements the arithmetic of the file that its docstring names.
A plan is (inv_freq, attention_factor on cos and sin, softmax_scale that multiplies 1/sqrt(head_dim)).
"""

import math

DEEPSEEK_MODEL_TYPES = ("deepseek_v2", "deepseek_v3", "kimi_k2")  # llama.cpp's architecture deepseek2
LLAMA_CPP_READS_BETAS = ("ministral3",)  # llama.cpp's architecture mistral3; most of its loaders don't read betas


# Shared by the systems


def plain_inv_freq(theta, dim):
    return [theta ** (-2 * i / dim) for i in range(dim // 2)]


def ntk_theta(theta, factor, dim):
    """NTK-aware scaling: the base that keeps the frequency of pair 0 and divides that of the last pair by factor."""
    return theta * factor ** (dim / (dim - 2))


def yarn_mscale(factor, mscale=1.0):
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0


def correction_dim(rotations, dim, theta, length):
    """The (fractional) index of the pair that makes `rotations` full rotations within `length` positions."""
    return dim * math.log(length / (rotations * 2 * math.pi)) / (2 * math.log(theta))


def correction_range(beta_fast, beta_slow, dim, theta, length, truncate=True):
    low, high = (correction_dim(beta, dim, theta, length) for beta in (beta_fast, beta_slow))
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    return max(low, 0), min(high, dim - 1)


def ramp(low, high, count):
    """0 up to pair `low`, 1 from pair `high`, linear between. A step if the two are equal, all 0 if they are reversed."""
    if low == high:
        high += 0.001
    return [min(max((i - low) / (high - low), 0.0), 1.0) for i in range(count)]


def ggml_ramp(low, high, count):
    """rope_yarn_ramp in ggml: the width is at least 0.001, so that a reversed range is a step too."""
    return [min(max((i - low) / max(0.001, high - low), 0.0), 1.0) for i in range(count)]


def mix(a, b, weights):
    """Interpolates from a (weight 0) to b (weight 1)."""
    return [x * (1 - w) + y * w for x, y, w in zip(a, b, weights)]


def yarn_inv_freq(theta, dim, factor, original, beta_fast=32, beta_slow=1, truncate=True, ramp=ramp):
    plain = plain_inv_freq(theta, dim)
    low, high = correction_range(beta_fast, beta_slow, dim, theta, original, truncate)
    return mix(plain, [w / factor for w in plain], ramp(low, high, dim // 2))


def long_or_short(scaling, theta, dim, use_long):
    factors = scaling["long_factor"] if use_long else scaling["short_factor"]
    return [w / factor for w, factor in zip(plain_inv_freq(theta, dim), factors)]


def llama3_divisors(scaling, theta, dim):
    """1 for short wavelengths, factor for long ones, interpolated between."""
    factor, low, high = (scaling[key] for key in ("factor", "low_freq_factor", "high_freq_factor"))
    original = scaling["original_max_position_embeddings"]
    divisors = []
    for w in plain_inv_freq(theta, dim):
        rotations = original * w / (2 * math.pi)
        if rotations > high:
            divisors.append(1.0)
        elif rotations < low:
            divisors.append(factor)
        else:
            smooth = (rotations - low) / (high - low)
            divisors.append(1 / ((1 - smooth) / factor + smooth))
    return divisors


# The systems


def llama_cpp(config, seq_len=None):
    """llama_context in src/llama-context.cpp; ggml_rope_yarn_corr_dims; rope_yarn in ggml/src/ggml-cpu/ops.cpp."""
    scaling, theta, dim = config["rope_scaling"], config["rope_theta"], rotary_dim(config)
    attn_factor = scaling.get("attn_factor", 1.0)  # GGUF rope.scaling.attn_factor
    match scaling["rope_type"]:
        case "default" | "dynamic":  # no dynamic NTK at run time: the converter writes nothing for it
            return plain_inv_freq(theta, dim), attn_factor, 1.0
        case "linear":
            return [w / scaling["factor"] for w in plain_inv_freq(theta, dim)], attn_factor, 1.0
        case "ntk_alpha":  # the converter folds it into rope.freq_base
            return plain_inv_freq(ntk_theta(theta, scaling["alpha"], dim), dim), attn_factor, 1.0
        case "llama3":  # the converter's rope_freqs.weight divides the angle
            divisors = llama3_divisors(scaling, theta, dim)
            return [w / divisor for w, divisor in zip(plain_inv_freq(theta, dim), divisors)], attn_factor, 1.0
        case "longrope":  # selected by the context size, not by the number of tokens in it
            use_long = config["context_length"] > config["original_max_position_embeddings"]
            return long_or_short(scaling, theta, dim, use_long), attn_factor, 1.0
        case "yarn":
            return llama_cpp_yarn(config, scaling, theta, dim, attn_factor)


def llama_cpp_yarn(config, scaling, theta, dim, attn_factor):
    """The range is always rounded, attention_factor and truncate are not read, and mscale counts as 1."""
    factor, log_multiplier = scaling["factor"], scaling.get("mscale_all_dim", 0.0)
    is_deepseek2 = config.get("model_type") in DEEPSEEK_MODEL_TYPES
    betas = {}
    if config.get("model_type") in LLAMA_CPP_READS_BETAS:
        betas = betas_of(scaling)
    original = scaling["original_max_position_embeddings"]
    inv_freq = yarn_inv_freq(theta, dim, factor, original, **betas, ramp=ggml_ramp)

    # llama_context divides by the factor 1 + 0.1 ln s that the kernel multiplies by, so the two cancel here.
    attention_factor = yarn_mscale(factor)
    if log_multiplier != 0:
        mscale = log_multiplier if is_deepseek2 and log_multiplier != 1 else 1.0
        attention_factor = yarn_mscale(factor, mscale) / yarn_mscale(factor, log_multiplier)
    attention_factor *= attn_factor
    if not is_deepseek2:
        return inv_freq, attention_factor, 1.0
    # src/models/deepseek2.cpp: kq_scale = mscale^2 / sqrt(n_embd_head_k)
    return inv_freq, attention_factor, (attention_factor * yarn_mscale(factor, log_multiplier)) ** 2


def vllm(config, seq_len=None):
    """get_rope and the classes in vllm/model_executor/layers/rotary_embedding/ of vLLM 0.33.0 (1 November 2026)."""
    scaling, theta, dim = config["rope_scaling"], config["rope_theta"], rotary_dim(config)
    factor = scaling.get("factor")
    match scaling["rope_type"]:
        case "default":
            return plain_inv_freq(theta, dim), 1.0, 1.0
        case "linear":  # positions are divided
            return [w / factor for w in plain_inv_freq(theta, dim)], 1.0, 1.0
        case "llama3":
            divisors = llama3_divisors(scaling, theta, dim)
            return [w / divisor for w, divisor in zip(plain_inv_freq(theta, dim), divisors)], 1.0, 1.0
        case "proportional":  # Gemma4RotaryEmbedding has no factor
            rotated = rotary_dim(config) // 2
            head_dim = config["head_dim"]
            frequencies = [w if i < rotated else 0.0 for i, w in enumerate(plain_inv_freq(theta, head_dim))]
            return frequencies, 1.0, 1.0
        case "dynamic":  # scaled by max_position_embeddings / max_trained_positions, which is 1 without that key
            return plain_inv_freq(theta, dim), 1.0, 1.0
        case "ntk_alpha":
            return plain_inv_freq(ntk_theta(theta, scaling["alpha"], dim), dim), 1.0, 1.0
        case "ntk":
            return [w / factor ** (2 / dim) for w in plain_inv_freq(theta * factor, dim)], 1.0, 1.0
        case "ntk_mix":
            exponent = math.log(factor) / (dim / 2) ** scaling["mixed_b"]
            divisors = [math.exp(exponent * m ** scaling["mixed_b"]) for m in range(1, dim // 2 + 1)]
            return [w / divisor for w, divisor in zip(plain_inv_freq(theta, dim), divisors)], 1.0, 1.0
        case "longrope":  # selected by max_model_len at start-up; factor and attention_factor are not read
            original = config["original_max_position_embeddings"]
            use_long = config.get("context_length", original) > original  # max_model_len is the original length if not given
            extension = config["max_position_embeddings"] / original
            scale = math.sqrt(1 + math.log(extension) / math.log(original)) if extension > 1 else 1.0
            return long_or_short(scaling, theta, dim, use_long), scale, 1.0
        case "yarn" if config.get("model_type") in DEEPSEEK_MODEL_TYPES:
            original = scaling["original_max_position_embeddings"]
            inv_freq = yarn_inv_freq(theta, dim, factor, original, **betas_of(scaling))
            all_dim = yarn_mscale(factor, scaling.get("mscale_all_dim", 0.0))
            # vllm/model_executor/models/deepseek_v2.py: the type is deepseek_llama_scaling then, without a softmax factor
            softmax = 1.0 if scaling.get("attention_factor") == 1.0 else all_dim**2
            return inv_freq, yarn_mscale(factor, scaling.get("mscale", 1.0)) / all_dim, softmax
        case "yarn":
            original, truncate = scaling["original_max_position_embeddings"], scaling.get("truncate", True)
            # MRotaryEmbedding passes the length of its table on: four times the original one, or as it is in Qwen3-VL
            if "mrope_section" in scaling and not scaling.get("mrope_interleaved"):
                original *= 4
            inv_freq = yarn_inv_freq(theta, dim, factor, original, truncate=truncate, **betas_of(scaling))
            mscale, all_dim = scaling.get("mscale"), scaling.get("mscale_all_dim")
            own = yarn_mscale(factor, mscale) / yarn_mscale(factor, all_dim) if mscale and all_dim else yarn_mscale(factor)
            return inv_freq, scaling.get("attention_factor", own), 1.0


def vllm_table_rows(config):
    """Rows of the cos and sin table of vLLM 0.33.0 that a sequence can use, by the same classes."""
    scaling = config["rope_scaling"]
    longest, factor = config["max_position_embeddings"], scaling.get("factor", 1.0)
    times = 4 if "mrope_section" in scaling and not scaling.get("mrope_interleaved") else 1
    match scaling["rope_type"]:
        case "yarn":
            return math.ceil(scaling["original_max_position_embeddings"] * times * factor)
        case "linear":
            return longest * factor
        case "longrope":
            original = config["original_max_position_embeddings"]
            return longest if config.get("context_length", original) > original else original
    return longest * times


def yarn_code(config, seq_len=None):
    """scaled_rope/Llama*ScaledRotaryEmbedding.py of jquesnelle/yarn, not fine-tuned, called once at seq_len."""
    scaling, theta, dim = config["rope_scaling"], config["rope_theta"], rotary_dim(config)
    cached, factor = config["max_position_embeddings"], scaling.get("factor")
    match scaling["rope_type"]:
        case "yarn":
            inv_freq = yarn_inv_freq(theta, dim, factor, scaling["original_max_position_embeddings"])
            return inv_freq, yarn_mscale(factor), 1.0
        case "dynamic_yarn":  # unscaled until the sequence exceeds the table, then the factor is seq_len / original
            if seq_len <= cached:
                return plain_inv_freq(theta, dim), 1.0, 1.0
            original = scaling["original_max_position_embeddings"]
            return yarn_inv_freq(theta, dim, seq_len / original, original), yarn_mscale(seq_len / original), 1.0
        case "dynamic":
            growth = factor * seq_len / cached - (factor - 1) if seq_len > cached else 1.0
            return plain_inv_freq(ntk_theta(theta, growth, dim), dim), 1.0, 1.0
        case "ntk":
            return plain_inv_freq(ntk_theta(theta, factor, dim), dim), 1.0, 1.0
        case "ntk_by_parts":
            return ntk_by_parts_inv_freq(theta, dim, factor, scaling["original_max_position_embeddings"]), 1.0, 1.0


def ntk_by_parts_inv_freq(theta, dim, factor, original):
    """LlamaPartNTKScaledRotaryEmbedding with its constants: a ramp from NTK to linear over 1.25 … 0.75 rotations, then
    a ramp from unscaled to that over 16 … 2 rotations."""
    plain = plain_inv_freq(theta, dim)
    linear = [w / factor for w in plain]
    ntk = plain_inv_freq(ntk_theta(theta, factor, dim), dim)
    scaled = mix(ntk, linear, ramp(*correction_range(1.25, 0.75, dim, theta, original), dim // 2))
    return mix(plain, scaled, ramp(*correction_range(16, 2, dim, theta, original), dim // 2))


def lucidrains(config, seq_len=None):
    """RotaryEmbedding of lucidrains/rotary-embedding-torch: theta_rescale_factor and interpolate_factor."""
    scaling, theta, dim = config["rope_scaling"], config["rope_theta"], rotary_dim(config)
    match scaling["rope_type"]:
        case "default":
            return plain_inv_freq(theta, dim), 1.0, 1.0
        case "ntk":
            return plain_inv_freq(ntk_theta(theta, scaling["factor"], dim), dim), 1.0, 1.0
        case "linear":
            return [w / scaling["factor"] for w in plain_inv_freq(theta, dim)], 1.0, 1.0


def xpos_scales(dim, scale_base, length, positions):
    """[positions][pairs]: the factors that multiply queries and divide keys (get_scale of the same package).

    Positions are counted from the middle of the sequence, so scores depend on its length only through rounding.
    """
    scale = [(2 * i + 0.4 * dim) / (1.4 * dim) for i in range(dim // 2)]
    return [[s ** ((position - length // 2) / scale_base) for s in scale] for position in positions]


def betas_of(scaling):
    return {key: scaling[key] for key in ("beta_fast", "beta_slow") if key in scaling}


def rotary_dim(config):
    return int(config["head_dim"] * config.get("partial_rotary_factor", 1.0))
