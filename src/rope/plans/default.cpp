// Frequencies without scaling.
#include "base/reproducible_math.h"
#include "rope/plans/families.h"

namespace ropewalk::plans {

// One pow per pair, not a running product as in ggml: an error in a frequency is multiplied by the position, and a running product
// adds a rounding error with each pair.
void default_frequencies(double base, double dim, int count, Rounding rounded, double* inv_freq) {
  for (int j = 0; j < count; ++j) {
    const double exponent = rounded(2.0 * j / dim);
    inv_freq[j] = rounded(1 / rounded(reproducible_pow(rounded(base), exponent)));
  }
}

void unscaled_frequencies(const RopeConfig& config, double base, double* inv_freq) {
  const Rounding rounded(config.precision);
  const int rotary_dim = resolved_rotary_dim(config);
  if (config.mrope_layout != MropeLayout::vision || config.mrope_section.empty()) {
    default_frequencies(base, rotary_dim, rotary_dim / 2, rounded, inv_freq);
    return;
  }
  for (const double section : config.mrope_section) {
    default_frequencies(base, 2 * section, static_cast<int>(section), rounded, inv_freq);
    inv_freq += static_cast<int>(section);
  }
}

}  // namespace ropewalk::plans
