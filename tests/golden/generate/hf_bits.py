"""frequency_bits.json: the last bits of transformers' frequencies, for made-up configurations with odd numbers.

    python hf_bits.py --count 5000 > bits.json      more of them, for ROPEWALK_FREQUENCY_BITS of golden_bits.test.mjs

The bits are those of PyTorch on x86-64 with AVX-512. `sha256` is of the little-endian float32 frequencies. PyTorch takes
powers in groups of 32 by SLEEF's powf, and the rest by the C library's powf, whose result isn't always the nearest
float32. `c_library` has those frequencies, by pair.
"""

import argparse
import hashlib
import json
import random
import sys

import numpy as np
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from golden_json import f32

FACTORS = [1.0, 1.7, 2.0, 3.3, 4.0, 7.77, 8.0, 16.0, 32.0, 40.1]
BASES = [10000.0, 500000.0, 1000000.0, 150000.0, 10000000.0, 12345.678, 333.3, 40.5]
LENGTHS = [3, 50, 1000, 2048, 4096, 5000, 8192, 10007, 32768]
BETAS = [(32, 1), (31.7, 0.9), (4, 1), (1, 1), (17.3, 2.1), (64, 3.5), (1.25, 0.75)]
TYPES = ["default", "linear", "yarn", "yarn", "yarn", "llama3", "llama3", "longrope", "dynamic", "proportional"]
ODD_WIDTHS = ("default", "linear", "dynamic", "llama3")  # transformers can't compute the other types for odd widths


def frequency_bits_cases(count=240, seed=13):
    return [bits_case(made_up(random.Random(f"{seed}/{i}"), TYPES[i % len(TYPES)]), i) for i in range(count)]


def made_up(pick, rope_type):
    head_dim = 2 * pick.choice([pick.randint(2, 24), pick.choice([20, 24, 32, 40, 48, 64, 96, 128]), pick.randint(24, 256)])
    share = pick.choice([1.0, 1.0, 1.0, 0.5, 0.25, 0.334, 0.75])
    width = int(head_dim * share)
    if width < 6 or (width % 2 and rope_type not in ODD_WIDTHS):
        share, width = 1.0, head_dim
    base = pick.choice([*BASES, round(pick.uniform(50, 3e6), 3)])
    length = pick.choice(LENGTHS)
    factor = pick.choice([*FACTORS, round(pick.uniform(1, 70), 4)])
    scaling = {"rope_type": rope_type}
    if rope_type not in ("default", "longrope"):
        scaling["factor"] = factor
    if rope_type in ("yarn", "llama3", "longrope"):
        scaling["original_max_position_embeddings"] = length
    if rope_type == "yarn":
        scaling["beta_fast"], scaling["beta_slow"] = pick.choice(BETAS)
        scaling["truncate"] = pick.choice([True, False])
        if pick.random() < 0.3:
            scaling["attention_factor"] = round(pick.uniform(0.5, 2), 3)
        elif pick.random() < 0.3:
            scaling["mscale"], scaling["mscale_all_dim"] = 0.707, pick.choice([1.0, 0.9])
    if rope_type == "llama3":
        scaling["low_freq_factor"], scaling["high_freq_factor"] = pick.choice([(1.0, 4.0), (1.3, 3.7), (0.9, 8.1)])
    if rope_type == "longrope":
        scaling["short_factor"] = [round(pick.uniform(1, 3), 3) for _ in range(width // 2)]
        scaling["long_factor"] = [round(pick.uniform(1, 65), 2) for _ in range(width // 2)]
    seq_len = None
    if rope_type in ("dynamic", "longrope"):
        seq_len = pick.choice([length // 2, length + 1, 2 * length + 77, 131072])
    config = {"head_dim": head_dim, "rope_theta": base, "max_position_embeddings": length * (8 if rope_type != "dynamic" else 1),
              "rope_scaling": scaling}
    if share != 1.0:
        config["partial_rotary_factor"] = share
    return config, seq_len


def bits_case(made, number):
    config, seq_len = made
    scaling = config["rope_scaling"]
    hf = LlamaConfig(head_dim=config["head_dim"], hidden_size=4 * config["head_dim"], num_attention_heads=4,
                     max_position_embeddings=config["max_position_embeddings"],
                     rope_parameters={**scaling, "rope_theta": config["rope_theta"],
                                      "partial_rotary_factor": config.get("partial_rotary_factor", 1.0)})
    if scaling["rope_type"] == "default":
        inv_freq, attention_factor = default_of(hf)
    else:
        # a module passes the length as a tensor, which makes some of the arithmetic float32
        tensor = None if seq_len is None else torch.tensor(seq_len)
        inv_freq, attention_factor = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](hf, seq_len=tensor)
        if scaling["rope_type"] == "dynamic" and seq_len <= config["max_position_embeddings"]:
            inv_freq, _ = ROPE_INIT_FUNCTIONS["dynamic"](hf)
    case = {
        "name": f"{number}: {scaling['rope_type']}, head_dim {config['head_dim']}",
        "config": {**config, "pairing": "half", "precision": "hf"},
        "seq_len": seq_len,
        "sha256": hashlib.sha256(inv_freq.numpy().astype("<f4").tobytes()).hexdigest()[:16],
        "attention_factor": attention_factor,
    }
    odd = {pair: f32(inv_freq[pair]) for pair in not_nearest(config, seq_len)}
    return {**case, "c_library": odd} if odd else case


def default_of(hf):
    """Llama's own function leaves out partial_rotary_factor. Phi's and others have the same with it."""
    dim = int(hf.head_dim * hf.rope_parameters["partial_rotary_factor"])
    if dim == hf.head_dim:
        return LlamaRotaryEmbedding.compute_default_rope_parameters(hf)
    return 1.0 / (hf.rope_parameters["rope_theta"] ** (torch.arange(0, dim, 2, dtype=torch.float) / dim)), 1.0


def not_nearest(config, seq_len):
    """The pairs outside whole groups of 32 whose float32 power isn't the nearest to the exact one."""
    scaling, head_dim, share = config["rope_scaling"], config["head_dim"], config.get("partial_rotary_factor", 1.0)
    dim, base = int(head_dim * share), config["rope_theta"]
    count = (dim + 1) // 2
    if scaling["rope_type"] == "proportional":
        dim, count = head_dim, int(share * head_dim // 2)
    if scaling["rope_type"] == "dynamic" and seq_len > config["max_position_embeddings"]:
        factor, trained = scaling["factor"], config["max_position_embeddings"]
        base = base * ((factor * torch.tensor(seq_len) / trained) - (factor - 1)) ** (dim / (dim - 2))
    exponents = torch.arange(0, 2 * count, 2, dtype=torch.float) / dim
    powers = (base ** exponents).numpy()
    exact = np.longdouble(np.float32(float(base))) ** exponents.numpy().astype(np.longdouble)
    return [pair for pair in range(count // 32 * 32, count) if powers[pair] != exact[pair].astype(np.float32)]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--count", type=int, default=240)
    arguments.add_argument("--seed", type=int, default=13)
    options = arguments.parse_args()
    json.dump(frequency_bits_cases(options.count, options.seed), sys.stdout)


if __name__ == "__main__":
    main()
