#include "matmul/activations.h"

#include <algorithm>

#include "base/thread_pool.h"

namespace ropewalk {
namespace {

// Operations per float (thread_pool.h).
constexpr std::int64_t kTurnWork = 4;
constexpr std::int64_t kQuantizeWork = 16;

// Minimum number of tokens for which unpacking weights for tiles is worthwhile.
constexpr int kTokensForTiles = 3;

}  // namespace

void Activations::set(const float* x, std::ptrdiff_t stride, int tokens, int columns) {
  floats_ = x;
  stride_ = stride;
  tokens_ = tokens;
  columns_ = columns;
  is_prepared_ = is_quantized_ = false;
}

void Activations::choose_turns(const MatmulKernels& kernels) {
  turns_ = tokens_ >= kTokensForTiles && kernels.unpack[0] != nullptr ? kTileTokens : 1;
}

// Calls act(token, floats of the token) for all tokens. The threads divide them in fours, whose results share cache lines.
template <class Act>
void Activations::each_row(std::int64_t work, Act&& act) const {
  each_in_parallel((tokens_ + turns_ - 1) / turns_, work * turns_ * columns_, [&](int first) {
    for (int t = first * turns_; t < (first + 1) * turns_; ++t) act(t, floats_ + std::min(t, tokens_ - 1) * stride_);
  });
}

Status Activations::prepare_floats(const MatmulKernels& kernels) {
  if (is_prepared_) return Status::ok;
  choose_turns(kernels);
  if (in_tiles()) {
    if (!turned_.resize(size())) return Status::out_of_memory;
    each_row(kTurnWork, [&](int token, const float* row) {
      float* to = turned_.data() + static_cast<std::ptrdiff_t>(token / kTileTokens) * kTileTokens * columns_ + token % kTileTokens;
      for (int i = 0; i < columns_; ++i) to[i * kTileTokens] = row[i];
    });
  }
  is_prepared_ = true;
  return Status::ok;
}

Status Activations::quantize(const MatmulKernels& kernels) {
  if (is_quantized_) return Status::ok;
  choose_turns(kernels);
  const bool has_room = bytes_.resize(size()) && words_.resize(size()) && scales_.resize(size() / 32) && sums_.resize(size() / 16);
  if (!has_room) return Status::out_of_memory;
  is_quantized_ = true;
  each_row(kQuantizeWork, [&](int token, const float* row) { kernels.quantize(row, columns_, quantized(token, 0)); });
  return Status::ok;
}

QuantizedRow Activations::quantized(int token, int column) {
  if (!is_quantized_) return {};
  // in units of 32 bits that hold one element; those with two or four are at half or a quarter of it
  const int turn = token % turns_;
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(token - turn) * columns_ + column * turns_;
  return {bytes_.data() + first + 4 * turn, words_.data() + first + 2 * turn, scales_.data() + first / 32 + turn,
          sums_.data() + first / 16 + 2 * turn, turns_};
}

TokenRows Activations::rows(int token, int column, int count) {
  const float* floats = floats_ + token * stride_ + column;
  if (in_tiles()) floats = is_prepared_ ? turned_.data() + static_cast<std::ptrdiff_t>(token) * columns_ + column * kTileTokens : nullptr;
  return {floats, quantized(token, column), columns_, (count + turns_ - 1) / turns_ * turns_};
}

}  // namespace ropewalk
