"""Caches as simulate.py reads them: how each rounds keys and values, and how many bytes that takes."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

BLOCK = 32
"""Elements of a block, and tokens of a group."""
TAIL = 32
"""Tokens beyond a group that must follow before it is closed, as kOpenTokens in src/attention/channel_group.h."""


def f16(x):
    return x.clamp(-65504, 65504).half().float()


def blocks_of(x):
    return x.unflatten(-1, (-1, BLOCK))


def q8_0(x):
    blocks = blocks_of(x)
    scale = blocks.abs().amax(-1, keepdim=True) / 127
    codes = blocks * inverse_of(scale)
    codes = torch.sign(codes) * torch.floor(codes.abs() + 0.5)
    return (codes * f16(scale)).flatten(-2)


def inverse_of(scale):
    return torch.where(scale == 0, 0, 1 / scale)


def q4_scales(blocks):
    farthest = torch.gather(blocks, -1, blocks.abs().argmax(-1, keepdim=True))
    return farthest / -8


def q4_with(blocks, scale, inverse):
    codes = torch.floor((blocks * inverse + 8.5).clamp(0, 15.5)).clamp(max=15)
    return (codes - 8) * f16(scale)


def q4_0(x):
    blocks = blocks_of(x)
    scale = q4_scales(blocks)
    return q4_with(blocks, scale, inverse_of(scale)).flatten(-2)


def q4_best(x):
    """Blocks of q4_0 with the scale of ten, from 0.75 to 1.2 times q4_0's, that has the smallest squared error."""
    blocks = blocks_of(x)
    best, least = None, None
    for factor in torch.linspace(0.75, 1.2, 10):
        scale = f16(q4_scales(blocks) * factor)
        found = q4_with(blocks, scale, inverse_of(scale))
        error = (found - blocks).square().sum(-1, keepdim=True)
        best = found if best is None else torch.where(error < least, found, best)
        least = error if least is None else torch.minimum(least, error)
    return best.flatten(-2)


def short_scale(scale):
    """A scale as q4_channel stores it: an f16 with three bits of its mantissa."""
    bits = scale.clamp(max=65504).half().view(torch.int16).int()
    return (((bits + 64) >> 7).clamp(max=0xF7) << 7).to(torch.int16).view(torch.float16).float()


def rounded_with(x, scale, zero, most):
    codes = torch.floor(((x - zero) * inverse_of(scale) + 0.5).clamp(0, most + 0.5)).clamp(max=most)
    return codes, codes * scale + zero


def with_zeros(x, bits, dim):
    """Rounds elements along `dim` with one scale and one zero, as store_channel_group() in src/attention/channel_group.cpp does for four bits."""
    most = 2**bits - 1
    low, high = x.amin(dim, keepdim=True), x.amax(dim, keepdim=True)
    scale = short_scale((high - low) / (most + 0.5))
    return rounded_with(x, scale, f16((low + high) * 0.5 - most / 2 * scale), most)[1]


def with_best_zeros(x, bits, dim):
    """As with_zeros(), with the smallest squared error of five neighboring scales, and of three zeros for each, by least squares."""
    most = 2**bits - 1
    low, high = x.amin(dim, keepdim=True), x.amax(dim, keepdim=True)
    usual = short_scale((high - low) / (most + 0.5))
    best, least = None, None
    for factor in (0.75, 0.875, 1, 1.125, 1.25):
        scale = short_scale(usual * factor)
        zero = f16((low + high) * 0.5 - most / 2 * scale)
        for _ in range(3):
            codes, found = rounded_with(x, scale, zero, most)
            error = (found - x).square().sum(dim, keepdim=True)
            best = found if best is None else torch.where(error < least, found, best)
            least = error if least is None else torch.minimum(least, error)
            zero = f16((x - codes * scale).mean(dim, keepdim=True))
    return best


def per_channel(bits, rounded=with_zeros):
    """Groups of 32 tokens, each channel with its scale and zero."""
    return lambda x: rounded(x.unflatten(-2, (-1, BLOCK)), bits, -2).flatten(-3, -2)


def per_token(bits):
    """Rows in blocks of 32 elements, each with a scale and a zero."""
    return lambda x: with_zeros(blocks_of(x), bits, -1).flatten(-2)


def hadamard(dim):
    """The orthonormal Hadamard matrix, which is its own inverse."""
    matrix = torch.ones(1, 1)
    while len(matrix) < dim:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    return matrix / dim**0.5


@dataclass
class Rows:
    """How keys or values are rounded, and the bytes of 32 elements."""

    rounded: Callable = lambda x: x
    bytes: float = 64
    has_hadamard: bool = False


@dataclass
class Cache:
    """A cache with keys and values in rows or groups. A grouped one keeps the newest tokens in f16 and the first 32 in q8_0, as q4_channel does."""

    name: str
    keys: Rows
    values: Rows
    are_keys_raw: bool = False
    is_grouped: bool = True

    def closed(self, tokens):
        """How many tokens of a cache of `tokens` its last one reads rounded."""
        return (tokens - TAIL).clamp(min=0) // BLOCK * BLOCK if self.is_grouped else tokens

    def forms(self, rows, x, rotate=None, are_raw=False):
        """Keys or values as read while their group is open, and when it is closed. `rotate` is given for keys."""
        matrix = hadamard(x.shape[-1]) if rows.has_hadamard else None
        turned = lambda each: each if matrix is None else each @ matrix
        if not are_raw and rotate is not None:
            x = rotate(x)
        opened = turned(x)
        if self.is_grouped:
            opened = f16(opened)
        closed = rows.rounded(opened)
        if self.is_grouped:
            closed[..., :BLOCK, :] = q8_0(opened[..., :BLOCK, :])
        return [rotate(turned(form)) if are_raw else turned(form) for form in (opened, closed)]

    def forms_of_keys(self, raw, rotate):
        return self.forms(self.keys, raw, rotate, self.are_keys_raw)

    def forms_of_values(self, values):
        return self.forms(self.values, values)

    def share_of_f16(self, tokens):
        """Bytes of keys and values of a cache of so many tokens, which are whole pages, relative to f16."""
        page = self.keys.bytes + self.values.bytes
        pages = tokens // BLOCK
        if not self.is_grouped:
            return page / 128
        closed = int(self.closed(torch.tensor(tokens))) // BLOCK
        return ((pages - closed) * 128 + 2 * 34 + (closed - 1) * page) / (pages * 128)


F16 = Rows(rounded=torch.clone)
Q4_0 = Rows(q4_0, 18)
BEST = Rows(q4_best, 18)
TURNED = Rows(q4_best, 18, has_hadamard=True)
CHANNELS = {bits: Rows(per_channel(bits), 4 * bits + 3) for bits in (4, 3, 2)}
BEST_CHANNELS = Rows(per_channel(4, with_best_zeros), 19)
ZEROS = {bits: Rows(per_token(bits), 4 * bits + 3) for bits in (3, 2)}

EXACT = Cache("`f32`", Rows(), Rows(), is_grouped=False)
Q4_CHANNEL = Cache("`q4_channel`", CHANNELS[4], Q4_0, are_keys_raw=True)
CACHES = [
    Cache("`q8_0`", Rows(q8_0, 34), Rows(q8_0, 34), is_grouped=False),
    Cache("`q4_0`", Q4_0, Q4_0, is_grouped=False),
    Cache("4 bits per token", BEST, BEST),
    Cache("4 bits per token, Hadamard", TURNED, TURNED),
    Q4_CHANNEL,
    Cache("`q4_channel`, best scales", BEST_CHANNELS, BEST, are_keys_raw=True),
    Cache("keys 3 bits per channel", CHANNELS[3], Q4_0, are_keys_raw=True),
    Cache("keys 3 bits, values 3 bits", CHANNELS[3], ZEROS[3], are_keys_raw=True),
    Cache("keys 2 bits per channel", CHANNELS[2], Q4_0, are_keys_raw=True),
    Cache("keys 2 bits, values 2 bits", CHANNELS[2], ZEROS[2], are_keys_raw=True),
]
"""What is compared."""
PARTS = [
    Cache("only keys of `q4_channel`", CHANNELS[4], F16, are_keys_raw=True),
    Cache("only values of `q4_channel`", F16, Q4_0, are_keys_raw=True),
]
"""Which part of q4_channel loses what. What isn't named is f16."""
