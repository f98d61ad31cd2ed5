// Chooses experts for each token (Shazeer et al. 2017, arXiv:1701.06538): those with the largest scores, weighted by the softmax over all
// scores, or each by the sigmoid of its own score (DeepSeek-V3, arXiv:2412.19437).
#pragma once

#include "base/buffer.h"
#include "transformer/model_config.h"

namespace ropewalk {

class Router {
 public:
  // Sets the sizes. Returns false if out of memory.
  [[nodiscard]] bool resize(int experts, const Routing& routing, int tokens);

  // [tokens][experts], to be filled before choose().
  float* scores() { return scores_.data(); }

  // Chooses experts for each token, and overwrites the scores. If scores are equal, the first expert wins. With a `bias` ([experts] or
  // null), those with the largest sum of weight and bias are chosen, and weighted without the bias. `scales` ([experts] or null) then
  // multiply the weights.
  void choose(int tokens, const float* bias, const float* scales = nullptr);

  // Copies the rows of all tokens that use an expert to `gathered`, contiguously, and returns their number.
  int gather(int expert, const float* rows, int size, float* gathered) const;

  // Adds an expert's output rows, in the order of gather() and times their weights, to the rows of their tokens.
  void scatter(int expert, const float* gathered, int size, float* rows) const;

 private:
  struct Choice {
    int expert;
    float weight;
  };
  const Choice* choices(int token) const { return choices_.data() + static_cast<std::ptrdiff_t>(token) * routing_.used; }
  void keep_best_groups(float* scores);
  void choose_for(float* scores, const float* bias, const float* scales, Choice* choices);

  int experts_ = 0, tokens_ = 0;
  Routing routing_;
  Buffer<float> scores_;        // [tokens][experts]
  Buffer<float> weights_;       // [experts], of one token
  Buffer<float> members_;       // [experts of a group], of one group
  Buffer<float> group_scores_;  // [groups]
  Buffer<Choice> choices_;      // [tokens][used]
};

}  // namespace ropewalk
