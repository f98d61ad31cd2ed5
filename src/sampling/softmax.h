// Weights e^((logit - largest) / temperature) of all logits, on threads. Logits of -infinity weigh nothing.
#pragma once

#include "base/buffer.h"
#include "base/status.h"
#include "sampling/logits.h"

namespace ropewalk {

// The sum of the weights of `count` logits, at most a chunk, at temperature 1.
double sum_of_weights(const float* logits, int count, float largest);

// The same at any temperature. Replaces the logits by (logit - largest) / temperature, and writes the weights. Even a tiny temperature
// can't overflow.
double weigh_logits(float* logits, int count, float largest, double temperature, float* weights);

// The weights of a vocabulary.
class Softmax {
 public:
  bool resize(int size) { return weights_.resize(size) && sums_.resize(logit_chunks(size)); }

  // Scales the logits in place. Returns thread_lost or ok.
  Status weigh(float* logits, int size, double temperature);

  const float* weights() const { return weights_.data(); }
  double total() const { return total_; }
  // A token by its probability; `uniform` in [0, 1).
  int draw(int size, double uniform) const;

 private:
  Buffer<float> weights_;
  Buffer<double> sums_;  // of each chunk
  double total_ = 0;
};

}  // namespace ropewalk
