#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/reproducible_math.h"

namespace ropewalk {
namespace {

constexpr double kMax = 1e6;

// False for NaN.
bool is_within(double value, double min, double max) { return value >= min && value <= max; }

std::span<const int> last(std::span<const int> tokens, int count) {
  return tokens.last(std::min(tokens.size(), static_cast<std::size_t>(count)));
}

template <class T>
bool copy(std::span<const T> from, Buffer<T>& to) {
  if (!to.resize(from.size())) return false;
  std::copy(from.begin(), from.end(), to.data());
  return true;
}

}  // namespace

Status Sampler::configure(const SamplerOptions& o) {
  if (!(o.penalties.repetition > 0 && o.penalties.repetition <= kMax)) return Status::sampler_penalty_out_of_range;
  if (!is_within(o.penalties.frequency, -kMax, kMax)) return Status::sampler_frequency_penalty_out_of_range;
  if (!is_within(o.penalties.presence, -kMax, kMax)) return Status::sampler_presence_penalty_out_of_range;
  if (o.penalty_window < 0) return Status::sampler_penalty_window_out_of_range;
  if (!is_within(o.repeat_penalty.multiplier, 0, kMax)) return Status::sampler_dry_multiplier_out_of_range;
  if (!is_within(o.repeat_penalty.base, 1, kMax)) return Status::sampler_dry_base_out_of_range;
  if (o.repeat_penalty.allowed_length < 1) return Status::sampler_dry_allowed_length_out_of_range;
  if (o.repeat_window < 0) return Status::sampler_dry_window_out_of_range;
  if (!is_within(o.top_n_sigma, 0, kMax)) return Status::sampler_top_n_sigma_out_of_range;
  if (o.top_k < 0) return Status::sampler_top_k_out_of_range;
  if (!(o.typical_p > 0 && o.typical_p <= 1)) return Status::sampler_typical_p_out_of_range;
  if (!(o.top_p > 0 && o.top_p <= 1)) return Status::sampler_top_p_out_of_range;
  if (!is_within(o.min_p, 0, 1)) return Status::sampler_min_p_out_of_range;
  if (!is_within(o.xtc_probability, 0, 1)) return Status::sampler_xtc_probability_out_of_range;
  if (!(o.xtc_threshold > 0 && o.xtc_threshold <= 1)) return Status::sampler_xtc_threshold_out_of_range;
  if (!is_within(o.temperature, 0, kMax)) return Status::sampler_temperature_out_of_range;
  if (!is_within(o.mirostat_tau, 0, kMax)) return Status::sampler_mirostat_tau_out_of_range;
  if (!(o.mirostat_eta > 0 && o.mirostat_eta <= kMax)) return Status::sampler_mirostat_eta_out_of_range;
  options_ = o;
  surprise_ = 2 * o.mirostat_tau;
  return Status::ok;
}

Status Sampler::set_biases(std::span<const TokenBias> biases) { return copy(biases, biases_) ? Status::ok : Status::out_of_memory; }

Status Sampler::set_breakers(std::span<const int> tokens) {
  if (!copy(tokens, breakers_)) return Status::out_of_memory;
  std::sort(breakers_.data(), breakers_.data() + breakers_.size());
  return Status::ok;
}

Status Sampler::sample(const float* logits, int size, std::span<const int> recent, const std::uint8_t* allowed, int& token) {
  if (const Status status = adjust(logits, size, recent, allowed); status != Status::ok) return status;
  if (options_.temperature == 0) {
    token = largest_token(logits_.data(), size);
    return thread_pool().status();
  }
  const bool is_temperature_last = options_.order == SamplerOrder::llama_cpp && options_.mirostat_tau == 0 && drops_tokens();
  const Status status = softmax_.weigh(logits_.data(), size, is_temperature_last ? 1 : options_.temperature);
  if (status != Status::ok) return status;
  if (options_.mirostat_tau > 0) {
    token = draw_mirostat(size);
  } else if (!drops_tokens()) {
    token = softmax_.draw(size, uniform());
  } else {
    drop_tokens(size);
    if (is_temperature_last) candidates_.divide_by_temperature(options_.temperature);
    token = candidates_.draw(uniform()).token;
  }
  return Status::ok;
}

Status Sampler::adjust(const float* logits, int size, std::span<const int> recent, const std::uint8_t* allowed) {
  const std::span<const int> penalized = last(recent, options_.penalty_window), repeated = last(recent, options_.repeat_window);
  if (!logits_.resize(size) || !softmax_.resize(size) || !candidates_.resize(size) ||
      !counts_.resize(std::max(penalized.size(), repeated.size()))) {
    return Status::out_of_memory;
  }
  if (!copy_finite_logits(logits, size, logits_.data())) return Status::logits_not_finite;
  const std::span<float> own = {logits_.data(), static_cast<std::size_t>(size)};
  const std::span<TokenCount> scratch = {counts_.data(), counts_.size()};
  apply_biases({biases_.data(), biases_.size()}, own);
  if (allowed != nullptr) forbid_others(allowed, own);
  apply_penalties(options_.penalties, penalized, own, scratch);
  apply_repeat_penalty(options_.repeat_penalty, repeated, {breakers_.data(), breakers_.size()}, own, scratch);
  const bool forbids = allowed != nullptr || !biases_.empty();
  if (forbids && largest_logit(own.data(), size) == -INFINITY) return Status::no_token_allowed;
  return Status::ok;
}

bool Sampler::drops_tokens() const {
  const SamplerOptions& o = options_;
  return o.top_n_sigma > 0 || o.top_k > 0 || o.typical_p < 1 || o.top_p < 1 || o.min_p > 0 || o.xtc_probability > 0;
}

float Sampler::min_logit(int size) const {
  if (options_.top_n_sigma == 0) return -std::numeric_limits<float>::max();
  double sum = 0, squares = 0;
  int count = 0;
  for (int i = 0; i < size; ++i) {
    if (logits_[i] != -INFINITY) sum += logits_[i], ++count;
  }
  const double mean = sum / count;
  for (int i = 0; i < size; ++i) {
    if (logits_[i] != -INFINITY) squares += (logits_[i] - mean) * (logits_[i] - mean);
  }
  return static_cast<float>(-options_.top_n_sigma * std::sqrt(squares / count));
}

void Sampler::drop_tokens(int size) {
  const SamplerOptions& o = options_;
  // What top_p can't keep is left out at once: all these tokens together have less than the probability that it drops.
  const bool is_top_p_first =
      o.top_p < 1 && o.top_n_sigma == 0 && o.top_k == 0 && (o.order == SamplerOrder::transformers || o.typical_p == 1);
  const double min_weight = is_top_p_first ? (1 - o.top_p) * softmax_.total() / size : 0;
  // what top_k drops isn't looked at one by one
  const float min_of_k = o.top_k > 0 ? logit_of_many(logits_.data(), size, o.top_k) : -INFINITY;
  candidates_.fill({logits_.data(), static_cast<std::size_t>(size)}, softmax_.weights(), std::max(min_logit(size), min_of_k), min_weight);
  if (o.top_k > 0) candidates_.keep_top_k(o.top_k);
  const auto keep_typical = [&](SamplerOrder here) {
    if (o.typical_p < 1 && o.order == here) candidates_.keep_typical(o.typical_p);
  };
  keep_typical(SamplerOrder::llama_cpp);
  if (o.top_p < 1) candidates_.keep_top_p(o.top_p);
  if (o.min_p > 0) candidates_.keep_min_p(o.min_p);
  keep_typical(SamplerOrder::transformers);
  if (o.xtc_probability > 0 && uniform() < o.xtc_probability) candidates_.exclude_top(o.xtc_threshold);
}

int Sampler::draw_mirostat(int size) {
  constexpr float kMin = -std::numeric_limits<float>::max();
  const double share = reproducible_exp(-std::clamp(surprise_, 0.0, 1000.0) * std::numbers::ln2);
  const double min_weight = std::min(1.0, share * softmax_.total());  // the largest weight is 1
  candidates_.fill({logits_.data(), static_cast<std::size_t>(size)}, softmax_.weights(), kMin, min_weight);
  candidates_.normalize();
  const Candidate& drawn = candidates_.draw(uniform());
  surprise_ -= options_.mirostat_eta * (-reproducible_log(candidates_.probability(drawn)) / std::numbers::ln2 - options_.mirostat_tau);
  return drawn.token;
}

// SplitMix64 (Steele, Lea and Flood 2014); 53 bits in [0, 1).
double Sampler::uniform() {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

}  // namespace ropewalk
