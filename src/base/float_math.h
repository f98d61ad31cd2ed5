// exp, softplus and tanh in f32 from + − × ÷ alone, so that every compiler, engine and kernel gives the same bits.
// float_math_wasmsimd.h has the four-lane versions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ropewalk {

constexpr float kExpUnderflow = -87.3f;  // below this exp returns 0, because the result would be subnormal

// exp(x) for x <= 88, within 1.5 ulp; 0 below kExpUnderflow, NaN for NaN.
// x = n ln 2 + r with |r| <= ln 2 / 2. exp(r) is its Taylor series. The first omitted term is below 2^-27.
inline float exp_f32(float x) {
  if (x < kExpUnderflow) return 0;
  const float shifted = x * 0x1.715476p+0f + 0x1.8p23f;  // adding 1.5 · 2^23 rounds to an integer in the low bits
  const float n = shifted - 0x1.8p23f;
  const float r = (x - n * 0x1.62ep-1f) - n * 0x1.0bfbe8p-15f;  // ln 2 in two parts: n times the first is exact
  float sum = 1.0f / 5040;
  sum = sum * r + 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  const float exp_r = (sum * r) * r + r + 1;
  const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3F800000u;  // 2^n
  return exp_r * std::bit_cast<float>(power);
}

// 1 / (1 + e^-x). The power never exceeds 1.
inline float sigmoid_f32(float x) {
  const float power = exp_f32(-std::fabs(x));
  return (x < 0 ? power : 1) / (1 + power);
}

// ln(1 + e^x) = max(x, 0) + ln(1 + y) with y = e^-|x|, within 4 ulp. ln(1 + y) = 2 artanh(y / (2 + y)): z + z^3 / 3 + z^5 / 5 + …, where
// z <= 1/3, so the first omitted term is below 2^-27 of the sum.
inline float softplus_f32(float x) {
  const float y = exp_f32(-std::fabs(x));
  const float z = y / (2 + y), z2 = z * z;
  float sum = 1.0f / 15;
  sum = sum * z2 + 1.0f / 13;
  sum = sum * z2 + 1.0f / 11;
  sum = sum * z2 + 1.0f / 9;
  sum = sum * z2 + 1.0f / 7;
  sum = sum * z2 + 1.0f / 5;
  sum = sum * z2 + 1.0f / 3;
  const float rest = 2 * (z + z * z2 * sum);
  return x > 0 ? x + rest : rest;
}

// tanh(x) within 3 ulp, NaN for NaN. Near zero it is a continued fraction, because 1 − 2/(exp(2x) + 1) would cancel.
inline float tanh_f32(float x) {
  const float magnitude = std::fabs(x);
  if (magnitude < 0.625f) {
    const float x2 = x * x;
    return x * (((x2 + 105) * x2 + 945) / ((15 * x2 + 420) * x2 + 945));
  }
  const float clamped = 10.0f < magnitude ? 10.0f : magnitude;  // tanh(10) rounds to 1
  return std::copysign(1 - 2 / (exp_f32(2 * clamped) + 1), x);
}

}  // namespace ropewalk
