// Reference implementations for the tests, in long double. They follow the sources named here, not src/.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "base/storage.h"
#include "rope/config.h"

namespace ropewalk::oracle {

// 64 bits of mantissa (x86-64) or 113 (AArch64 Linux): the reference's errors are 2^-11 of the f64 errors it measures.
using Real = long double;
static_assert(std::numeric_limits<Real>::digits >= 64, "the oracle needs a long double wider than double: x86-64 or AArch64 Linux");

extern const Real kPi;

// ---- Frequencies: transformers 5.24, src/transformers/modeling_rope_utils.py, and the YaRN paper (Peng et al. 2023,
// arXiv:2309.00071, section 3).

// base^(-2j/dim), j in [0, pairs). RoFormer (Su et al. 2021, arXiv:2104.09864), section 3.2.2.
std::vector<Real> plain(Real base, Real dim, int pairs);

// The base of NTK-aware scaling: base · scale^(dim/(dim-2)).
Real ntk_base(Real base, Real scale, Real dim);

// find_correction_dim: the pair index with `rotations` full rotations over `length` positions.
Real correction_dim(Real rotations, Real dim, Real base, Real length);

struct Range {
  Real low;
  Real high;
};

// find_correction_range: the first and last pair of YaRN's ramp.
Range correction_range(Real beta_fast, Real beta_slow, Real dim, Real base, Real length, bool truncate);

// w (1 - ramp) + w/factor · ramp. The ramp runs over the pair index, from 0 at range.low to 1 at range.high.
std::vector<Real> blend(const std::vector<Real>& frequencies, Real factor, Range range);

// The ramp as the YaRN paper defines it (section 3.2): over the rotations r(j) within `length`. Pairs below alpha are
// divided by the factor, pairs above beta are kept.
std::vector<Real> blend_by_rotations(const std::vector<Real>& frequencies, Real factor, Real length, Real alpha, Real beta);

// The YaRN authors' first NTK-by-parts, jquesnelle/yarn, scaled_rope/, LlamaPartNTKScaledRotaryEmbedding: a ramp from
// NTK-aware to linear over 1.25 … 0.75 rotations, and a ramp from unscaled to that result over 16 … 2 rotations.
std::vector<Real> blend_by_two_ramps(Real base, Real dim, Real factor, Real length, bool truncate);

// g(s, m) = 1 if s <= 1 else 0.1 m ln s + 1.
Real mscale(Real factor, Real m = 1);

// One frequency scaled by Llama 3's rule.
Real llama3(Real frequency, Real factor, Real low, Real high, Real length);

struct Plan {
  std::vector<Real> inv_freq;
  Real attention_factor = 1;
  Real softmax_factor = 1;  // on 1/sqrt(head_dim)
};

// The plan of a valid config as transformers computes it (Compat::hf, Precision::exact). Types that transformers lacks
// follow their authors: vLLM's ntk_mix, HunYuan's alpha, jquesnelle/yarn's ntk and dynamic_yarn.
Plan plan(const RopeConfig& config, Real length);

// The position axis of each pair: the M-RoPE section rules of transformers' modeling_qwen2_vl.py (chunked, vision),
// modeling_qwen3_vl.py (interleaved) and modeling_ernie4_5_vl_moe.py (ernie).
std::vector<int> axes(const RopeConfig& config);

// zeta_j of xPos (Sun et al. 2022, arXiv:2212.10554), as lucidrains/rotary-embedding-torch computes it.
Real xpos_zeta(int pair, Real dim);

// ---- Rotation: RoFormer, equations 14 and 15.

// Index of x and of y of pair j in a span of 2 · pairs elements.
int index_of_x(Pairing pairing, int j, int pairs);
int index_of_y(Pairing pairing, int j, int pairs);

// A span rotated by each pair's cos and sin, read in one pairing and written in another.
std::vector<Real> rotate(const std::vector<Real>& span, const std::vector<Real>& cos, const std::vector<Real>& sin, Pairing read,
                         Pairing write);

// The same from angles, multiplied by `scale`.
std::vector<Real> rotate_by(const std::vector<Real>& span, const std::vector<Real>& angles, Real scale, Pairing read, Pairing write);

// ---- Storage. IEEE 754-2019, sections 3.4 and 4.3.1.

// The value of a bit pattern; NaN and infinity included.
Real decode(std::uint32_t bits, DType dtype);

// The bit pattern of a value rounded once, to nearest even. NaN becomes some NaN.
std::uint32_t encode(Real value, DType dtype);

// Distance from a finite value to its neighbors in `dtype`.
Real ulp(Real value, DType dtype);

}  // namespace ropewalk::oracle
