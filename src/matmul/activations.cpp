#include "matmul/activations.h"

#include <wasm_simd128.h>

#include <algorithm>

#include "base/thread_pool.h"

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
    v128_t of[kTileTokens];
    for (int t = 0; t < kTileTokens; ++t) of[t] = wasm_v128_load(rows[t] + column);
    const v128_t low[] = {wasm_i32x4_shuffle(of[0], of[1], 0, 4, 1, 5), wasm_i32x4_shuffle(of[2], of[3], 0, 4, 1, 5)};
    const v128_t high[] = {wasm_i32x4_shuffle(of[0], of[1], 2, 6, 3, 7), wasm_i32x4_shuffle(of[2], of[3], 2, 6, 3, 7)};
    wasm_v128_store(to, wasm_i64x2_shuffle(low[0], low[1], 0, 2));
    wasm_v128_store(to + 4, wasm_i64x2_shuffle(low[0], low[1], 1, 3));
    wasm_v128_store(to + 8, wasm_i64x2_shuffle(high[0], high[1], 0, 2));
    wasm_v128_store(to + 12, wasm_i64x2_shuffle(high[0], high[1], 1, 3));
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

// Calls act(token, floats of the token) for all tokens. The threads divide them in fours, whose results share cache lines.
template <class Act>
void Activations::each_row(std::int64_t work, Act&& act) const {
  each_in_parallel(filled_tokens() / turns_, work * turns_ * columns_, [&](int first) {
    for (int t = first * turns_; t < (first + 1) * turns_; ++t) act(t, row(t));
  });
}

Status Activations::prepare_floats(const MatmulKernels& kernels) {
  if (is_prepared_) return Status::ok;
  choose_turns(kernels);
  if (in_tiles()) {
    if (!turned_.resize(static_cast<std::uint64_t>(filled_tokens()) * columns_)) return Status::out_of_memory;
    each_in_parallel(filled_tokens() / kTileTokens, kTurnWork * kTileTokens * columns_, [&](int four) {
      const float* rows[kTileTokens];
      for (int t = 0; t < kTileTokens; ++t) rows[t] = row(four * kTileTokens + t);
      take_turns(rows, columns_, turned_.data() + static_cast<std::ptrdiff_t>(four) * kTileTokens * columns_);
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
  each_row(kQuantizeWork, [&](int token, const float* row) { kernels.quantize(row, columns_, rows(token, 0, 1).quantized); });
  for (int t = first_twice; t < tokens_; ++t) kernels.quantize(floats_ + t * stride_, columns_, alone(t, 0).quantized);
  return Status::ok;
}

QuantizedRow Activations::quantized(std::ptrdiff_t element, int turn, int turns) {
  if (!rounded_.as_bytes && !rounded_.as_words) return {};
  // in units of 32 bits that hold one element; those with two or four are at half or a quarter of it
  return {rounded_.as_bytes ? bytes_.data() + element + 4 * turn : nullptr,
          rounded_.as_words ? words_.data() + element + 2 * turn : nullptr,
          scales_.data() + element / 32 + turn,
          sums_.data() + element / 16 + 2 * turn,
          rounded_.as_words ? even_offsets_.data() + element / 32 + turn : nullptr,
          turns};
}

TokenRows Activations::rows(int token, int column, int count) {
  if (!in_tiles()) return alone(token, column);
  const int turn = token % turns_;
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(token - turn) * columns_ + column * turns_;
  return {is_prepared_ ? turned_.data() + first + turn : nullptr, quantized(first, turn, turns_), columns_,
          (count + turns_ - 1) / turns_ * turns_};
}

int Activations::first_alone() const {
  if (!in_tiles()) return 0;
  const int rest = tokens_ % turns_;
  return rest <= 2 ? tokens_ - rest : tokens_;
}

TokenRows Activations::alone(int token, int column) {
  const std::ptrdiff_t row = in_tiles() ? filled_tokens() + token - first_alone() : token;
  return {floats_ + token * stride_ + column, quantized(row * columns_ + column, 0, 1), columns_, 1};
}

}  // namespace ropewalk
