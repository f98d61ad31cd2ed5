#include "vectors/activation.h"

#include <wasm_simd128.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/float_math_wasmsimd.h"
#include "base/reproducible_math.h"

namespace ropewalk {
namespace {

// x / (1 + e^-t). Negative t use the equivalent x e^t / (1 + e^t), so that the power never exceeds 1.
v128_t gated_by_sigmoid(v128_t x, v128_t t) {
  const v128_t power = exp_f32x4(wasm_f32x4_neg(wasm_f32x4_abs(t)));
  const v128_t is_negative = wasm_f32x4_lt(t, wasm_f32x4_splat(0));
  const v128_t numerator = wasm_v128_bitselect(wasm_f32x4_mul(x, power), x, is_negative);
  return wasm_f32x4_div(numerator, wasm_f32x4_add(wasm_f32x4_splat(1), power));
}

v128_t silu(v128_t x) { return gated_by_sigmoid(x, x); }

v128_t gelu_tanh(v128_t x) {
  const v128_t cube = wasm_f32x4_mul(wasm_f32x4_mul(x, x), x);
  const v128_t inner = wasm_f32x4_add(x, wasm_f32x4_mul(wasm_f32x4_splat(0.044715f), cube));
  return gated_by_sigmoid(x, wasm_f32x4_mul(wasm_f32x4_splat(1.5957691216057308f), inner));  // 2 sqrt(2/pi)
}

// Uses erf by Abramowitz and Stegun, 7.1.26, whose error is at most 1.5e-7.
v128_t gelu(v128_t x) {
  static constexpr float kConstants[] = {0.70710678f,  1,   0.3275911f, 1.061405429f, -1.453152027f, 1.421413741f, -0.284496736f,
                                         0.254829592f, 0.5f};
  const LoadedConstants c(kConstants);
  const v128_t z = wasm_f32x4_mul(wasm_f32x4_abs(x), c[0]), one = c[1];
  const v128_t t = wasm_f32x4_div(one, wasm_f32x4_add(one, wasm_f32x4_mul(c[2], z)));
  const v128_t sum = polynomial<4, 7>(c, t, c[3]);
  const v128_t tail = wasm_f32x4_mul(wasm_f32x4_mul(sum, t), exp_f32x4(wasm_f32x4_neg(wasm_f32x4_mul(z, z))));  // 1 - erf(z)
  const v128_t half_tail = wasm_f32x4_mul(c[8], tail);
  const v128_t is_negative = wasm_f32x4_lt(x, wasm_f32x4_splat(0));
  return wasm_f32x4_mul(x, wasm_v128_bitselect(half_tail, wasm_f32x4_sub(one, half_tail), is_negative));
}

v128_t relu(v128_t x) { return wasm_v128_andnot(x, wasm_f32x4_lt(x, wasm_f32x4_splat(0))); }  // unlike max, keeps NaN on every processor

v128_t relu2(v128_t x) {
  const v128_t positive = relu(x);
  return wasm_f32x4_mul(positive, positive);
}

// e^x - 1 - x for x <= 0. Near zero it is Taylor's series, because the sum would cancel.
v128_t exp_less_line(v128_t x) {
  const v128_t one = wasm_f32x4_splat(1);
  static constexpr float kConstants[] = {1.0f / 40320, 1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f};
  const LoadedConstants c(kConstants);
  const v128_t sum = polynomial<1, 6>(c, x, c[0]);
  const v128_t near = wasm_f32x4_mul(sum, wasm_f32x4_mul(x, x));
  const v128_t far = wasm_f32x4_sub(wasm_f32x4_sub(exp_f32x4(x), one), x);
  return wasm_v128_bitselect(near, far, wasm_f32x4_gt(x, wasm_f32x4_splat(-0.5f)));
}

float reproducible_softplus(float x) { return static_cast<float>(reproducible_log(1 + reproducible_exp(x))); }

// Replaces each x by act(x), four at a time.
template <class Act>
void replace_each(float* x, std::ptrdiff_t count, Act&& act) {
  std::ptrdiff_t i = 0;
  for (; i + 4 <= count; i += 4) wasm_v128_store(x + i, act(wasm_v128_load(x + i)));
  if (i == count) return;
  float last[4] = {};
  std::memcpy(last, x + i, (count - i) * sizeof(float));
  wasm_v128_store(last, act(wasm_v128_load(last)));
  std::memcpy(x + i, last, (count - i) * sizeof(float));
}

// The same with a function that is inlined.
template <v128_t (*Act)(v128_t)>
void replace_each(float* x, std::ptrdiff_t count) {
  replace_each(x, count, [](v128_t lanes) { return Act(lanes); });
}

}  // namespace

void activate(Activation activation, float* x, std::ptrdiff_t count) {
  switch (activation) {
    case Activation::silu:
    case Activation::clamped_silu: return replace_each<silu>(x, count);
    case Activation::gelu: return replace_each<gelu>(x, count);
    case Activation::gelu_tanh: return replace_each<gelu_tanh>(x, count);
    case Activation::relu2: return replace_each<relu2>(x, count);
    case Activation::relu: return replace_each<relu>(x, count);
    case Activation::tanh: return replace_each<tanh_f32x4>(x, count);
    case Activation::xielu: return;  // has parameters
  }
}

void activate_xielu(const XieluParameters& parameters, float* x, std::ptrdiff_t count) {
  const v128_t beta = wasm_f32x4_splat(*parameters.beta), limit = wasm_f32x4_splat(*parameters.epsilon);
  const v128_t above = wasm_f32x4_splat(reproducible_softplus(*parameters.alpha_p));
  const v128_t below = wasm_f32x4_add(beta, wasm_f32x4_splat(reproducible_softplus(*parameters.alpha_n)));
  replace_each(x, count, [=](v128_t lanes) {
    const v128_t line = wasm_f32x4_mul(beta, lanes), limited = wasm_f32x4_pmin(lanes, limit);
    const v128_t square = wasm_f32x4_mul(above, wasm_f32x4_mul(lanes, lanes));
    const v128_t curve = wasm_f32x4_add(exp_less_line(limited), wasm_f32x4_sub(limited, lanes));  // expm1(limited) - x
    const v128_t is_positive = wasm_f32x4_gt(lanes, wasm_f32x4_splat(0));
    return wasm_f32x4_add(line, wasm_v128_bitselect(square, wasm_f32x4_mul(below, curve), is_positive));
  });
}

void activate_gated(Activation activation, float* gate, float* x, std::ptrdiff_t count) {
  activate(activation, gate, count);
  std::ptrdiff_t i = 0;
  for (; i + 4 <= count; i += 4) wasm_v128_store(x + i, wasm_f32x4_mul(wasm_v128_load(x + i), wasm_v128_load(gate + i)));
  for (; i < count; ++i) x[i] *= gate[i];
}

void activate_clamped(float slope, float limit, float* gate, float* x, std::ptrdiff_t count) {
  replace_each(gate, count, [=](v128_t g) {
    g = wasm_f32x4_pmin(g, wasm_f32x4_splat(limit));
    return gated_by_sigmoid(g, wasm_f32x4_mul(wasm_f32x4_splat(slope), g));
  });
  for (std::ptrdiff_t i = 0; i < count; ++i) x[i] = (std::clamp(x[i], -limit, limit) + 1) * gate[i];
}

void sigmoid(float* x, std::ptrdiff_t count) {
  replace_each(x, count, [](v128_t lanes) { return gated_by_sigmoid(wasm_f32x4_splat(1), lanes); });
}

void softplus(float* x, std::ptrdiff_t count) { replace_each(x, count, softplus_f32x4); }

void keep_largest(float deviations, float* x, int count) {
  double mean = 0, squares = 0;
  for (int i = 0; i < count; ++i) mean += x[i];
  mean /= count;
  for (int i = 0; i < count; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const float min_kept = static_cast<float>(mean + deviations * std::sqrt(squares / count));
  for (int i = 0; i < count; ++i) x[i] = x[i] < min_kept ? 0 : x[i] - min_kept;
}

}  // namespace ropewalk
