// Position schemes other than RoPE, so that they can be compared through one attention call.
//
//   none        no positions
//   rope        rotates q and k (rope/)
//   sinusoidal  adds a table of sines to q and k: p[2i] = sin(m / base^(2i/d)), p[2i+1] = cos(…), Vaswani et al. 2017 (arXiv:1706.03762)
//   learned     adds rows of a given table to q and k: BERT, GPT-2
//   alibi       adds -slope · distance to scores: Press et al. 2021 (arXiv:2108.12409)
//   t5          adds a bias for each bucket of distances to scores: Raffel et al. 2019 (arXiv:1910.10683)
//
// Models usually add sinusoidal and learned tables to the input of the first layer. Attention has only q and k, so here they are added to q
// and k of each head, as DETR (arXiv:2005.12872) does in every layer.
#pragma once

#include <span>

#include "base/buffer.h"
#include "base/status.h"

namespace ropewalk {

enum class PositionScheme : int { none, rope, sinusoidal, learned, alibi, t5 };

constexpr int kPositionSchemes = 6;

// Writes the row of the sinusoidal table at `position`, [dim]. Positions may be fractional or negative. If dim is odd, the last element is
// a sine. base must be above 1 and at most 1e30 (usually 10000), and |position| at most kAngleLimit (sin_cos.h); otherwise returns
// sinusoidal_base_out_of_range or position_out_of_range. Each value is within 2^-24 of the exact one up to |position| = 2^25; beyond, the
// error grows by 2^-50 |position|.
Status sinusoidal_row(double position, double base, int dim, float* row);

// The rows of several positions, [positions][dim]. Stops at the first that fails.
Status sinusoidal_rows(std::span<const double> positions, double base, int dim, float* rows);

// Writes the ALiBi slope of each head, [heads], rounded once. For a power of two n of heads the slope of head h is 2^(-8 (h + 1) / n).
// Otherwise the first heads get the slopes of the next smaller power of two, and the others every second slope of twice that power.
void alibi_slopes(int heads, float* slopes);

struct T5Buckets {
  int buckets = 32;            // rows of the bias table
  int max_distance = 128;      // this distance and all larger ones share the last bucket
  bool bidirectional = false;  // true: half of the buckets are for keys after the query
};

// Returns the bucket of a key at `relative` = key position - query position, truncated to an integer. Short distances have a bucket each;
// later buckets get logarithmically wider. If not bidirectional, keys after the query are in bucket 0.
int t5_bucket(const T5Buckets& rule, double relative);

// Checks that each direction has at least two buckets, and that max_distance is larger than half of them. Returns
// position_bias_out_of_range or ok.
Status check_t5(const T5Buckets& rule);

// Checks the rule and writes the bucket of each distance.
Status t5_buckets(const T5Buckets& rule, std::span<const double> relative, int* buckets);

}  // namespace ropewalk
