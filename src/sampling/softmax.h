// Weights e^((logit - largest) / temperature) of all logits, on threads. Logits of -infinity weigh nothing.
#pragma once

#include <algorithm>

#include "base/buffer.h"
#include "base/status.h"
#include "base/thread_pool.h"

namespace ropewalk {

// Logits are summed in chunks, whose sums are then added in order: so sums don't depend on the number of threads.
constexpr int kLogitChunk = 8192;
constexpr std::int64_t kLogitWork = 16;  // operations per logit (thread_pool.h)

constexpr int logit_chunks(int size) { return (size + kLogitChunk - 1) / kLogitChunk; }

// Calls act(chunk, first, count) for each chunk.
template <class Act>
void each_logit_chunk(int size, Act&& act) {
  each_in_parallel(logit_chunks(size), kLogitWork * kLogitChunk, [&](int chunk) {
    const int first = chunk * kLogitChunk;
    act(chunk, first, std::min(kLogitChunk, size - first));
  });
}

float largest_logit(const float* logits, int size);

// The sum of the weights of `count` logits, at most a chunk. Writes (logit - largest) / temperature and the weights where these aren't
// null; `scaled` may be `logits`. Even a tiny temperature can't overflow.
double weigh_logits(const float* logits, int count, double largest, double temperature, float* scaled, float* weights);

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
