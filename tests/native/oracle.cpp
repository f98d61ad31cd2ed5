#include "native/oracle.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ropewalk::oracle {

const Real kPi = std::numbers::pi_v<Real>;

std::vector<int> axes(const RopeConfig& config) {
  const int pairs = resolved_rotary_dim(config) / 2;
  std::vector<int> axis(pairs, 0);
  if (config.rope_type == RopeType::axial) {
    int first = 0;
    for (int i = 0; i < static_cast<int>(config.axes_dim.size()); ++i) {
      for (int j = 0; j < config.axes_dim[i] / 2; ++j) {
        axis[config.axes_layout == AxesLayout::interleaved ? j * static_cast<int>(config.axes_dim.size()) + i : first + j] = i;
      }
      first += static_cast<int>(config.axes_dim[i]) / 2;
    }
    return axis;
  }
  if (config.mrope_section.empty()) return axis;
  const std::vector<int> section(config.mrope_section.begin(), config.mrope_section.end());
  switch (config.mrope_layout) {
    case MropeLayout::chunked:
    case MropeLayout::vision:
      for (int j = 0, part = 0, end = section[0]; j < pairs; ++j) {
        while (j == end) end += section[++part];
        axis[j] = part;
      }
      break;
    case MropeLayout::interleaved:
      for (int j = 1; j < 3 * section[1]; j += 3) axis[j] = 1;
      for (int j = 2; j < 3 * section[2]; j += 3) axis[j] = 2;
      break;
    case MropeLayout::ernie:
      for (int j = 0; j < section[0] + section[1]; ++j) axis[j] = j % 2 == 0 ? 1 : 2;
      break;
  }
  return axis;
}

Real xpos_zeta(int pair, Real dim) { return (2 * pair + 0.4L * dim) / (1.4L * dim); }

int index_of_x(Pairing pairing, int j, int) { return pairing == Pairing::half ? j : 2 * j; }
int index_of_y(Pairing pairing, int j, int pairs) { return pairing == Pairing::half ? j + pairs : 2 * j + 1; }

std::vector<Real> rotate(const std::vector<Real>& span, const std::vector<Real>& cos, const std::vector<Real>& sin, Pairing read,
                         Pairing write) {
  const int pairs = static_cast<int>(span.size() / 2);
  std::vector<Real> rotated(span.size());
  for (int j = 0; j < pairs; ++j) {
    const Real x = span[index_of_x(read, j, pairs)], y = span[index_of_y(read, j, pairs)];
    rotated[index_of_x(write, j, pairs)] = x * cos[j] - y * sin[j];
    rotated[index_of_y(write, j, pairs)] = x * sin[j] + y * cos[j];
  }
  return rotated;
}

std::vector<Real> rotate_by(const std::vector<Real>& span, const std::vector<Real>& angles, Real scale, Pairing read, Pairing write) {
  std::vector<Real> cos, sin;
  for (const Real angle : angles) {
    cos.push_back(std::cos(angle) * scale);
    sin.push_back(std::sin(angle) * scale);
  }
  return rotate(span, cos, sin, read, write);
}

namespace {

struct Format {
  int mantissa_bits;
  int exponent_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int smallest_exponent() const { return 1 - bias(); }
  std::uint32_t infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  std::uint32_t sign() const { return 1u << (mantissa_bits + exponent_bits); }
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return {23, 8};
    case DType::f16: return {10, 5};
    case DType::bf16: return {7, 8};
  }
  return {};
}

}  // namespace

Real decode(std::uint32_t bits, DType dtype) {
  const Format format = format_of(dtype);
  const std::uint32_t magnitude = bits & ~format.sign();
  const Real sign = (bits & format.sign()) != 0 ? -1 : 1;
  if (magnitude > format.infinity()) return std::numeric_limits<Real>::quiet_NaN();
  if (magnitude == format.infinity()) return sign * std::numeric_limits<Real>::infinity();
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const std::uint32_t fraction = magnitude & ((1u << format.mantissa_bits) - 1);
  const std::uint32_t significand = exponent == 0 ? fraction : fraction | 1u << format.mantissa_bits;
  return sign * std::ldexp(static_cast<Real>(significand), std::max(exponent, 1) - format.bias() - format.mantissa_bits);
}

Real ulp(Real value, DType dtype) {
  const Format format = format_of(dtype);
  const int exponent = value == 0 ? format.smallest_exponent() : std::max(std::ilogb(value), format.smallest_exponent());
  return std::ldexp(Real{1}, exponent - format.mantissa_bits);
}

std::uint32_t encode(Real value, DType dtype) {
  const Format format = format_of(dtype);
  const std::uint32_t sign = std::signbit(value) ? format.sign() : 0;
  if (std::isnan(value)) return sign | format.infinity() | 1u << (format.mantissa_bits - 1);
  const Real magnitude = std::fabs(value);
  if (magnitude >= std::ldexp(Real{1}, format.bias() + 1)) return sign | format.infinity();
  const Real unit = ulp(magnitude, dtype);
  const std::uint32_t units = static_cast<std::uint32_t>(std::nearbyint(magnitude / unit));  // to nearest even
  const int exponent = std::ilogb(unit) + format.mantissa_bits;
  // a carry goes into the exponent, and from the largest finite number to infinity
  return sign | ((static_cast<std::uint32_t>(exponent + format.bias() - 1) << format.mantissa_bits) + units);
}

}  // namespace ropewalk::oracle
