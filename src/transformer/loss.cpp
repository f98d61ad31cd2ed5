#include "transformer/loss.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "sampling/log_probability.h"

namespace ropewalk {
namespace {

constexpr int kTokensAtOnce = 16;

}  // namespace

Status Losses::measure(Forward& forward, const Weights& weights, int first, std::span<const int> targets, double* losses) {
  if (first < 0 || first > forward.tokens() || targets.size() > static_cast<std::size_t>(forward.tokens() - first))
    return Status::token_count_out_of_range;
  const int vocabulary = weights.config().vocabulary_size, count = static_cast<int>(targets.size());
  for (const int target : targets) {
    if (target < 0 || target >= vocabulary) return Status::token_out_of_range;
  }
  if (!logits_.resize(static_cast<std::uint64_t>(std::min(count, kTokensAtOnce)) * vocabulary)) return Status::out_of_memory;
  for (int done = 0; done < count; done += kTokensAtOnce) {
    const int rows = std::min(kTokensAtOnce, count - done);
    if (const Status status = forward.logits(weights, first + done, rows, logits_.data()); status != Status::ok) return status;
    for (int row = 0; row < rows; ++row) {
      const float* logits = logits_.data() + static_cast<std::ptrdiff_t>(row) * vocabulary;
      losses[done + row] = log_normalizer(logits, vocabulary) - logits[targets[done + row]];
    }
  }
  return thread_pool().status();
}

}  // namespace ropewalk
