#include "native/oracle.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ropewalk::oracle {

const Real kPi = std::numbers::pi_v<Real>;

std::vector<Real> plain(Real base, Real dim, int pairs) {
  std::vector<Real> frequencies;
  for (int j = 0; j < pairs; ++j) frequencies.push_back(std::pow(base, -2 * j / dim));
  return frequencies;
}

Real ntk_base(Real base, Real scale, Real dim) { return base * std::pow(scale, dim / (dim - 2)); }

Real correction_dim(Real rotations, Real dim, Real base, Real length) {
  return dim * std::log(length / (rotations * 2 * kPi)) / (2 * std::log(base));
}

Range correction_range(Real beta_fast, Real beta_slow, Real dim, Real base, Real length, bool truncate) {
  Real low = correction_dim(beta_fast, dim, base, length), high = correction_dim(beta_slow, dim, base, length);
  if (truncate) low = std::floor(low), high = std::ceil(high);
  return {std::max<Real>(low, 0), std::min<Real>(high, dim - 1)};
}

std::vector<Real> blend(const std::vector<Real>& frequencies, Real factor, Range range) {
  if (range.low == range.high) range.high += 0.001L;
  std::vector<Real> blended;
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    const Real ramp = std::clamp<Real>((j - range.low) / (range.high - range.low), 0, 1);
    blended.push_back(frequencies[j] / factor * ramp + frequencies[j] * (1 - ramp));
  }
  return blended;
}

std::vector<Real> blend_by_rotations(const std::vector<Real>& frequencies, Real factor, Real length, Real alpha, Real beta) {
  std::vector<Real> blended;
  for (const Real frequency : frequencies) {
    const Real rotations = length * frequency / (2 * kPi);
    const Real gamma = std::clamp<Real>((rotations - alpha) / (beta - alpha), 0, 1);
    blended.push_back((1 - gamma) * frequency / factor + gamma * frequency);
  }
  return blended;
}

std::vector<Real> blend_by_two_ramps(Real base, Real dim, Real factor, Real length, bool truncate) {
  const Range betas = correction_range(1.25L, 0.75L, dim, base, length, truncate),
              gammas = correction_range(16, 2, dim, base, length, truncate);
  const auto ramp = [](Real j, const Range& range) {
    const Real width = range.high == range.low ? 0.001L : range.high - range.low;
    return std::clamp<Real>((j - range.low) / width, 0, 1);
  };
  const std::vector<Real> kept = plain(base, dim, static_cast<int>(dim / 2)),
                          ntk = plain(ntk_base(base, factor, dim), dim, static_cast<int>(dim / 2));
  std::vector<Real> blended;
  for (std::size_t j = 0; j < kept.size(); ++j) {
    const Real scaled = ntk[j] * (1 - ramp(j, betas)) + kept[j] / factor * ramp(j, betas);
    blended.push_back(kept[j] * (1 - ramp(j, gammas)) + scaled * ramp(j, gammas));
  }
  return blended;
}

Real mscale(Real factor, Real m) { return factor <= 1 ? 1 : 0.1L * m * std::log(factor) + 1; }

Real llama3(Real frequency, Real factor, Real low, Real high, Real length) {
  const Real wavelength = 2 * kPi / frequency;
  if (wavelength < length / high) return frequency;
  if (wavelength > length / low) return frequency / factor;
  const Real t = (length / wavelength - low) / (high - low);
  return (1 - t) * frequency / factor + t * frequency;
}

namespace {

// transformers treats 0 as not given.
Real given_or(const std::optional<double>& value, Real otherwise) { return value.value_or(0) != 0 ? static_cast<Real>(*value) : otherwise; }

Real factor_of(const RopeConfig& config) {
  if (config.factor.has_value()) return *config.factor;
  return static_cast<Real>(*config.max_position_embeddings) / *config.original_max_position_embeddings;
}

// One axis after another as published for FLUX and Wan, then in the order of the layout.
std::vector<Real> axial(const RopeConfig& config, Real base) {
  std::vector<std::vector<Real>> by_axis;
  for (std::size_t axis = 0; axis < config.axes_dim.size(); ++axis) {
    const int dim = static_cast<int>(config.axes_dim[axis]);
    if (config.axes_layout == AxesLayout::shared) {  // Pixtral: inv_freq[axis::axes]
      std::vector<Real> own;
      const std::vector<Real> all = plain(base, resolved_rotary_dim(config), resolved_rotary_dim(config) / 2);
      for (std::size_t j = axis; j < all.size(); j += config.axes_dim.size()) own.push_back(all[j]);
      by_axis.push_back(own);
    } else {
      by_axis.push_back(plain(base, dim, dim / 2));
    }
  }
  std::vector<Real> frequencies;
  if (config.axes_layout == AxesLayout::interleaved) {
    for (std::size_t j = 0; j < by_axis[0].size(); ++j) {
      for (const auto& own : by_axis) frequencies.push_back(own[j]);
    }
    return frequencies;
  }
  for (const auto& own : by_axis) frequencies.insert(frequencies.end(), own.begin(), own.end());
  return frequencies;
}

std::vector<Real> frequencies_without_scaling(const RopeConfig& config, Real base) {
  const int dim = resolved_rotary_dim(config);
  if (config.rope_type == RopeType::axial) return axial(config, base);
  if (config.mrope_section.empty() || config.mrope_layout != MropeLayout::vision)
    return plain(base, config.frequency_dim == 0 ? dim : config.frequency_dim, dim / 2);
  // Qwen2-VL's vision encoder: the frequencies of a head half as wide, once for each axis
  std::vector<Real> frequencies;
  for (const double section : config.mrope_section) {
    for (const Real frequency : plain(base, 2 * section, static_cast<int>(section))) frequencies.push_back(frequency);
  }
  return frequencies;
}

Plan yarn(const RopeConfig& config, Real factor, bool has_temperature) {
  Plan result;
  const Real length = *config.original_max_position_embeddings;
  const Real fast = given_or(config.beta_fast, 32), slow = given_or(config.beta_slow, 1), dim = resolved_rotary_dim(config);
  const std::vector<Real> frequencies = frequencies_without_scaling(config, config.rope_theta);
  if (config.ramp == Ramp::rotations) {
    result.inv_freq = blend_by_rotations(frequencies, factor, length, slow, fast);
  } else if (config.ramp == Ramp::two_ramps) {
    result.inv_freq = blend_by_two_ramps(config.rope_theta, dim, factor, length, config.truncate);
  } else {
    result.inv_freq = blend(frequencies, factor, correction_range(fast, slow, dim, config.rope_theta, length, config.truncate));
  }
  if (!has_temperature) return result;

  const Real all_dim = config.mscale_all_dim.value_or(0);
  if (config.attention_factor.has_value()) {
    result.attention_factor = *config.attention_factor;
  } else if (config.mscale.value_or(0) != 0 && all_dim != 0) {
    result.attention_factor = mscale(factor, *config.mscale) / mscale(factor, all_dim);
  } else {
    result.attention_factor = mscale(factor);
  }
  if (config.family == Family::deepseek && all_dim != 0) result.softmax_factor = mscale(factor, all_dim) * mscale(factor, all_dim);
  return result;
}

Plan longrope(const RopeConfig& config, Real length) {
  Plan result;
  const Real original = *config.original_max_position_embeddings;
  const bool is_long = length > original;
  result.inv_freq = frequencies_without_scaling(config, config.rope_theta);
  for (std::size_t j = 0; j < result.inv_freq.size(); ++j) result.inv_freq[j] /= (is_long ? config.long_factor : config.short_factor)[j];
  const std::optional<double> given = is_long ? config.long_mscale : config.short_mscale;
  const Real factor = factor_of(config);
  if (given.has_value()) {
    result.attention_factor = *given;
  } else if (config.attention_factor.has_value()) {
    result.attention_factor = *config.attention_factor;
  } else {
    result.attention_factor = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
  }
  return result;
}

Plan scaled(const RopeConfig& config, Real length) {
  const int dim = resolved_rotary_dim(config), pairs = dim / 2;
  const Real base = config.rope_theta;
  Plan result;
  result.inv_freq = frequencies_without_scaling(config, base);
  std::vector<Real>& w = result.inv_freq;
  switch (config.rope_type) {
    case RopeType::default_:
    case RopeType::axial: return result;
    case RopeType::linear:
      for (Real& frequency : w) frequency /= *config.factor;
      return result;
    case RopeType::dynamic: {
      const Real trained = *config.max_position_embeddings, factor = *config.factor;
      const Real scale = factor * std::max(length, trained) / trained - (factor - 1);
      w = frequencies_without_scaling(config, ntk_base(base, scale, dim));
      return result;
    }
    case RopeType::yarn: return yarn(config, factor_of(config), true);
    case RopeType::ntk_by_parts: return yarn(config, factor_of(config), false);
    case RopeType::dynamic_yarn: {
      const Real start = config.finetuned ? factor_of(config) : 1;
      const Real factor = std::max(start, length / *config.original_max_position_embeddings);
      return factor > 1 ? yarn(config, factor, true) : result;
    }
    case RopeType::longrope: return longrope(config, length);
    case RopeType::llama3:
      for (Real& frequency : w) {
        frequency =
            llama3(frequency, *config.factor, *config.low_freq_factor, *config.high_freq_factor, *config.original_max_position_embeddings);
      }
      return result;
    case RopeType::proportional: {
      const int rotated_pairs = static_cast<int>(std::floor(config.partial_rotary_factor.value_or(1) * config.head_dim / 2));
      w = plain(base, config.head_dim, pairs);
      for (int j = 0; j < pairs; ++j) w[j] = j < rotated_pairs ? w[j] / config.factor.value_or(1) : 0;
      return result;
    }
    case RopeType::ntk: w = frequencies_without_scaling(config, ntk_base(base, *config.factor, dim)); return result;
    case RopeType::ntk_mix: {
      const Real exponent = *config.mixed_b, a = std::log(static_cast<Real>(*config.factor)) / std::pow<Real>(pairs, exponent);
      for (int j = 0; j < pairs; ++j) w[j] /= std::exp(a * std::pow<Real>(j + 1, exponent));
      return result;
    }
    case RopeType::ntk_alpha: w = frequencies_without_scaling(config, ntk_base(base, *config.alpha, dim)); return result;
    case RopeType::custom: {
      std::size_t list = 0;
      while (list + 1 < config.lengths.size() && length > config.lengths[list]) ++list;
      w.assign(config.inv_freq.begin() + list * pairs, config.inv_freq.begin() + (list + 1) * pairs);
      result.attention_factor = config.attention_factor.value_or(1);
      return result;
    }
  }
  return result;
}

}  // namespace

Plan plan(const RopeConfig& config, Real length) {
  Plan result = scaled(config, length);
  for (std::size_t j = 0; j < config.freq_factors.size(); ++j) result.inv_freq[j] /= config.freq_factors[j];
  return result;
}

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
