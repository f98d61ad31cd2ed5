#include "transformer/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float_math.h"
#include "base/reproducible_math.h"

namespace ropewalk {

Status Sampler::configure(const SamplerOptions& options) {
  if (!(options.repetition_penalty > 0 && options.repetition_penalty <= 1e6)) return Status::sampler_penalty_out_of_range;
  if (!(options.temperature >= 0 && options.temperature <= 1e6)) return Status::sampler_temperature_out_of_range;
  if (options.top_k < 0) return Status::sampler_top_k_out_of_range;
  if (!(options.top_p > 0 && options.top_p <= 1)) return Status::sampler_top_p_out_of_range;
  if (!(options.min_p >= 0 && options.min_p <= 1)) return Status::sampler_min_p_out_of_range;
  options_ = options;
  return Status::ok;
}

Status Sampler::sample(const float* logits, int size, std::span<const int> seen, int& token) {
  for (int i = 0; i < size; ++i) {
    if (!std::isfinite(logits[i])) return Status::logits_not_finite;
  }
  if (!make_candidates(logits, size, seen)) return Status::out_of_memory;
  if (options_.temperature == 0) {
    token = std::min_element(candidates_.data(), candidates_.data() + count_, is_before)->token;
    return Status::ok;
  }
  if (options_.top_k > 0) keep_largest(options_.top_k);
  if (options_.top_p < 1) keep_probable(options_.top_p);
  if (options_.min_p > 0) keep_near_largest(options_.min_p);
  token = draw();
  return Status::ok;
}

// Applies penalty and temperature. Logits are taken relative to the largest one, so that even a tiny temperature can't overflow.
bool Sampler::make_candidates(const float* logits, int size, std::span<const int> seen) {
  if (!candidates_.resize(size)) return false;
  count_ = size;
  for (int i = 0; i < size; ++i) candidates_[i] = {logits[i], i};
  constexpr double kMost = std::numeric_limits<float>::max();
  for (const int token : seen) {
    if (token < 0 || token >= size) continue;
    const double logit = logits[token], penalty = options_.repetition_penalty;
    candidates_[token].logit = static_cast<float>(std::clamp(logit > 0 ? logit / penalty : logit * penalty, -kMost, kMost));
  }
  if (options_.temperature == 0) return true;
  const float largest_logit = largest();
  for (int i = 0; i < size; ++i)
    candidates_[i].logit = static_cast<float>((static_cast<double>(candidates_[i].logit) - largest_logit) / options_.temperature);
  return true;
}

float Sampler::largest() const { return std::min_element(candidates_.data(), candidates_.data() + count_, is_before)->logit; }

void Sampler::keep_largest(int count) {
  const std::size_t kept = std::min(count_, static_cast<std::size_t>(count));
  std::partial_sort(candidates_.data(), candidates_.data() + kept, candidates_.data() + count_, is_before);
  count_ = kept;
}

// Uses a heap, because only a few tokens of a large vocabulary are usually kept.
void Sampler::keep_probable(double probability) {
  double total = 0;
  for (std::size_t i = 0; i < count_; ++i) total += exp_f32(candidates_[i].logit);
  const auto is_after = [](const Candidate& a, const Candidate& b) { return is_before(b, a); };
  Candidate* first = candidates_.data();
  Candidate* last = first + count_;
  std::make_heap(first, last, is_after);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < count_ && (kept == 0 || sum < probability * total)) {
    std::pop_heap(first, last, is_after);
    sum += exp_f32((--last)->logit);
    ++kept;
  }
  std::reverse(last, first + count_);
  std::move(last, first + count_, first);
  count_ = kept;
}

void Sampler::keep_near_largest(double share) {
  const double least = share * exp_f32(largest());
  const auto is_far = [least](const Candidate& candidate) { return exp_f32(candidate.logit) < least; };
  count_ = static_cast<std::size_t>(std::remove_if(candidates_.data(), candidates_.data() + count_, is_far) - candidates_.data());
}

int Sampler::draw() {
  double total = 0;
  for (std::size_t i = 0; i < count_; ++i) total += exp_f32(candidates_[i].logit);
  const double drawn = uniform() * total;  // below the total; the loop adds in the same order, so it can't run past the end
  double sum = exp_f32(candidates_[0].logit);
  std::size_t i = 0;
  while (sum <= drawn) sum += exp_f32(candidates_[++i].logit);
  return candidates_[i].token;
}

// SplitMix64 (Steele, Lea and Flood 2014); 53 bits in [0, 1).
double Sampler::uniform() {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

double log_normalizer(const float* logits, int size) {
  const double largest = *std::max_element(logits, logits + size);
  double sum = 0;
  for (int i = 0; i < size; ++i) sum += exp_f32(static_cast<float>(logits[i] - largest));
  return largest + reproducible_log(sum);
}

void most_probable(const float* logits, int size, std::span<LogProbability> top) {
  const double normalizer = log_normalizer(logits, size);
  const auto is_before = [](const LogProbability& a, const LogProbability& b) { return a.value > b.value; };
  std::size_t held = 0;
  for (int i = 0; i < size; ++i) {
    const LogProbability candidate = {logits[i] - normalizer, i};
    if (held == top.size() && (held == 0 || !is_before(candidate, top[held - 1]))) continue;
    if (held < top.size()) ++held;
    std::size_t at = held - 1;
    for (; at > 0 && is_before(candidate, top[at - 1]); --at) top[at] = top[at - 1];
    top[at] = candidate;
  }
}

}  // namespace ropewalk
