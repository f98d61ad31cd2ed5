// Frequencies without scaling.
#include "base/reproducible_math.h"
#include "rope/plans/families.h"
#include "rope/plans/torch_pow.h"

namespace ropewalk::plans {
namespace {

// base^(2j/dim), the j-th of `count` powers. One pow per pair, not a running product as in ggml: an error in a frequency is multiplied by
// the position, and a running product adds a rounding error with each pair.
double power(double base, double dim, int j, int count, Precision precision) {
  const double exponent = 2.0 * j / dim;
  if (precision == Precision::exact) return reproducible_pow(base, exponent);
  return torch_pow(static_cast<float>(base), static_cast<float>(exponent), j, count);
}

void axial_powers(const RopeConfig& config, double base, double* powers) {
  const int axes = static_cast<int>(config.axes_dim.size()), rotary_dim = resolved_rotary_dim(config);
  int first = 0;
  for (int axis = 0; axis < axes; ++axis) {
    const double dim = config.axes_dim[axis];
    const int pairs = static_cast<int>(dim) / 2;
    for (int j = 0; j < pairs; ++j) {
      switch (config.axes_layout) {
        case AxesLayout::chunked: powers[first + j] = power(base, dim, j, pairs, config.precision); break;
        case AxesLayout::interleaved: powers[j * axes + axis] = power(base, dim, j, pairs, config.precision); break;
        // the frequencies of the whole width, dealt to the axes in turn
        case AxesLayout::shared: powers[first + j] = power(base, rotary_dim, j * axes + axis, rotary_dim / 2, config.precision); break;
      }
    }
    first += pairs;
  }
}

}  // namespace

Status check_default_(const RopeConfig&) { return Status::ok; }

void default_(const RopeConfig&, double, FrequencyPlan&) {}

void default_powers(double base, double dim, int count, Precision precision, double* powers) {
  for (int j = 0; j < count; ++j) powers[j] = power(base, dim, j, count, precision);
}

void default_frequencies(double base, double dim, int count, Precision precision, double* inv_freq) {
  const Rounding rounded(precision);
  for (int j = 0; j < count; ++j) inv_freq[j] = rounded(1 / power(base, dim, j, count, precision));
}

void unscaled_powers(const RopeConfig& config, double base, double* powers) {
  if (config.rope_type == RopeType::axial) {
    axial_powers(config, base, powers);
    return;
  }
  if (config.mrope_layout != MropeLayout::vision || config.mrope_section.empty()) {
    default_powers(base, resolved_frequency_dim(config), resolved_rotary_dim(config) / 2, config.precision, powers);
    return;
  }
  for (const double section : config.mrope_section) {
    default_powers(base, 2 * section, static_cast<int>(section), config.precision, powers);
    powers += static_cast<int>(section);
  }
}

void unscaled_frequencies(const RopeConfig& config, double base, double* inv_freq) {
  const Rounding rounded(config.precision);
  unscaled_powers(config, base, inv_freq);
  for (int j = 0; j < resolved_rotary_dim(config) / 2; ++j) inv_freq[j] = rounded(1 / inv_freq[j]);
}

}  // namespace ropewalk::plans
