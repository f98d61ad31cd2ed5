// Activation functions of the feed-forward layer.
#pragma once

#include <cstddef>

namespace ropewalk {

// silu(x) = x / (1 + e^-x)                                             Elfwing et al. 2017 (arXiv:1702.03118)
// gelu(x) = x · Phi(x), Phi the normal distribution function           Hendrycks and Gimpel 2016 (arXiv:1606.08415)
// gelu_tanh(x): approximation of gelu from the same paper, x / (1 + e^(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3)
// relu2(x): max(x, 0)^2                                               So et al. 2021 (arXiv:2109.08668)
// xielu(x): see activate_xielu()
// relu(x): max(x, 0)
enum class Activation : int { silu, gelu, gelu_tanh, relu2, xielu, clamped_silu, relu, tanh };

// x = activation(x) for `count` elements. relu2 is rounded once. The others are within 3e-7 · |x|. silu is also within 4 units in the last
// place down to -87.3. For numbers so far below zero that the result is almost 0 in f32, it is 0. For -infinity it is NaN.
void activate(Activation activation, float* x, std::ptrdiff_t count);

// The learned parameters of xielu as they are stored, one number each.
struct XieluParameters {
  const float *alpha_p, *alpha_n, *beta, *epsilon;
};

// x = P x^2 + beta x above zero, else N (expm1(min(x, epsilon)) - x) + beta x, with P = softplus(alpha_p) and N = beta + softplus(alpha_n):
// Huang and Schlag 2024 (arXiv:2411.13010). Within 1e-6 · |x| if P, N and beta are about 1.
void activate_xielu(const XieluParameters& parameters, float* x, std::ptrdiff_t count);

// x = activation(gate) · x: gated linear units (Shazeer 2020, arXiv:2002.05202). Overwrites gate.
void activate_gated(Activation activation, float* gate, float* x, std::ptrdiff_t count);

// x = (clamp(x, -limit, limit) + 1) · g / (1 + e^(-slope g)) with g = min(gate, limit): clamped_silu if it is gated (gpt-oss). Overwrites
// gate.
void activate_clamped(float slope, float limit, float* gate, float* x, std::ptrdiff_t count);

// x = 1 / (1 + e^-x), within 3e-7.
void sigmoid(float* x, std::ptrdiff_t count);

// x = ln(1 + e^x), as softplus_f32().
void softplus(float* x, std::ptrdiff_t count);

// x = max(0, x - mean - deviations · standard deviation): keeps the largest elements of a row that is normally distributed (Gemma 3n).
void keep_largest(float deviations, float* x, int count);

}  // namespace ropewalk
