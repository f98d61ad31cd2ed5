// The scaling types in long double, and a config of each.
#include <algorithm>
#include <cmath>

#include "native/oracle.h"
#include "native/rope/configs.h"

namespace ropewalk {

// One config of each scaling type, with the given head_dim.
std::vector<NamedConfig> every_type(int head_dim) {
  RopeConfig proportional = plain_config(head_dim, 1e6);
  proportional.rope_type = RopeType::proportional;
  proportional.partial_rotary_factor = 0.25;
  proportional.factor = 2;

  RopeConfig ntk_mix = scaled_config(RopeType::ntk_mix, head_dim, 10000, 8, 4096);
  ntk_mix.mixed_b = 0.625;

  RopeConfig ntk_alpha = plain_config(head_dim);
  ntk_alpha.rope_type = RopeType::ntk_alpha;
  ntk_alpha.alpha = 1000;

  RopeConfig by_rotations = yarn_config(head_dim, 10000, 8, 4096);
  by_rotations.ramp = Ramp::rotations;

  RopeConfig two_ramps = scaled_config(RopeType::ntk_by_parts, head_dim, 10000, 8, 4096);
  two_ramps.ramp = Ramp::two_ramps;

  RopeConfig custom = plain_config(head_dim);
  custom.rope_type = RopeType::custom;
  custom.inv_freq = divisors(head_dim / 2, 1e-3);

  RopeConfig axial = plain_config(head_dim);
  axial.rope_type = RopeType::axial;
  axial.axes_dim = halves(head_dim);

  return {
      {"default", plain_config(head_dim), 1},
      {"linear", scaled_config(RopeType::linear, head_dim, 10000, 4, 4096), 1},
      {"dynamic_below", dynamic_config(head_dim, 10000, 2, 4096), 100},
      {"dynamic_5000", dynamic_config(head_dim, 10000, 2, 4096), 5000},
      {"dynamic_65536", dynamic_config(head_dim, 10000, 2, 4096), 65536},
      {"yarn", yarn_config(head_dim, 1e6, 4, 32768), 1},
      {"yarn_rotations", by_rotations, 1},
      {"longrope_short", longrope_config(head_dim), 4096},
      {"longrope_long", longrope_config(head_dim), 4097},
      {"llama3", llama3_config(head_dim, 5e5, 8), 1},
      {"proportional", proportional, 1},
      {"ntk", scaled_config(RopeType::ntk, head_dim, 10000, 8, 4096), 1},
      {"ntk_mix", ntk_mix, 1},
      {"ntk_alpha", ntk_alpha, 1},
      {"ntk_by_parts", scaled_config(RopeType::ntk_by_parts, head_dim, 10000, 8, 4096), 1},
      {"two_ramps", two_ramps, 1},
      {"dynamic_yarn", scaled_config(RopeType::dynamic_yarn, head_dim, 10000, 32, 4096), 9000},
      {"custom", custom, 1},
      {"axial", axial, 1},
  };
}

namespace oracle {

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

}  // namespace oracle
}  // namespace ropewalk
