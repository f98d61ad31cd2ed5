"""Writes tiny random models of RWKV-7 and the results of flash-linear-attention for them, tiny_models/rwkv7*/.

    python tiny_rwkv.py                   write every model
    python tiny_rwkv.py rwkv7             write only these
    python tiny_rwkv.py --check           generate them again and compare with the committed files

Needs flash-linear-attention 0.6.0, fla-core 0.6.0 and einops 0.8.2 besides the packages of tiny_models.py. No GPU: its kernels for GPUs are
replaced by its own definitions of the same operations in PyTorch, which then run in float64.
"""

import sys
from pathlib import Path

import torch
from fla.layers import rwkv7 as layer
from fla.models.rwkv7 import RWKV7Config, RWKV7ForCausalLM, modeling_rwkv7 as modeling
from fla.modules.token_shift import token_shift_ref
from fla.ops.generalized_delta_rule.dplr.naive import dplr_recurrence
from fla.ops.rwkv7.fused_k_update import k_update_ref
from fla.ops.rwkv7.gate_output_correction import gate_output_correction_ref

sys.path.insert(0, str(Path(__file__).parents[1]))
from rwkv_vocabulary import VOCABULARY, write_vocabulary  # noqa: E402
from tiny_models import expectations, generator, make_folders, write_expected  # noqa: E402
from tiny_models_vocabulary import write_tokenizer  # noqa: E402

SIZES = {"attn_mode": "fused_recurrent", "num_hidden_layers": 3, "fuse_cross_entropy": False, "bos_token_id": 0, "eos_token_id": 0}
CONFIGS = {
    # The only size of heads that llama.cpp computes right on every processor.
    "rwkv7": {
        **SIZES,
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "intermediate_size": 40,
        "head_dim": 64,
        "norm_eps": 1e-5,
        "decay_low_rank_dim": 5,
        "a_low_rank_dim": 7,
        "v_low_rank_dim": 3,
        "gate_low_rank_dim": 9,
        "fuse_norm": False,
    },
    # Rows that don't fill vectors, a size of feed-forward blocks that is derived, and the norms of its fused kernels: without biases, and
    # with an epsilon for keys.
    "rwkv7_sizes": {
        **SIZES,
        "vocab_size": 64,
        "hidden_size": 18,
        "intermediate_size": None,
        "hidden_ratio": 1.5,
        "head_dim": 6,
        "norm_eps": 1e-3,
        "norm_bias": False,
        "decay_low_rank_dim": 2,
        "a_low_rank_dim": 1,
        "v_low_rank_dim": 4,
        "gate_low_rank_dim": 3,
        "fuse_norm": True,
        "tie_word_embeddings": True,
    },
}


def main():
    use_definitions()
    make_folders(__doc__, CONFIGS, write_model)


def use_definitions():
    layer.token_shift = modeling.token_shift = token_shift
    layer.fused_addcmul_rwkv7 = lambda x, delta, *shares: [x + delta * share for share in shares]
    layer.fused_k_rwkv7 = k_update_ref
    layer.l2_norm = lambda x: x / (x.square().sum(-1, keepdim=True) + 1e-6).sqrt()
    layer.gate_output_correction = gate_output_correction_ref
    layer.chunk_rwkv7 = recurrence
    layer.fused_mul_recurrent_rwkv7 = lambda kk, a, **rest: recurrence(a=-kk, b=kk * a, **rest)
    modeling.ACT2FN["sqrelu"] = lambda x: x.relu().square()
    torch.Tensor.float = torch.Tensor.double  # the recurrence would be in float32


def token_shift(x, cu_seqlens=None, output_cache=False, cache=None):
    delta = token_shift_ref(x, cu_seqlens)
    if cache is not None:
        delta[:, 0] += cache
    return delta, x[:, -1]


def recurrence(r, w, k, v, a, b, scale, initial_state, output_final_state, **_):
    assert scale == 1
    q, k, v, a, b, w = (x.transpose(1, 2) for x in (r * r.shape[-1] ** 0.5, k, v, a, b, w))
    o, state = dplr_recurrence(q, k, v, a, b, w, initial_state, output_final_state)
    return o.transpose(1, 2), state


def write_model(name, folder):
    config = RWKV7Config(**CONFIGS[name])
    model = random_model(name, config)
    model.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
    (write_vocabulary if config.vocab_size == VOCABULARY else write_tokenizer)(folder)
    write_expected(folder / "expected.json", expectations(name, model.double()))


def random_model(name, config):
    """A float32 model. Each parameter comes from a generator seeded by its name."""
    fused, config.fuse_norm = config.fuse_norm, False  # whose modules run on a CPU
    model = RWKV7ForCausalLM(config).float().eval()
    model.to(torch.float32)
    config.fuse_norm = fused
    for block in model.model.layers:
        block.config = RWKV7Config(**{**config.to_dict(), "fuse_norm": False})
        if fused:
            block.attn.fuse_norm = True
            norm = block.attn.g_norm
            norm.forward = lambda x, norm=norm: torch.nn.GroupNorm.forward(norm, x.flatten(0, -2)).view(x.shape)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            random = generator(f"{name}/{parameter_name}").standard_normal(parameter.shape)
            center, spread = distribution(parameter_name, parameter, fused)
            parameter.copy_(torch.from_numpy(center + spread * random))
    return model


def distribution(name, parameter, fused):
    """Mean and standard deviation: so that each part matters, and states remember some ten tokens."""
    last = name.split(".")[-1]
    if last.startswith("x_"):
        return 0.5, 0.3
    if name.endswith("w_lora.lora.2.bias"):
        return -2.0, 1.0
    if last == "k_k":
        return 0.0, 0.01 if fused else 1.0  # keys as short as their epsilon
    if last == "k_a":
        return 0.8, 0.4
    if last == "r_k":
        return 0.3, 0.3
    if "norm" in name:
        return (1.0, 0.3) if last == "weight" else (0.0, 0.2)
    if last == "bias":
        return 0.0, 0.5
    if "embeddings" in name or "lm_head" in name:
        return 0.0, 2 / parameter.shape[-1] ** 0.5
    return 0.0, 1 / parameter.shape[-1] ** 0.5


if __name__ == "__main__":
    main()
