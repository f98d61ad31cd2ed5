#include "rope/decay.h"

#include <cmath>

#include "base/reproducible_math.h"
#include "base/sin_cos.h"
#include "rope/cos_sin_rows.h"

namespace ropewalk {
namespace {

// A splitmix64 generator (Steele, Lea and Flood 2014) with normal numbers by Box and Muller's method.
class NormalNumbers {
 public:
  explicit NormalNumbers(std::uint32_t seed) : state_(seed) {}

  // x² + y² of two normal numbers: the square of Box and Muller's radius.
  double next_squared_radius() { return -2 * reproducible_log(1 - next_uniform()); }

 private:
  double next_uniform() {  // [0, 1)
    state_ += 0x9E3779B97F4A7C15ull;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

  std::uint64_t state_;
};

// Cosines and sines of a plan's angles at the same distance on every axis, including xPos's scale.
class Distances {
 public:
  Status prepare(const FrequencyPlan& plan) {
    plan_ = &plan;
    return rows_.prepare(plan);
  }

  void compute(double distance) {
    double position[kMaxAxes];
    for (double& p : position) p = distance;
    rows_.compute_angles(position);
    distance_ = distance;
  }

  int pairs() const { return static_cast<int>(plan_->inv_freq.size()); }
  double cos(int j) const { return rows_.cos()[j] * xpos(j); }
  double sin(int j) const { return rows_.sin()[j] * xpos(j); }

 private:
  double xpos(int j) const {
    return plan_->xpos_scale.empty() ? 1 : reproducible_pow(plan_->xpos_scale[j], distance_ / plan_->xpos_scale_base);
  }

  const FrequencyPlan* plan_ = nullptr;
  CosSinRows rows_;
  double distance_ = 0;
};

double weighted_sum(const Distances& distances, const double* weights) {
  double sum = 0;
  for (int j = 0; j < distances.pairs(); ++j) sum += weights[j] * distances.cos(j);
  return sum;
}

double mean_partial_sum(const Distances& distances) {
  double cos = 0, sin = 0, total = 0;
  for (int j = 0; j < distances.pairs(); ++j) {
    cos += distances.cos(j);
    sin += distances.sin(j);
    total += std::sqrt(cos * cos + sin * sin);
  }
  return total / distances.pairs();
}

Status pair_weights(const DecayRequest& request, int pairs, Buffer<double>& weights) {
  if (!weights.resize(pairs)) return Status::out_of_memory;
  for (int j = 0; j < pairs; ++j) weights[j] = request.curve == DecayCurve::random ? 0 : 2;
  if (request.curve != DecayCurve::random) return Status::ok;
  NormalNumbers numbers(request.seed);
  for (int draw = 0; draw < request.draws; ++draw) {
    for (int j = 0; j < pairs; ++j) weights[j] += numbers.next_squared_radius() / request.draws;
  }
  return Status::ok;
}

// Returns the first of the distances 1 … limit at which S < 0, or -1.
double find_negative(Distances& distances, double limit) {
  const std::int64_t last = static_cast<std::int64_t>(limit);
  for (std::int64_t distance = 1; distance <= last; ++distance) {
    distances.compute(static_cast<double>(distance));
    double sum = 0;
    for (int j = 0; j < distances.pairs(); ++j) sum += distances.cos(j);
    if (sum < 0) return static_cast<double>(distance);
  }
  return -1;
}

}  // namespace

Status decay_curve(const FrequencyPlan& plan, const DecayRequest& request, double* values) {
  if (request.count < 1 || request.draws < 1) return Status::shape_out_of_range;
  if (static_cast<int>(request.curve) < 0 || static_cast<int>(request.curve) > static_cast<int>(DecayCurve::bound))
    return Status::curve_unknown;
  for (const double end : {request.first, request.first + request.step * (request.count - 1)}) {
    if (const Status status = check_positions(plan, {end, nullptr, 1, 1, 1}); status != Status::ok) return status;
  }
  Distances distances;
  Buffer<double> weights;
  if (const Status status = distances.prepare(plan); status != Status::ok) return status;
  if (const Status status = pair_weights(request, distances.pairs(), weights); status != Status::ok) return status;

  for (int i = 0; i < request.count; ++i) {
    distances.compute(request.first + request.step * i);
    values[i] = request.curve == DecayCurve::bound ? mean_partial_sum(distances) : weighted_sum(distances, weights.data());
  }
  return Status::ok;
}

Status first_negative_distance(const FrequencyPlan& plan, double limit, double& distance) {
  if (!(limit >= 1)) return Status::position_out_of_range;
  if (const Status status = check_positions(plan, {limit, nullptr, 1, 1, 1}); status != Status::ok) return status;
  Distances distances;
  if (const Status status = distances.prepare(plan); status != Status::ok) return status;
  distance = find_negative(distances, limit);
  return Status::ok;
}

Status smallest_base(int rotary_dim, double window, double& base) {
  if (!(window >= 1 && window <= 16777216)) return Status::position_out_of_range;
  Status failure = Status::ok;
  const auto keeps_sign = [&](double candidate) {
    RopeConfig config;
    config.head_dim = rotary_dim;
    config.rope_theta = candidate;
    FrequencyPlan plan;
    Distances distances;
    failure = make_plan(config, 1, plan);
    if (failure == Status::ok) failure = distances.prepare(plan);
    return failure == Status::ok && find_negative(distances, window) < 0;
  };

  // S(D) is not monotone in the base, so search upward in small steps, and bisect only within the last step
  constexpr double step = 1.05, largest = 1e12, precision = 1.001;
  double low = 1.01, high = low;
  while (!keeps_sign(high)) {
    if (failure != Status::ok) return failure;
    low = high;
    high *= step;
    if (high > largest) {
      base = -1;
      return Status::ok;
    }
  }
  while (high / low > precision) {
    const double middle = std::sqrt(low * high);
    (keeps_sign(middle) ? high : low) = middle;
    if (failure != Status::ok) return failure;
  }
  base = high;
  return Status::ok;
}

}  // namespace ropewalk
