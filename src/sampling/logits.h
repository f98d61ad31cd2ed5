// Passes over the logits of a vocabulary, on threads.
#pragma once

#include <algorithm>
#include <cstdint>

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

// Copies the logits. Returns whether all are finite.
bool copy_finite_logits(const float* logits, int size, float* to);

// Of logits that aren't NaN.
float largest_logit(const float* logits, int size);

// A logit that at least `count` tokens have or exceed, close to the largest of these, or -infinity. Logits must not be NaN.
float logit_of_many(const float* logits, int size, int count);

// The first token with the largest logit.
int largest_token(const float* logits, int size);

}  // namespace ropewalk
