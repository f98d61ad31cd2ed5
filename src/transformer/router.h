// Which experts of a layer each token goes to (Shazeer et al. 2017, arXiv:1701.06538): those of the largest scores, weighted by the softmax
// over the scores of all.
#pragma once

#include "base/buffer.h"

namespace ropewalk {

class Router {
 public:
  // `normalizes`: the weights of the `used` experts of a token are made to sum to 1.
  [[nodiscard]] bool resize(int experts, int used, bool normalizes, int tokens);

  // [tokens][experts], to be written before choose().
  float* scores() { return scores_.data(); }

  // Chooses for each token, and spends the scores. Of equal scores the first expert's wins.
  void choose(int tokens);

  // Copies the rows of the tokens that chose an expert, one behind the other, and returns their number.
  int gather(int expert, const float* rows, int size, float* gathered) const;

  // Adds an expert's rows, in the order of gather(), each times its weight, to those of their tokens.
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
