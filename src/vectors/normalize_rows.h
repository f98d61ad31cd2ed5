// Normalizes rows of activations, in parallel.
#pragma once

#include "vectors/normalize.h"

namespace ropewalk {

// Normalizes each of `count` rows of `size` floats in place. Row i is multiplied by weight i % weights of `weight`, [weights][size]. Does
// nothing without a weight.
void normalize_rows(const Norm& norm, float* rows, int count, int size, const float* weight, int weights = 1);

// Returns the normalized rows, in `out`, or `rows` itself without a weight. `weight` and `bias` as in normalize().
const float* normalized_rows(const Norm& norm, const float* rows, int count, int size, const float* weight, const float* bias, float* out);

}  // namespace ropewalk
