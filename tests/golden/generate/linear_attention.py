"""linear_attention.json: linear attention with rotary positions, RoFormer's equation 19, computed as the quadratic sums.

    out_m = sum_n (R_m phi(q_m)) . (R_n phi(k_n)) v_n  /  sum_n phi(q_m) . phi(k_n),    phi(x) = elu(x) + 1

Only the numerator is rotated. In the denominator, terms are positive and can't cancel. phi is PyTorch's, R is
transformers'.
"""

import torch
from torch.nn.functional import elu
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb, repeat_kv

from attention_numbers import TORCH, difference, nine_digits, qkv_fields, random_qkv, seeded
from hf_models import SOURCE

ROPE_THETA = 10000.0
SHAPES = (  # name, query heads, key-value heads, tokens, head_dim
    ("head_dim 16", 2, 2, 40, 16),
    ("head_dim 64", 1, 1, 30, 64),
    ("grouped-query", 4, 2, 9, 8),
)


def linear_attention_cases():
    return [linear_attention_case(*shape) for shape in SHAPES]


def linear_attention_case(name, heads, kv_heads, tokens, head_dim):
    q, k, v = random_qkv(seeded(name), (1, heads, tokens, head_dim), (1, kv_heads, tokens, head_dim))
    outs = []
    for causal in (False, True):
        for rope in (False, True):
            out = quadratic(q, k, v, causal, rope)
            assert difference(out, running_sums(q, k, v, causal, rope)) < 1e-12, f"{name}: {causal=} {rope=}"
            outs.append({"causal": causal, "rope": rope, "out": nine_digits(out)})
    return {
        "name": name,
        "source": f"RoFormer (arXiv 2104.09864), equation 19; {TORCH}, elu; {SOURCE}, llama's apply_rotary_pos_emb",
        **qkv_fields(q, k, v),
        "rope": {"pairing": "half", "rotary_dim": head_dim, "rope_theta": ROPE_THETA},
        "outs": outs,
    }


def features(q, k):
    """phi(q) and phi(k), unrotated and rotated."""
    q, k = elu(q) + 1, elu(k) + 1
    exponents = torch.arange(0, q.shape[-1], 2, dtype=torch.float64) / q.shape[-1]
    angles = torch.arange(q.shape[2])[:, None] * ROPE_THETA**-exponents
    angles = torch.cat((angles, angles), dim=-1)[None]
    return (q, k), apply_rotary_pos_emb(q, k, angles.cos(), angles.sin())


def quadratic(q, k, v, causal, rope):
    k, v = (repeat_kv(x, q.shape[1] // k.shape[1]) for x in (k, v))
    plain, rotated = features(q, k)
    numerator, denominator = (queries @ keys.transpose(-1, -2) for queries, keys in (rotated if rope else plain, plain))
    if causal:
        numerator, denominator = numerator.tril(), denominator.tril()
    return numerator @ v / denominator.sum(-1, keepdim=True)


def running_sums(q, k, v, causal, rope):
    """The linear form, as a check: a matrix and a vector for each head, to which keys are added one by one."""
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
    plain, rotated = features(q, k)
    numerator_q, numerator_k = rotated if rope else plain
    state = (numerator_k[..., :, None] * v[..., None, :]).cumsum(2)  # [batch, heads, tokens, head_dim, head_dim]
    total = plain[1].cumsum(2)
    if not causal:
        state, total = state[:, :, -1:], total[:, :, -1:]
    numerator = (numerator_q[..., None, :] @ state)[..., 0, :]
    return numerator / (plain[0] * total).sum(-1, keepdim=True)
