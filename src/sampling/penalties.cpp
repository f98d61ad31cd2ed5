#include "sampling/penalties.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/reproducible_math.h"

namespace ropewalk {
namespace {

// Of f32. A finite logit stays one.
float in_range(double logit) {
  constexpr double kMax = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(logit, -kMax, kMax));
}

// By token, and the same tokens by falling count.
void sort(std::span<TokenCount> counts) {
  std::sort(counts.begin(), counts.end(),
            [](const TokenCount& a, const TokenCount& b) { return a.token < b.token || (a.token == b.token && a.count > b.count); });
}

// A logit that changes. Tokens outside the vocabulary and forbidden ones have none.
float* logit_of(int token, std::span<float> logits) {
  const bool is_known = token >= 0 && static_cast<std::size_t>(token) < logits.size();
  return is_known && logits[token] != -INFINITY ? &logits[token] : nullptr;
}

// Writes the length of the repeat that ends before the i-th last token: how many of the tokens before it equal the last tokens.
// repeats[0].count isn't written. The Z algorithm (Gusfield 1997, section 1.4) on the tokens in reverse order.
void measure_repeats(std::span<const int> recent, std::span<TokenCount> repeats) {
  const int count = static_cast<int>(recent.size());
  const auto at = [&](int i) { return recent[count - 1 - i]; };
  int start = 0, end = 0;  // of the repeat that reaches furthest
  for (int i = 1; i < count; ++i) {
    int length = i < end ? std::min(end - i, repeats[i - start].count) : 0;
    while (i + length < count && at(length) == at(i + length)) ++length;
    repeats[i].count = length;
    if (i + length > end) start = i, end = i + length;
  }
}

}  // namespace

void apply_penalties(const Penalties& penalties, std::span<const int> recent, std::span<float> logits, std::span<TokenCount> scratch) {
  if (penalties.are_none()) return;
  const std::span<TokenCount> seen = scratch.first(recent.size());
  std::transform(recent.begin(), recent.end(), seen.begin(), [](int token) { return TokenCount{token, 1}; });
  sort(seen);
  for (std::size_t i = 0, next = 0; i < seen.size(); i = next) {
    while (next < seen.size() && seen[next].token == seen[i].token) ++next;
    float* logit = logit_of(seen[i].token, logits);
    if (logit == nullptr) continue;
    const float repeated = in_range(*logit > 0 ? *logit / penalties.repetition : *logit * penalties.repetition);
    *logit = in_range(repeated - static_cast<double>(next - i) * penalties.frequency - penalties.presence);
  }
}

void apply_biases(std::span<const TokenBias> biases, std::span<float> logits) {
  for (const TokenBias& bias : biases) {
    if (float* logit = logit_of(bias.token, logits); logit != nullptr)
      *logit = bias.bias == -INFINITY ? -INFINITY : in_range(static_cast<double>(*logit) + bias.bias);
  }
}

void forbid_others(const std::uint8_t* allowed, std::span<float> logits) {
  for (std::size_t token = 0; token < logits.size(); ++token) {
    if ((allowed[token / 8] >> (token % 8) & 1) == 0) logits[token] = -INFINITY;
  }
}

void apply_repeat_penalty(const RepeatPenalty& penalty, std::span<const int> recent, std::span<const int> breakers, std::span<float> logits,
                          std::span<TokenCount> scratch) {
  const int count = static_cast<int>(recent.size());
  if (penalty.multiplier == 0 || count <= penalty.allowed_length) return;
  const auto breaks = [&](int token) { return std::binary_search(breakers.begin(), breakers.end(), token); };
  int limit = 0;  // tokens since the last breaker
  while (limit < count && !breaks(recent[count - 1 - limit])) ++limit;
  if (limit < penalty.allowed_length) return;

  const std::span<TokenCount> repeats = scratch.first(recent.size());
  measure_repeats(recent, repeats);
  std::size_t found = 0;
  for (int i = 1; i < count; ++i) {
    const TokenCount next = {recent[count - i], std::min(repeats[i].count, limit)};
    if (next.count >= penalty.allowed_length && !breaks(next.token)) repeats[found++] = next;
  }
  sort(repeats.first(found));
  for (std::size_t i = 0; i < found; ++i) {
    const TokenCount& longest = repeats[i];  // of its token, if it is the first
    float* logit = i > 0 && repeats[i - 1].token == longest.token ? nullptr : logit_of(longest.token, logits);
    if (logit == nullptr) continue;
    *logit = in_range(*logit - penalty.multiplier * reproducible_pow(penalty.base, longest.count - penalty.allowed_length));
  }
}

}  // namespace ropewalk
