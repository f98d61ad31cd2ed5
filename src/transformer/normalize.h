// Normalization of one token's vector.
#pragma once

#include <cstddef>

namespace ropewalk {

// rms: x / sqrt(mean(x^2) + epsilon) · weight        Zhang and Sennrich 2019 (arXiv:1910.07467)
// layer: (x - mean) / sqrt(variance + epsilon) · weight + bias     Ba et al. 2016 (arXiv:1607.06450)
enum class NormKind : int { rms, layer };

struct Norm {
  NormKind kind = NormKind::rms;
  float epsilon = 1e-5f;
};

// `weight` is [size]; `bias` [size] or null, and not read for rms. out may be x. Sums and differences from the mean are made in f64: the
// one so that the result does not depend on how many lanes they are made in, the other because a mean of f32 would be off by more than
// small deviations are.
void normalize(const Norm& norm, const float* x, int size, const float* weight, const float* bias, float* out);

}  // namespace ropewalk
