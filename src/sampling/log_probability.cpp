#include "sampling/log_probability.h"

#include "base/reproducible_math.h"
#include "sampling/softmax.h"

namespace ropewalk {

double log_normalizer(const float* logits, int size) {
  constexpr int kSums = 64;
  const float largest = largest_logit(logits, size);
  double total = 0;
  for (int start = 0; start < size; start += kSums * kLogitChunk) {
    double sums[kSums] = {};
    each_logit_chunk(std::min(kSums * kLogitChunk, size - start),
                     [&](int chunk, int first, int count) { sums[chunk] = sum_of_weights(logits + start + first, count, largest); });
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
