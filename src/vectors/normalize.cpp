#include "vectors/normalize.h"

#include <cmath>

namespace ropewalk {
namespace {

double mean_of(const float* x, int size) {
  double sum = 0;
  for (int i = 0; i < size; ++i) sum += x[i];
  return sum / size;
}

double mean_square_of(const float* x, int size, double center) {
  double sum = 0;
  for (int i = 0; i < size; ++i) sum += (x[i] - center) * (x[i] - center);
  return sum / size;
}

}  // namespace

void normalize(const Norm& norm, const float* x, int size, const float* weight, const float* bias, float* out) {
  const double center = norm.kind == NormKind::layer ? mean_of(x, size) : 0;
  const float factor = static_cast<float>(1 / std::sqrt(mean_square_of(x, size, center) + norm.epsilon));
  const bool shifts = norm.kind == NormKind::layer && bias != nullptr;
  for (int i = 0; i < size; ++i) {
    const float unit = static_cast<float>(x[i] - center) * factor;
    out[i] = unit * (weight == nullptr ? 1 : weight[i]) + (shifts ? bias[i] : 0);
  }
}

}  // namespace ropewalk
