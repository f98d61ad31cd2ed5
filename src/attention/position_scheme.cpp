#include "attention/position_scheme.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/reproducible_math.h"
#include "base/sin_cos.h"

namespace ropewalk {
namespace {

constexpr double kLargestBase = 1e30;

// Number of buckets for one direction. The first half of them hold one distance each.
int buckets_of_direction(const T5Buckets& rule) { return rule.bidirectional ? rule.buckets / 2 : rule.buckets; }

}  // namespace

Status sinusoidal_row(double position, double base, int dim, float* row) {
  if (!(base > 1 && base <= kLargestBase)) return Status::sinusoidal_base_out_of_range;
  if (!(std::fabs(position) <= kAngleLimit)) return Status::position_out_of_range;  // no frequency is above 1
  const auto angle = [&](int i) { return position * reproducible_pow(base, -static_cast<double>(i) / dim); };
  for (int i = 0; i < dim; i += 4) {
    const SinCosPair pair = sin_cos(wasm_f64x2_make(angle(i), angle(i + 2)));
    const float values[4] = {
        static_cast<float>(wasm_f64x2_extract_lane(pair.sin, 0)),
        static_cast<float>(wasm_f64x2_extract_lane(pair.cos, 0)),
        static_cast<float>(wasm_f64x2_extract_lane(pair.sin, 1)),
        static_cast<float>(wasm_f64x2_extract_lane(pair.cos, 1)),
    };
    std::memcpy(row + i, values, std::min(4, dim - i) * sizeof(float));
  }
  return Status::ok;
}

// Same as build_alibi_tensor of BLOOM and Falcon in transformers, which comes from the authors' code.
void alibi_slopes(int heads, float* slopes) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(heads)));
  for (int head = 0; head < heads; ++head) {
    const double exponent = head < power ? 8.0 * (head + 1) / power : 4.0 * (2 * (head - power) + 1) / power;
    slopes[head] = static_cast<float>(reproducible_pow(2, -exponent));
  }
}

Status check_t5(const T5Buckets& rule) {
  const int buckets = buckets_of_direction(rule);
  return buckets >= 2 && rule.max_distance > buckets / 2 ? Status::ok : Status::position_bias_out_of_range;
}

// Same as _relative_position_bucket of T5 in transformers. That one takes logarithms in f32, but every distance gets the same bucket.
int t5_bucket(const T5Buckets& rule, double relative) {
  const double offset = std::trunc(relative);
  const int buckets = buckets_of_direction(rule), exact = buckets / 2;
  const int first = rule.bidirectional && offset > 0 ? buckets : 0;
  const double distance = rule.bidirectional ? std::fabs(offset) : std::fmax(-offset, 0);
  if (distance < exact) return first + static_cast<int>(distance);
  if (distance >= rule.max_distance) return first + buckets - 1;
  const double part = reproducible_log(distance / exact) / reproducible_log(static_cast<double>(rule.max_distance) / exact);
  return first + std::min(exact + static_cast<int>(part * (buckets - exact)), buckets - 1);
}

Status sinusoidal_rows(std::span<const double> positions, double base, int dim, float* rows) {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (const Status status = sinusoidal_row(positions[i], base, dim, rows + i * dim); status != Status::ok) return status;
  }
  return Status::ok;
}

Status t5_buckets(const T5Buckets& rule, std::span<const double> relative, int* buckets) {
  if (const Status status = check_t5(rule); status != Status::ok) return status;
  for (std::size_t i = 0; i < relative.size(); ++i) buckets[i] = t5_bucket(rule, relative[i]);
  return Status::ok;
}

}  // namespace ropewalk
