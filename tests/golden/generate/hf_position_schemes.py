"""position_schemes.json: position schemes other than RoPE: ALiBi, T5's buckets, sinusoidal and learned tables."""

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import MptConfig, T5Config
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.distilbert import modeling_distilbert
from transformers.models.mpt.modeling_mpt import MptAttention, build_mpt_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.xlm import modeling_xlm

from attention_numbers import (
    FLOAT32_SOFTMAX,
    FLOAT64,
    OPTIONS,
    TORCH,
    check_close,
    naive_attention,
    nine_digits,
    plain,
    qkv_fields,
    random_qkv,
    seeded,
    sixty_fourths,
)
from golden_json import f32
from hf_hooks import input_of, joined, returning, split
from hf_models import SOURCE

HEAD_COUNTS = (1, 2, 4, 8, 12, 16, 20)
BUCKETS = ((32, 128), (20, 50))  # (number of buckets, longest distance): T5's values, and made-up ones


def position_scheme_cases():
    return (
        [alibi_slopes(heads) for heads in HEAD_COUNTS]
        + [t5_buckets(*sizes, bidirectional) for sizes in BUCKETS for bidirectional in (True, False)]
        + [sinusoidal_table(dim, positions=40) for dim in (8, 64)]
        + alibi_attention("alibi", heads=4, tokens=14, head_dim=8)
        + alibi_attention("alibi, 6 heads", heads=6, tokens=12, head_dim=16)
        + [t5_attention("t5 encoder", is_decoder=False), t5_attention("t5 decoder", is_decoder=True)]
        + [added_table("sinusoidal", sinusoidal(20, 16)), added_table("learned", None)]
    )


def alibi_slopes(heads, keys=10):
    """BLOOM's slopes, and MPT's bias for the newest query, whose distance to key j is keys - 1 - j."""
    slopes = build_alibi_tensor(torch.ones(1, 2, dtype=torch.long), heads, torch.float32)[:, 0, 1]
    bias = build_mpt_alibi_tensor(heads, keys)
    distance = torch.arange(keys - 1, -1, -1)
    assert torch.allclose(bias[:, 0], -slopes[:, None] * distance, rtol=5e-7, atol=0)
    return {
        "name": f"alibi slopes, {heads} heads",
        "kind": "alibi_slopes",
        "source": f"{SOURCE}, slopes: bloom's build_alibi_tensor, bias: mpt's build_mpt_alibi_tensor",
        "heads": heads,
        "slopes": f32(slopes),
        "bias_shape": list(bias.shape),
        "bias": f32(bias.flatten()),
    }


def t5_buckets(num_buckets, max_distance, bidirectional):
    relative = torch.arange(-300, 301)
    buckets = T5Attention._relative_position_bucket(relative, bidirectional, num_buckets, max_distance)
    kind = "both ways" if bidirectional else "back only"
    return {
        "name": f"t5 buckets, {num_buckets} up to {max_distance}, {kind}",
        "kind": "t5_buckets",
        "source": f"{SOURCE}, T5Attention._relative_position_bucket",
        "num_buckets": num_buckets,
        "max_distance": max_distance,
        "bidirectional": bidirectional,
        "relative_positions": relative.tolist(),
        "buckets": buckets.tolist(),
    }


def sinusoidal(positions, dim):
    """[position][dim]: sines at even dimensions, cosines at odd ones. XLM's and DistilBERT's functions give the same."""
    xlm, distilbert = torch.empty(positions, dim), torch.empty(positions, dim)
    modeling_xlm.create_sinusoidal_embeddings(positions, dim, xlm)
    modeling_distilbert.create_sinusoidal_embeddings(positions, dim, distilbert)
    assert torch.equal(xlm, distilbert)
    return xlm


def sinusoidal_table(dim, positions):
    return {
        "name": f"sinusoidal table, dim {dim}",
        "kind": "sinusoidal",
        "source": f"{SOURCE}, modeling_xlm.create_sinusoidal_embeddings",
        "table_shape": [positions, dim],
        "table": f32(sinusoidal(positions, dim).flatten()),
    }


def attention_case(name, source, q, k, v, options, scheme, out):
    return {
        "name": f"{name}, attention",
        "kind": "attention",
        "source": source,
        **qkv_fields(q, k, v),
        "options": options,
        "scheme": scheme,
        "out": nine_digits(out),
    }


def alibi_attention(name, heads, tokens, head_dim):
    """MPT's causal layer, and its newest three queries alone, as with a cache."""
    q, k, v = random_qkv(seeded(name), *[(1, heads, tokens, head_dim)] * 2)
    layer = MptAttention(MptConfig(d_model=heads * head_dim, n_heads=heads, max_seq_len=tokens)).double()
    hidden = torch.zeros(1, tokens, heads * head_dim, dtype=torch.float64)
    alibi = build_mpt_alibi_tensor(heads, tokens)
    later = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)[None, None]  # masked keys
    projected = torch.cat([joined(x) for x in (q, k, v)], dim=-1)
    with returning([(layer.Wqkv, projected)]), input_of(layer.out_proj) as seen:
        layer(hidden, alibi, attention_mask=later)
    out = split(seen[0], head_dim)

    options = {**OPTIONS, "causal": True, "scale": layer.softmax_scale}
    slopes = -alibi[:, 0, -2]
    position = torch.arange(tokens)
    # The layer adds slope * (key - last key). For each query that differs by a constant, which softmax drops.
    bias = -slopes[:, None, None].double() * (position[:, None] - position)
    check_close(name, out, naive_attention(q, k, v, options, bias), FLOAT32_SOFTMAX)

    source = f"{SOURCE}, MptAttention"
    scheme = {"type": "alibi", "slopes": f32(slopes)}
    newest = slice(-3, None)
    return [
        attention_case(name, source, q, k, v, options, scheme, out),
        attention_case(f"{name}, newest 3", source, q[:, :, newest], k, v, options, scheme, out[:, :, newest]),
    ]


def t5_attention(name, is_decoder, heads=3, tokens=40, head_dim=8):
    """T5's layer: no scale, one bias for each head and bucket. 40 tokens reach its logarithmic buckets."""
    generator = seeded(name)
    q, k, v = random_qkv(generator, *[(1, heads, tokens, head_dim)] * 2)
    config = T5Config(d_model=heads * head_dim, d_kv=head_dim, num_heads=heads, is_decoder=is_decoder)
    config._attn_implementation = "eager"
    table = sixty_fourths(generator, config.relative_attention_num_buckets, heads)
    layer = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double().eval()
    layer.relative_attention_bias.weight.data.copy_(table)

    hidden = torch.zeros(1, tokens, heads * head_dim, dtype=torch.float64)
    later = torch.zeros(tokens, tokens, dtype=torch.float64)
    if is_decoder:
        later.masked_fill_(torch.ones(tokens, tokens, dtype=torch.bool).triu(1), torch.finfo(later.dtype).min)
    projections = [(layer.q, joined(q)), (layer.k, joined(k)), (layer.v, joined(v))]
    with returning(projections), input_of(layer.o) as seen:
        layer(hidden, later[None, None])
    out = split(seen[0], head_dim)

    options = {**OPTIONS, "causal": is_decoder, "scale": layer.scaling}
    position = torch.arange(tokens)
    sizes = (config.relative_attention_num_buckets, config.relative_attention_max_distance)
    buckets = T5Attention._relative_position_bucket(position - position[:, None], not is_decoder, *sizes)
    check_close(name, out, naive_attention(q, k, v, options, table[buckets].permute(2, 0, 1)), FLOAT64)
    scheme = {
        "type": "t5",
        "bidirectional": not is_decoder,
        "num_buckets": sizes[0],
        "max_distance": sizes[1],
        "table_shape": list(table.shape),
        "table": plain(table),
    }
    return attention_case(name, f"{SOURCE}, T5Attention", q, k, v, options, scheme, out)


def added_table(name, table, tokens=9, head_dim=16):
    """Adds row p of the table to every head of the query and key at position p, before PyTorch's attention."""
    generator = seeded(name)
    q, k, v = random_qkv(generator, (1, 4, tokens, head_dim), (1, 2, tokens, head_dim))
    if table is None:
        table = sixty_fourths(generator, 20, head_dim)
    rows = table[:tokens].double()
    options = {**OPTIONS, "causal": True, "scale": head_dim**-0.5}
    moved_q, moved_k = q + rows, k + rows
    out = scaled_dot_product_attention(moved_q, moved_k, v, is_causal=True, scale=options["scale"], enable_gqa=True)
    check_close(name, out, naive_attention(moved_q, moved_k, v, options), FLOAT64)
    scheme = {"type": name, "table_shape": list(table.shape), "table": f32(table.flatten())}
    source = f"{TORCH}, scaled_dot_product_attention(is_causal, enable_gqa) of q + row, k + row, v"
    return attention_case(name, source, q, k, v, options, scheme, out)
