#include "transformer/blocks/router.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/float_math.h"

namespace ropewalk {
bool Router::resize(int experts, const Routing& routing, int tokens) {
  experts_ = experts;
  routing_ = routing;
  tokens_ = 0;
  return scores_.resize(static_cast<std::uint64_t>(experts) * tokens) && weights_.resize(experts) && members_.resize(experts) &&
         group_scores_.resize(routing.groups) && choices_.resize(static_cast<std::uint64_t>(routing.used) * tokens);
}

void Router::choose(int tokens, const float* bias, const float* scales) {
  tokens_ = tokens;
  for (int t = 0; t < tokens; ++t) {
    choose_for(scores_.data() + static_cast<std::ptrdiff_t>(t) * experts_, bias, scales,
               choices_.data() + static_cast<std::ptrdiff_t>(t) * routing_.used);
  }
}

// Scores of other groups become -infinity. Of equal groups, the first wins.
void Router::keep_best_groups(float* scores) {
  const int size = experts_ / routing_.groups;
  for (int group = 0; group < routing_.groups; ++group) {
    float* members = members_.data();
    std::copy_n(scores + group * size, size, members);
    std::partial_sort(members, members + routing_.group_best, members + size, std::greater<>());
    group_scores_[group] = 0;
    for (int n = 0; n < routing_.group_best; ++n) group_scores_[group] += members[n];
  }
  for (int dropped = routing_.groups - routing_.groups_used; dropped > 0; --dropped) {
    int worst = 0;
    for (int group = 1; group < routing_.groups; ++group) {
      if (group_scores_[group] <= group_scores_[worst]) worst = group;
    }
    group_scores_[worst] = std::numeric_limits<float>::infinity();
    std::fill_n(scores + worst * size, size, -std::numeric_limits<float>::infinity());
  }
}

void Router::choose_for(float* scores, const float* bias, const float* scales, Choice* choices) {
  for (int i = 0; i < experts_; ++i) scores[i] *= routing_.score_scale;
  if (routing_.weight == ExpertWeight::softmax) {
    const float largest = *std::max_element(scores, scores + experts_);
    float sum = 0;
    for (int i = 0; i < experts_; ++i) sum += weights_[i] = exp_f32(scores[i] - largest);
    for (int i = 0; i < experts_; ++i) weights_[i] /= sum;
  } else {
    for (int i = 0; i < experts_; ++i) weights_[i] = sigmoid_f32(scores[i]);
  }
  if (bias != nullptr || routing_.group_best > 1) {
    for (int i = 0; i < experts_; ++i) scores[i] = weights_[i] + (bias == nullptr ? 0 : bias[i]);
  }
  if (routing_.groups > 1) keep_best_groups(scores);
  float sum = 0;
  for (int n = 0; n < routing_.used; ++n) {
    const int expert = static_cast<int>(std::max_element(scores, scores + experts_) - scores);
    choices[n] = {expert, weights_[expert]};
    sum += choices[n].weight;
    scores[expert] = -std::numeric_limits<float>::infinity();  // not chosen again
  }
  const float divisor = routing_.normalizes ? std::max(sum, routing_.least_sum) : 1;
  for (int n = 0; n < routing_.used; ++n) {
    const float scale = scales == nullptr ? 1 : scales[choices[n].expert];
    choices[n].weight = choices[n].weight / divisor * routing_.scale * scale;
  }
}

int Router::gather(int expert, const float* rows, int size, float* gathered) const {
  int count = 0;
  for (int t = 0; t < tokens_; ++t) {
    for (int n = 0; n < routing_.used; ++n) {
      if (choices(t)[n].expert != expert) continue;
      const float* row = rows + static_cast<std::ptrdiff_t>(t) * size;
      float* target = gathered + static_cast<std::ptrdiff_t>(count++) * size;
      const float factor = routing_.scales_input ? choices(t)[n].weight : 1;
      for (int i = 0; i < size; ++i) target[i] = factor * row[i];
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
      const float factor = routing_.scales_input ? 1 : choices(t)[n].weight;
      for (int i = 0; i < size; ++i) row[i] += factor * gathered[i];
      gathered += size;
      break;
    }
  }
}

}  // namespace ropewalk
