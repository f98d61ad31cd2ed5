#include "transformer/router.h"

#include <algorithm>
#include <limits>

#include "base/float_math.h"

namespace ropewalk {
namespace {

constexpr float kSmallestSum = 1e-20f;

}  // namespace

bool Router::resize(int experts, const Routing& routing, int tokens) {
  experts_ = experts;
  routing_ = routing;
  tokens_ = 0;
  return scores_.resize(static_cast<std::uint64_t>(experts) * tokens) && weights_.resize(experts) &&
         choices_.resize(static_cast<std::uint64_t>(routing.used) * tokens);
}

void Router::choose(int tokens, const float* bias) {
  tokens_ = tokens;
  for (int t = 0; t < tokens; ++t) {
    choose_for(scores_.data() + static_cast<std::ptrdiff_t>(t) * experts_, bias,
               choices_.data() + static_cast<std::ptrdiff_t>(t) * routing_.used);
  }
}

void Router::choose_for(float* scores, const float* bias, Choice* choices) {
  if (routing_.weight == ExpertWeight::softmax) {
    const float largest = *std::max_element(scores, scores + experts_);
    float sum = 0;
    for (int i = 0; i < experts_; ++i) sum += weights_[i] = exp_f32(scores[i] - largest);
    for (int i = 0; i < experts_; ++i) weights_[i] /= sum;
  } else {
    for (int i = 0; i < experts_; ++i) weights_[i] = sigmoid_f32(scores[i]);
  }
  if (bias != nullptr) {
    for (int i = 0; i < experts_; ++i) scores[i] = weights_[i] + bias[i];
  }
  float sum = 0;
  for (int n = 0; n < routing_.used; ++n) {
    const int expert = static_cast<int>(std::max_element(scores, scores + experts_) - scores);
    choices[n] = {expert, weights_[expert]};
    sum += choices[n].weight;
    scores[expert] = -std::numeric_limits<float>::infinity();  // not chosen again
  }
  // a bias can choose experts whose weights are all 0
  const float divisor = routing_.normalizes ? std::max(sum, kSmallestSum) : 1;
  for (int n = 0; n < routing_.used; ++n) choices[n].weight = choices[n].weight / divisor * routing_.scale;
}

int Router::gather(int expert, const float* rows, int size, float* gathered) const {
  int count = 0;
  for (int t = 0; t < tokens_; ++t) {
    for (int n = 0; n < routing_.used; ++n) {
      if (choices(t)[n].expert != expert) continue;
      std::copy_n(rows + static_cast<std::ptrdiff_t>(t) * size, size, gathered + static_cast<std::ptrdiff_t>(count++) * size);
      break;  // non-finite scores may choose an expert twice
    }
  }
  return count;
}

void Router::scatter(int expert, const float* gathered, int size, float* rows) const {
  for (int t = 0; t < tokens_; ++t) {
    for (int n = 0; n < routing_.used; ++n) {
      if (choices(t)[n].expert != expert) continue;
      float* row = rows + static_cast<std::ptrdiff_t>(t) * size;
      for (int i = 0; i < size; ++i) row[i] += choices(t)[n].weight * gathered[i];
      gathered += size;
      break;
    }
  }
}

}  // namespace ropewalk
