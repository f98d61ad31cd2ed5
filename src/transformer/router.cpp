#include "transformer/router.h"

#include <algorithm>
#include <limits>

#include "base/float_math.h"

namespace ropewalk {

bool Router::resize(int experts, int used, bool normalizes, int tokens) {
  experts_ = experts;
  used_ = used;
  normalizes_ = normalizes;
  tokens_ = 0;
  return scores_.resize(static_cast<std::uint64_t>(experts) * tokens) && choices_.resize(static_cast<std::uint64_t>(used) * tokens);
}

void Router::choose(int tokens) {
  tokens_ = tokens;
  for (int t = 0; t < tokens; ++t)
    choose_for(scores_.data() + static_cast<std::ptrdiff_t>(t) * experts_, choices_.data() + static_cast<std::ptrdiff_t>(t) * used_);
}

void Router::choose_for(float* scores, Choice* choices) const {
  const float largest = *std::max_element(scores, scores + experts_);
  float sum = 0;
  for (int i = 0; i < experts_; ++i) sum += exp_f32(scores[i] - largest);
  float used_sum = 0;
  for (int n = 0; n < used_; ++n) {
    const int expert = static_cast<int>(std::max_element(scores, scores + experts_) - scores);
    choices[n] = {expert, exp_f32(scores[expert] - largest) / sum};
    used_sum += choices[n].weight;
    scores[expert] = -std::numeric_limits<float>::infinity();  // not chosen again
  }
  if (!normalizes_) return;
  for (int n = 0; n < used_; ++n) choices[n].weight /= used_sum;
}

int Router::gather(int expert, const float* rows, int size, float* gathered) const {
  int count = 0;
  for (int t = 0; t < tokens_; ++t) {
    for (int n = 0; n < used_; ++n) {
      if (choices(t)[n].expert != expert) continue;
      std::copy_n(rows + static_cast<std::ptrdiff_t>(t) * size, size, gathered + static_cast<std::ptrdiff_t>(count++) * size);
      break;  // non-finite scores may choose an expert twice
    }
  }
  return count;
}

void Router::scatter(int expert, const float* gathered, int size, float* rows) const {
  for (int t = 0; t < tokens_; ++t) {
    for (int n = 0; n < used_; ++n) {
      if (choices(t)[n].expert != expert) continue;
      float* row = rows + static_cast<std::ptrdiff_t>(t) * size;
      for (int i = 0; i < size; ++i) row[i] += choices(t)[n].weight * gathered[i];
      gathered += size;
      break;
    }
  }
}

}  // namespace ropewalk
