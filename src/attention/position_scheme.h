// Ways other than RoPE to tell attention where tokens stand, so that all can be compared behind one call.
//
//   none        nothing
//   rope        turns q and k (rope/)
//   sinusoidal  adds a table of sines to q and k: p[2i] = sin(m / base^(2i/d)), p[2i+1] = cos(…), Vaswani et al. 2017 (arXiv:1706.03762)
//   learned     adds rows of a given table to q and k: BERT, GPT-2
//   alibi       adds -slope · distance to scores: Press et al. 2021 (arXiv:2108.12409)
//   t5          adds a bias for each bucket of distances to scores: Raffel et al. 2019 (arXiv:1910.10683)
//
// Models add sinusoidal and learned tables to the input of the first layer; here, where only q and k are at hand, they are added to each
// head's q and k, as DETR (arXiv:2005.12872) does in every layer.
#pragma once

#include "base/buffer.h"
#include "base/status.h"

namespace ropewalk {

enum class PositionScheme : int { none, rope, sinusoidal, learned, alibi, t5 };

constexpr int kPositionSchemes = 6;

// Writes the row of the sinusoidal table at `position` (fractions and negative ones too), [dim]; an odd last element is a sine. base is
// above 1 and at most 1e30 (10000), |position| at most kAngleLimit (sin_cos.h). Each value is within 2^-24 of the exact one up to
// |position| = 2^25, and 2^-50 |position| worse beyond.
Status sinusoidal_row(double position, double base, int dim, float* row);

// Writes ALiBi's slope of each head, [heads], rounded once: 2^(-8 (h + 1) / n) for a power of two n of heads; otherwise those of the next
// smaller power, then every other one of twice as many.
void alibi_slopes(int heads, float* slopes);

struct T5Buckets {
  int buckets = 32;            // rows of the bias table
  int max_distance = 128;      // from here on all distances share the last bucket
  bool bidirectional = false;  // half of the buckets are for keys after the query
};

// The bucket of a key at `relative` = key position - query position, cut to a whole number: one each for short distances, then
// logarithmically wider ones. Without bidirectional, keys after the query are in bucket 0.
int t5_bucket(const T5Buckets& rule, double relative);

// Checks that each direction has two buckets or more, and max_distance is above half of them.
Status check_t5(const T5Buckets& rule);

}  // namespace ropewalk
