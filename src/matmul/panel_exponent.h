// The f16 numbers of a panel, which are stored times a power of two, so that few or none are subnormal.
//
// Scales of K formats and of small weights are often below 2^-14, where f16 is subnormal. So is the f32 with the same bits, by which
// kernels convert it, and x86-64 processors take tens of cycles to multiply a subnormal number (on Zen 5, one token times Q8_0 of such
// scales took 2.5 times as long). Times 2^10 every f16 is normal.
#pragma once

#include <cstdint>

#include "matmul/weight_format.h"

namespace ropewalk {

constexpr int kLargestPanelExponent = 10;

// The largest n, at most kLargestPanelExponent, with which no f16 of the panel times 2^n overflows. 0 if one is infinite or NaN, or if the
// format has none.
int panel_exponent(WeightFormat format, const std::uint8_t* panel, int columns);

// Whether all f16 numbers of a panel are finite, if the format has any.
bool has_finite_f16(WeightFormat format, const std::uint8_t* panel, int columns);

// Multiplies the f16 numbers of a panel by 2^n. Exact for n up to panel_exponent(), and for taking back such an n.
void scale_panel(WeightFormat format, std::uint8_t* panel, int columns, int n);

}  // namespace ropewalk
