// References for the tests, in long double, written from the sources named beside each and not from src/.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "base/storage.h"
#include "rope/config.h"

namespace ropewalk::oracle {

// 64 bits of mantissa (x86-64) or 113 (AArch64 Linux): errors of the references are 2^-11 of the f64 errors they measure.
using Real = long double;
static_assert(std::numeric_limits<Real>::digits >= 64, "the references need a long double wider than double: x86-64 or AArch64 Linux");

extern const Real kPi;

// ---- Frequencies. rope_census.md 2.2 (transformers' modeling_rope_utils.py) and mathematics.md 2 and 3.

// base^(-2j/dim), j in [0, pairs). RoFormer, section 3.2.2.
std::vector<Real> plain(Real base, Real dim, int pairs);

// The base of NTK-aware scaling: base · scale^(dim/(dim-2)).
Real ntk_base(Real base, Real scale, Real dim);

// find_correction_dim: the pair index that makes `rotations` turns over `length` positions.
Real correction_dim(Real rotations, Real dim, Real base, Real length);

struct Range {
  Real low;
  Real high;
};

// find_correction_range: between which pairs YaRN's ramp runs.
Range correction_range(Real beta_fast, Real beta_slow, Real dim, Real base, Real length, bool truncate);

// w (1 - ramp) + w/factor · ramp, the ramp from 0 at range.low to 1 at range.high, over the pair index.
std::vector<Real> blend(const std::vector<Real>& frequencies, Real factor, Range range);

// The YaRN paper's own ramp, over the rotations r(j) inside `length`: divided below alpha, kept above beta. mathematics.md 3.
std::vector<Real> blend_by_rotations(const std::vector<Real>& frequencies, Real factor, Real length, Real alpha, Real beta);

// The YaRN authors' first NTK-by-parts, LlamaPartNTKScaledRotaryEmbedding: NTK-aware into linear over 1.25 … 0.75 rotations, and kept
// into that over 16 … 2. rope_census.md 2.2.
std::vector<Real> blend_by_two_ramps(Real base, Real dim, Real factor, Real length, bool truncate);

// g(s, m) = 1 if s <= 1 else 0.1 m ln s + 1.
Real mscale(Real factor, Real m = 1);

// What Llama 3 does to one frequency.
Real llama3(Real frequency, Real factor, Real low, Real high, Real length);

struct Plan {
  std::vector<Real> inv_freq;
  Real attention_factor = 1;
  Real softmax_factor = 1;  // on 1/sqrt(head_dim)
};

// The whole plan of a valid config as transformers has it (Compat::hf, Precision::exact), and of the types it does not have as their
// authors do: vLLM's ntk_mix, HunYuan's alpha, jquesnelle/yarn's ntk and dynamic_yarn.
Plan plan(const RopeConfig& config, Real length);

// The axis that turns each pair. rope_census.md 2.2, M-RoPE section rules.
std::vector<int> axes(const RopeConfig& config);

// zeta_j of xPos. rope_census.md 2.2; Sun et al. 2022.
Real xpos_zeta(int pair, Real dim);

// ---- Rotation. mathematics.md 1.

// Index of x and of y of pair j in a span of 2 · pairs elements.
int index_of_x(Pairing pairing, int j, int pairs);
int index_of_y(Pairing pairing, int j, int pairs);

// A span turned by (cos, sin) of each pair, read in one pairing and written in another.
std::vector<Real> rotate(const std::vector<Real>& span, const std::vector<Real>& cos, const std::vector<Real>& sin, Pairing read,
                         Pairing write);

// The same by angles, times `scale`.
std::vector<Real> rotate_by(const std::vector<Real>& span, const std::vector<Real>& angles, Real scale, Pairing read, Pairing write);

// ---- Storage. IEEE 754-2019, sections 3.4 and 4.3.1.

// The value of a bit pattern; NaN and infinity included.
Real decode(std::uint32_t bits, DType dtype);

// The bit pattern of a value rounded once, to nearest even. NaN becomes some NaN.
std::uint32_t encode(Real value, DType dtype);

// Distance from a finite value to its neighbours in `dtype`.
Real ulp(Real value, DType dtype);

}  // namespace ropewalk::oracle
