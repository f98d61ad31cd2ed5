#include "vectors/sampler.h"

#include <wasm_simd128.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/float_math_wasmsimd.h"
#include "base/reproducible_math.h"
#include "base/thread_pool.h"

namespace ropewalk {
namespace {

// Logits are summed in chunks, whose sums are then added in order: so sums don't depend on the number of threads.
constexpr int kChunk = 8192;
constexpr std::int64_t kLogitWork = 16;  // operations per logit (thread_pool.h)

int chunk_count(int size) { return (size + kChunk - 1) / kChunk; }

// Calls act(chunk, first, count) for each chunk.
template <class Act>
void each_chunk(int size, Act&& act) {
  each_in_parallel(chunk_count(size), kLogitWork * kChunk, [&](int chunk) {
    const int first = chunk * kChunk;
    act(chunk, first, std::min(kChunk, size - first));
  });
}

float largest_of(const float* logits, int size) {
  std::atomic<float> largest = logits[0];
  each_chunk(size, [&](int, int first, int count) {
    const float* from = logits + first;
    v128_t maxima = wasm_f32x4_splat(from[0]);
    int i = 0;
    for (; i + 4 <= count; i += 4) maxima = wasm_f32x4_pmax(maxima, wasm_v128_load(from + i));
    float lanes[4];
    wasm_v128_store(lanes, maxima);
    const float found = std::max(*std::max_element(lanes, lanes + 4), *std::max_element(from + i - (i == count), from + count));
    float known = largest.load(std::memory_order_relaxed);
    while (known < found && !largest.compare_exchange_weak(known, found, std::memory_order_relaxed)) continue;
  });
  return largest.load(std::memory_order_relaxed);
}

// Four logits less the largest, divided by the temperature, in f64.
v128_t scaled(const float* logits, v128_t largest, v128_t temperature) {
  const v128_t four = wasm_v128_load(logits), upper = wasm_i32x4_shuffle(four, four, 2, 3, 2, 3);
  const auto two = [&](v128_t pair) {
    return wasm_f32x4_demote_f64x2_zero(wasm_f64x2_div(wasm_f64x2_sub(wasm_f64x2_promote_low_f32x4(pair), largest), temperature));
  };
  return wasm_i64x2_shuffle(two(four), two(upper), 0, 2);
}

// Computes weights e^((logit - largest) / temperature) of a chunk, and returns their sum. `scaled_logits` and `weights` may be null.
double weigh(const float* logits, int count, double largest, double temperature, float* scaled_logits, float* weights) {
  const v128_t largest2 = wasm_f64x2_splat(largest), temperature2 = wasm_f64x2_splat(temperature);
  v128_t sum = wasm_f64x2_splat(0);
  for (int i = 0; i < count; i += 4) {
    float last[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};  // weighs nothing
    const bool is_whole = i + 4 <= count;
    if (!is_whole) std::copy(logits + i, logits + count, last);
    const v128_t four = scaled(is_whole ? logits + i : last, largest2, temperature2), weight = exp_f32x4(four);
    sum = wasm_f64x2_add(sum, wasm_f64x2_promote_low_f32x4(weight));
    sum = wasm_f64x2_add(sum, wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(weight, weight, 2, 3, 2, 3)));
    if (weights == nullptr) continue;
    if (is_whole) {
      wasm_v128_store(scaled_logits + i, four);
      wasm_v128_store(weights + i, weight);
    } else {
      float lanes[4];
      wasm_v128_store(lanes, four);
      std::copy_n(lanes, count - i, scaled_logits + i);
      wasm_v128_store(lanes, weight);
      std::copy_n(lanes, count - i, weights + i);
    }
  }
  return wasm_f64x2_extract_lane(sum, 0) + wasm_f64x2_extract_lane(sum, 1);
}

}  // namespace

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
  if (!logits_.resize(size) || !weights_.resize(size) || !candidates_.resize(size) || !sums_.resize(chunk_count(size))) {
    return Status::out_of_memory;
  }
  if (!copy_finite(logits, size)) return Status::logits_not_finite;
  apply_penalty(logits, size, seen);
  const float largest = largest_of(logits_.data(), size);
  if (options_.temperature == 0) {
    token = static_cast<int>(std::find(logits_.data(), logits_.data() + size, largest) - logits_.data());
    return thread_pool().status();
  }
  each_chunk(size, [&](int chunk, int first, int count) {
    float* from = logits_.data() + first;
    sums_[chunk] = weigh(from, count, largest, options_.temperature, from, weights_.data() + first);
  });
  if (thread_pool().status() != Status::ok) return Status::thread_lost;
  total_ = 0;
  for (int chunk = 0; chunk < chunk_count(size); ++chunk) total_ += sums_[chunk];

  if (options_.top_k == 0 && options_.top_p == 1 && options_.min_p == 0) {
    token = draw_from_all(size);
    return Status::ok;
  }
  make_candidates(size);
  if (options_.top_k > 0) keep_largest(options_.top_k);
  if (options_.top_p < 1) keep_probable(options_.top_p);
  if (options_.min_p > 0) keep_near_largest(options_.min_p);
  token = draw();
  return Status::ok;
}

bool Sampler::copy_finite(const float* logits, int size) {
  std::atomic<bool> are_finite = true;
  each_chunk(size, [&](int, int first, int count) {
    bool all = true;
    for (int i = first; i < first + count; ++i) {
      all &= std::fabs(logits[i]) <= std::numeric_limits<float>::max();
      logits_[i] = logits[i];
    }
    if (!all) are_finite = false;
  });
  return are_finite;
}

void Sampler::apply_penalty(const float* logits, int size, std::span<const int> seen) {
  constexpr double kMost = std::numeric_limits<float>::max();
  for (const int token : seen) {
    if (token < 0 || token >= size) continue;
    const double logit = logits[token], penalty = options_.repetition_penalty;
    logits_[token] = static_cast<float>(std::clamp(logit > 0 ? logit / penalty : logit * penalty, -kMost, kMost));
  }
}

// Leaves out tokens that top_p can't keep: even all of them together have less than the probability that it drops.
void Sampler::make_candidates(int size) {
  const bool keeps_all = options_.top_k > 0 || options_.top_p == 1;
  const double least = keeps_all ? 0 : (1 - options_.top_p) * total_ / size;
  count_ = 0;
  for (int i = 0; i < size; ++i) {
    if (weights_[i] >= least) candidates_[count_++] = {logits_[i], i};
  }
}

void Sampler::keep_largest(int count) {
  const std::size_t kept = std::min(count_, static_cast<std::size_t>(count));
  std::partial_sort(candidates_.data(), candidates_.data() + kept, candidates_.data() + count_, is_before);
  count_ = kept;
}

// Uses a heap, because only a few tokens of a large vocabulary are usually kept.
void Sampler::keep_probable(double probability) {
  double total = options_.top_k > 0 ? 0 : total_;
  for (std::size_t i = 0; options_.top_k > 0 && i < count_; ++i) total += exp_f32(candidates_[i].logit);
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

// The largest logit is 0, with weight 1.
void Sampler::keep_near_largest(double share) {
  const auto is_far = [share](const Candidate& candidate) { return exp_f32(candidate.logit) < share; };
  count_ = static_cast<std::size_t>(std::remove_if(candidates_.data(), candidates_.data() + count_, is_far) - candidates_.data());
}

int Sampler::draw_from_all(int size) {
  double left = uniform() * total_;
  int chunk = 0;
  while (chunk + 1 < chunk_count(size) && sums_[chunk] <= left) left -= sums_[chunk++];
  int token = chunk * kChunk;
  const int end = std::min(size, token + kChunk);
  int last = token;  // sums of a chunk are rounded, so the loop may reach its end
  for (; token < end; ++token) {
    if (weights_[token] == 0) continue;
    last = token;
    left -= weights_[token];
    if (left < 0) break;
  }
  return last;
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
  constexpr int kSums = 64;
  const double largest = largest_of(logits, size);
  double total = 0;
  for (int start = 0; start < size; start += kSums * kChunk) {
    double sums[kSums] = {};
    each_chunk(std::min(kSums * kChunk, size - start),
               [&](int chunk, int first, int count) { sums[chunk] = weigh(logits + start + first, count, largest, 1, nullptr, nullptr); });
    for (const double sum : sums) total += sum;
  }
  return largest + reproducible_log(total);
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
