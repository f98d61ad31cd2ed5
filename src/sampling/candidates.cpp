#include "sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float_math.h"
#include "base/reproducible_math.h"
#include "sampling/logits_simd.h"

namespace ropewalk {
namespace {

// The smallest f32 that is at least a value above or equal to 0 and below the largest f32.
float min_f32(double value) {
  const float nearest = static_cast<float>(value);
  return nearest >= value ? nearest : std::nextafter(nearest, INFINITY);
}

bool is_larger(const Candidate& a, const Candidate& b) { return a.logit > b.logit || (a.logit == b.logit && a.token < b.token); }

}  // namespace

void Candidates::fill(std::span<const float> logits, const float* weights, float min_logit, double min_weight) {
  const v128_t lowest = wasm_f32x4_splat(std::max(min_logit, -std::numeric_limits<float>::max()));
  const v128_t min_kept = wasm_f32x4_splat(min_f32(min_weight));
  WeightSum sum;
  count_ = 0;
  each_eight(logits.data(), static_cast<int>(logits.size()), [&](int first, const v128_t(&eight)[2], int count) {
    v128_t weight[2];
    load_first(weights + first, count, weight);
    const auto kept_of = [&](v128_t four, v128_t weights) -> unsigned {
      const v128_t counts = wasm_f32x4_ge(four, lowest), counted = wasm_v128_and(weights, counts);
      sum.add(counted);
      return wasm_i32x4_bitmask(wasm_v128_and(counts, wasm_f32x4_ge(counted, min_kept)));
    };
    const unsigned low = kept_of(eight[0], weight[0]), kept = low | kept_of(eight[1], weight[1]) << 4;
    if (kept == 0) return;
    for (int i = 0; i < count; ++i) {
      if ((kept >> i & 1) != 0) candidates_[count_++] = {logits[first + i], first + i};
    }
  });
  total_ = sum.total();
}

void Candidates::keep_top_k(int k) {
  const std::size_t kept = std::min(count_, static_cast<std::size_t>(k));
  std::partial_sort(candidates_.data(), candidates_.data() + kept, candidates_.data() + count_, is_larger);
  count_ = kept;
  normalize();
}

void Candidates::keep_top_p(double p) { keep_first(p, is_larger); }

void Candidates::keep_typical(double p) {
  const double log_total = reproducible_log(total_);
  double entropy = 0;
  for (const Candidate& candidate : all()) entropy += probability(candidate) * (log_total - candidate.logit);
  const double typical = log_total - entropy;  // the logit of a token with this information
  keep_first(p, [typical](const Candidate& a, const Candidate& b) {
    const double from_a = std::fabs(a.logit - typical), from_b = std::fabs(b.logit - typical);
    return from_a < from_b || (from_a == from_b && is_larger(a, b));
  });
}

void Candidates::keep_min_p(double share) {
  const double min_weight = share * exp_f32(std::min_element(all().begin(), all().end(), is_larger)->logit);
  drop_if([min_weight](const Candidate& candidate) { return exp_f32(candidate.logit) < min_weight; });
}

void Candidates::exclude_top(double probability) {
  const double min_weight = probability * total_;
  const auto is_top = [min_weight](const Candidate& candidate) { return exp_f32(candidate.logit) >= min_weight; };
  const Candidate* kept = nullptr;
  for (const Candidate& candidate : all()) {
    if (is_top(candidate) && (kept == nullptr || is_larger(*kept, candidate))) kept = &candidate;
  }
  if (kept == nullptr) return;
  drop_if([&is_top, token = kept->token](const Candidate& candidate) { return is_top(candidate) && candidate.token != token; });
}

void Candidates::divide_by_temperature(double temperature) {
  const double largest = std::min_element(all().begin(), all().end(), is_larger)->logit;
  for (std::size_t i = 0; i < count_; ++i) candidates_[i].logit = static_cast<float>((candidates_[i].logit - largest) / temperature);
  normalize();
}

const Candidate& Candidates::draw(double uniform) const {
  double total = 0;
  for (const Candidate& candidate : all()) total += exp_f32(candidate.logit);
  const double drawn = uniform * total;  // below the total; the loop adds in the same order, so it can't run past the end
  double sum = exp_f32(candidates_[0].logit);
  std::size_t i = 0;
  while (sum <= drawn) sum += exp_f32(candidates_[++i].logit);
  return candidates_[i];
}

double Candidates::probability(const Candidate& candidate) const { return exp_f32(candidate.logit) / total_; }

template <class IsBefore>
void Candidates::keep_first(double p, const IsBefore& is_before) {
  const auto is_after = [&](const Candidate& a, const Candidate& b) { return is_before(b, a); };
  Candidate* first = candidates_.data();
  Candidate* last = first + count_;
  std::make_heap(first, last, is_after);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < count_ && (kept == 0 || sum < p * total_)) {
    std::pop_heap(first, last, is_after);
    sum += exp_f32((--last)->logit);
    ++kept;
  }
  std::reverse(last, first + count_);
  std::move(last, first + count_, first);
  count_ = kept;
  total_ = sum;
}

template <class Drops>
void Candidates::drop_if(const Drops& drops) {
  Candidate* first = candidates_.data();
  count_ = static_cast<std::size_t>(std::remove_if(first, first + count_, drops) - first);
  normalize();
}

void Candidates::normalize() {
  total_ = 0;
  for (const Candidate& candidate : all()) total_ += exp_f32(candidate.logit);
}

}  // namespace ropewalk
