// Normalization of vectors: RMSNorm and LayerNorm.
#pragma once

#include <cstddef>

namespace ropewalk {

// rms: x / sqrt(mean(x^2) + epsilon) · weight        Zhang and Sennrich 2019 (arXiv:1910.07467)
// layer: (x - mean) / sqrt(variance + epsilon) · weight + bias     Ba et al. 2016 (arXiv:1607.06450)
enum class NormKind : int { rms, layer };

#include "base/fields.h"
#include "vectors/norm_fields.def"

// Normalizes one vector. `weight` and `bias` are [size] or null; `bias` is ignored for rms. out may be x. Sums are f64, so that the
// result doesn't depend on the number of lanes. Differences from the mean are f64 too, because the error of an f32 mean can exceed small
// deviations.
void normalize(const Norm& norm, const float* x, int size, const float* weight, const float* bias, float* out);

}  // namespace ropewalk
