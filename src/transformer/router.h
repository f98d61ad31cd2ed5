// Chooses experts for each token (Shazeer et al. 2017, arXiv:1701.06538): those with the largest scores, weighted by the softmax over all
// scores.
#pragma once

#include "base/buffer.h"

namespace ropewalk {

class Router {
 public:
  // Sets the sizes. `used` is the number of experts per token. `normalizes`: scale the weights of a token's experts to sum to 1. Returns
  // false if out of memory.
  [[nodiscard]] bool resize(int experts, int used, bool normalizes, int tokens);

  // [tokens][experts], to be filled before choose().
  float* scores() { return scores_.data(); }

  // Chooses experts for each token, and overwrites the scores. If scores are equal, the first expert wins.
  void choose(int tokens);

  // Copies the rows of all tokens that use an expert to `gathered`, contiguously, and returns their number.
  int gather(int expert, const float* rows, int size, float* gathered) const;

  // Adds an expert's output rows, in the order of gather() and times their weights, to the rows of their tokens.
  void scatter(int expert, const float* gathered, int size, float* rows) const;

 private:
  struct Choice {
    int expert;
    float weight;
  };
  const Choice* choices(int token) const { return choices_.data() + static_cast<std::ptrdiff_t>(token) * used_; }
  void choose_for(float* scores, Choice* choices) const;

  int experts_ = 0, used_ = 0, tokens_ = 0;
  bool normalizes_ = false;
  Buffer<float> scores_;
  Buffer<Choice> choices_;  // [tokens][used]
};

}  // namespace ropewalk
