#include "matmul/activations.h"

#include <wasm_simd128.h>

#include <algorithm>

#include "base/thread_pool.h"
#include "matmul/transpose_four_simd.h"

namespace ropewalk {
namespace {

// Operations per float (thread_pool.h).
constexpr std::int64_t kTurnWork = 4;
constexpr std::int64_t kQuantizeWork = 16;

// Minimum number of tokens for which unpacking weights for tiles is worthwhile.
constexpr int kTokensForTiles = 3;

// Writes the columns of four tokens in turns.
void take_turns(const float* const (&rows)[kTileTokens], int columns, float* to) {
  int column = 0;
  for (; column + 4 <= columns; column += 4, to += 4 * kTileTokens) {
    const auto four = [&](int token) { return wasm_v128_load(rows[token] + column); };
    store_turns(to, four(0), four(1), four(2), four(3));
  }
  for (; column < columns; ++column, to += kTileTokens) {
    for (int t = 0; t < kTileTokens; ++t) to[t] = rows[t][column];
  }
}

}  // namespace

void Activations::set(const float* x, std::ptrdiff_t stride, int tokens, int columns) {
  floats_ = x;
  stride_ = stride;
  tokens_ = tokens;
  columns_ = columns;
  is_prepared_ = false;
  rounded_ = {};
}

void Activations::choose_turns(const MatmulKernels& kernels) {
  turns_ = tokens_ >= kTokensForTiles && kernels.unpack[0] != nullptr ? kTileTokens : 1;
}

// Calls act(floats of four tokens, index of the first) for all that take turns. The threads divide them.
template <class Act>
void Activations::each_four(std::int64_t work, Act&& act) const {
  each_in_parallel(filled_tokens() / kTileTokens, work * kTileTokens * columns_, [&](int four) {
    const float* rows[kTileTokens];
    for (int t = 0; t < kTileTokens; ++t) rows[t] = floats_ + std::min(four * kTileTokens + t, tokens_ - 1) * stride_;
    act(rows, four * kTileTokens);
  });
}

Status Activations::prepare_floats(const MatmulKernels& kernels) {
  if (is_prepared_) return Status::ok;
  choose_turns(kernels);
  if (in_tiles()) {
    if (!turned_.resize(static_cast<std::uint64_t>(filled_tokens()) * columns_)) return Status::out_of_memory;
    each_four(kTurnWork, [&](const float* const(&rows)[kTileTokens], int first) {
      take_turns(rows, columns_, turned_.data() + static_cast<std::ptrdiff_t>(first) * columns_);
    });
  }
  is_prepared_ = true;
  return Status::ok;
}

Status Activations::quantize(const MatmulKernels& kernels, RoundedInputs inputs) {
  if (rounded_.as_bytes >= inputs.as_bytes && rounded_.as_words >= inputs.as_words) return Status::ok;
  inputs = {inputs.as_bytes || rounded_.as_bytes, inputs.as_words || rounded_.as_words};
  choose_turns(kernels);
  const int first_twice = in_tiles() ? first_alone() : tokens_;  // tokens from here on take turns, and lie alone as well
  const std::uint64_t size = static_cast<std::uint64_t>(filled_tokens() + tokens_ - first_twice) * columns_;
  const bool has_room = (!inputs.as_bytes || bytes_.resize(size)) &&
                        (!inputs.as_words || (words_.resize(size) && even_offsets_.resize(size / 32))) && scales_.resize(size / 32) &&
                        sums_.resize(size / 16);
  if (!has_room) return Status::out_of_memory;
  rounded_ = inputs;
  if (in_tiles()) {
    each_four(kQuantizeWork, [&](const float* const(&rows)[kTileTokens], int first) {
      kernels.quantize_four(rows, columns_, quantized(static_cast<std::ptrdiff_t>(first) * columns_));
    });
  }
  each_in_parallel(tokens_ - first_alone(), kQuantizeWork * columns_, [&](int i) {
    const int token = first_alone() + i;
    kernels.quantize(floats_ + token * stride_, columns_, alone(token, 0).quantized);
  });
  return Status::ok;
}

QuantizedRow Activations::quantized(std::ptrdiff_t element) {
  if (!rounded_.as_bytes && !rounded_.as_words) return {};
  return {rounded_.as_bytes ? bytes_.data() + element : nullptr, rounded_.as_words ? words_.data() + element : nullptr,
          scales_.data() + element / 32, sums_.data() + element / 16, rounded_.as_words ? even_offsets_.data() + element / 32 : nullptr};
}

TokenRows Activations::rows(int token, int column, int count) {
  if (!in_tiles()) return alone(token, column);
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(token) * columns_ + column * turns_;
  return {is_prepared_ ? turned_.data() + first : nullptr, quantized(first), columns_, (count + turns_ - 1) / turns_ * turns_};
}

int Activations::first_alone() const {
  if (!in_tiles()) return 0;
  const int rest = tokens_ % turns_;
  return rest <= 2 ? tokens_ - rest : tokens_;
}

TokenRows Activations::alone(int token, int column) {
  const std::ptrdiff_t row = in_tiles() ? filled_tokens() + token - first_alone() : token;
  return {floats_ + token * stride_ + column, quantized(row * columns_ + column), columns_, 1};
}

}  // namespace ropewalk
