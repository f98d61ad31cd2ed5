// simd128 kernels for f32, f16 and bf16 weights.
#pragma once

#include "base/computed_here.h"
#include "base/storage_wasmsimd.h"
#include "base/touch.h"
#include "matmul/kernels/matmul_kernels.h"
#include "matmul/kernels/matmul_turns_simd.h"
#include "matmul/kernels/matmul_unrolled.h"

namespace ropewalk {

// Loads a column of eight rows as two vectors. BF16Column and FiniteF16Column split each 32-bit lane, so they give the even rows and the
// odd rows.
struct F32Column {
  explicit F32Column(float) {}

  using Element = float;
  static constexpr bool kEvenOdd = false;
  F32x8 load(const float* rows) const { return load8(rows); }
};

struct BF16Column {
  explicit BF16Column(float) {}

  using Element = BFloat16;
  static constexpr bool kEvenOdd = true;
  F32x8 load(const BFloat16* rows) const {
    const v128_t both = wasm_v128_load(rows);
    return {wasm_i32x4_shl(both, 16), wasm_v128_and(both, wasm_i32x4_splat(static_cast<std::int32_t>(0xFFFF0000u)))};
  }
};

class FiniteF16Column {
 public:
  explicit FiniteF16Column(float unit) : bias_(f16_bias(unit)) {}

  using Element = Float16;
  static constexpr bool kEvenOdd = true;
  F32x8 load(const Float16* rows) const {
    const v128_t both = wasm_v128_load(rows);
    return {to_floats(wasm_i32x4_shl(both, 16)), to_floats(both)};
  }

 private:
  // Converts the upper half of each lane: shifts exponent and mantissa into place, then multiplies to correct the exponent.
  v128_t to_floats(v128_t upper) const {
    const v128_t placed = wasm_v128_and(wasm_i32x4_shr(upper, 3), wasm_i32x4_splat(static_cast<std::int32_t>(0x8FFFE000u)));
    return wasm_f32x4_mul(placed, bias_);
  }

  v128_t bias_;
};

// Loads and stores eight sums, in row order or split into even and odd rows.
template <bool EvenOdd>
inline F32x8 load_sums(const float* sums) {
  const F32x8 rows = load8(sums);
  if constexpr (!EvenOdd) return rows;
  return {wasm_i32x4_shuffle(rows.low, rows.high, 0, 2, 4, 6), wasm_i32x4_shuffle(rows.low, rows.high, 1, 3, 5, 7)};
}

template <bool EvenOdd>
inline void store_sums(float* sums, F32x8 values) {
  if constexpr (!EvenOdd) return store8(sums, values);
  store8(sums, {wasm_i32x4_shuffle(values.low, values.high, 0, 4, 1, 5), wasm_i32x4_shuffle(values.low, values.high, 2, 6, 3, 7)});
}

// Adds the products with `columns` columns of a panel to `sums`.
template <class Arithmetic, class Column>
ROPEWALK_INLINE inline void add_columns(const std::uint8_t* panel, const float* x, int columns, const Column& rows,
                                        F32x8 (&sums)[kPartialSums]) {
  const auto* weights = reinterpret_cast<const typename Column::Element*>(panel);
  F32x8 partial[kPartialSums];
  unrolled<kPartialSums>([&]<int P>() ROPEWALK_INLINE { partial[P] = sums[P]; });
  const auto add = [&](F32x8& sums, int column) ROPEWALK_INLINE {
    const F32x8 w = rows.load(weights + column * kPanelRows);
    const v128_t both = wasm_v128_load32_splat(x + column);
    sums.low = Arithmetic::add_product(sums.low, w.low, both);
    sums.high = Arithmetic::add_product(sums.high, w.high, both);
    computed_here(sums.low, sums.high);
  };
  int column = 0;
  for (; column + kPartialSums <= columns; column += kPartialSums) {
    unrolled<kPartialSums>([&]<int P>() ROPEWALK_INLINE { add(partial[P], column + P); });
  }
  unrolled<kPartialSums - 1>([&]<int P>() ROPEWALK_INLINE {
    if (column + P < columns) add(partial[P], column + P);
  });
  unrolled<kPartialSums>([&]<int P>() ROPEWALK_INLINE { sums[P] = partial[P]; });
}

// Columns of each panel that are multiplied in turn (PanelParts), a multiple of kPartialSums.
constexpr int kColumnsInTurn = 32;

template <class Arithmetic, class Column>
void float_token(const PanelParts& panels, const TokenRows& x, float* sums) {
  const Column rows(panels.first.unit);
  F32x8 partial[kPanelsTogether][kPartialSums];
  const auto each_sum = [&](auto&& act) {
    for (int i = 0; i < panels.count; ++i) {
      ROPEWALK_ROLLED
      for (int p = 0; p < kPartialSums; ++p) act(partial[i][p], sums + i * panels.sums_apart + p * kPanelRows);
    }
  };
  each_sum([](F32x8& values, const float* from) ROPEWALK_INLINE { values = load_sums<Column::kEvenOdd>(from); });
  const int columns = panels.first.columns;
  constexpr int kBytes = kColumnsInTurn * kPanelRows * sizeof(typename Column::Element);
  const auto add = [&](int first, const Turn<F32x8[kPartialSums]>(&turns)[1]) ROPEWALK_INLINE {
    add_columns<Arithmetic>(turns[0].weights, x.floats + first, std::min(kColumnsInTurn, columns - first), rows, *turns[0].sums);
  };
  each_turn<1>(panels, kColumnsInTurn, kBytes, partial, 1, add);
  each_sum([](const F32x8& values, float* to) ROPEWALK_INLINE { store_sums<Column::kEvenOdd>(to, values); });
}

constexpr int kFloatSums = sums_per_token(true);

// Computes one of the partial sums of eight rows for four tokens. `weights`, `x` and `sums` start at its first column and its sums.
template <class Arithmetic>
inline void float_tile(const float* weights, int columns, const float* x, float* sums) {
  v128_t sum[kTileTokens][2];
  unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE {
    sum[T][0] = wasm_v128_load(sums + T * kFloatSums);
    sum[T][1] = wasm_v128_load(sums + T * kFloatSums + 4);
  });
  for (; columns > 0; columns -= kPartialSums, weights += kPartialSums * kPanelRows, x += kPartialSums * kTileTokens) {
    const F32x8 w = load8(weights);
    unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE {
      const v128_t both = wasm_v128_load32_splat(x + T);
      sum[T][0] = Arithmetic::add_product(sum[T][0], w.low, both);
      sum[T][1] = Arithmetic::add_product(sum[T][1], w.high, both);
    });
  }
  unrolled<kTileTokens>([&]<int T>() ROPEWALK_INLINE {
    wasm_v128_store(sums + T * kFloatSums, sum[T][0]);
    wasm_v128_store(sums + T * kFloatSums + 4, sum[T][1]);
  });
}

template <class Arithmetic>
void float_tokens(const PanelChunk& chunk, int columns, const TokenRows& x, float* sums) {
  const float *weights = reinterpret_cast<const float*>(chunk.from), *from = x.floats;
  NextLines next = chunk.next;
  const std::ptrdiff_t fetched = next.per_step((x.count + kTileTokens - 1) / kTileTokens * kPartialSums);
  for (int token = 0; token < x.count; token += kTileTokens, from += kTileTokens * x.columns, sums += kTileTokens * kFloatSums) {
    for (int p = 0; p < kPartialSums; ++p) {
      next.fetch(fetched);
      float_tile<Arithmetic>(weights + p * kPanelRows, columns - p, from + p * kTileTokens, sums + p * kPanelRows);
    }
  }
}

// A panel has `row_bytes` bytes for each of its rows.
template <class Arithmetic>
void begin_floats(const PanelPart& panel, std::ptrdiff_t row_bytes, const std::uint8_t* from, PanelChunk& chunk) {
  chunk.multiply = float_tokens<Arithmetic>;
  chunk.from = from;
  chunk.next = next_of(panel, row_bytes * kPanelRows);
}

// Reads what isn't in a cache yet line by line: tiles read it in another order, and would wait for each line.
template <class Arithmetic>
void use_floats(const PanelPart& panel, PanelChunk& chunk) {
  const std::ptrdiff_t row_bytes = panel.columns * sizeof(float);
  touch_lines(reinterpret_cast<const char*>(panel.weights), row_bytes * kPanelRows);
  begin_floats<Arithmetic>(panel, row_bytes, panel.weights, chunk);
}

// Calls load(i) for the weights from i on, eight at a time.
template <class Arithmetic, class Load>
void unpack_loaded(const PanelPart& panel, PanelChunk& chunk, Load&& load) {
  begin_floats<Arithmetic>(panel, panel.columns * sizeof(std::uint16_t), chunk.weights, chunk);
  float* out = reinterpret_cast<float*>(chunk.weights);
  for (int i = 0; i < panel.columns * kPanelRows; i += kPanelRows) store8(out + i, load(i));
}

template <class Arithmetic>
void unpack_bf16(const PanelPart& panel, PanelChunk& chunk) {
  const BFloat16* weights = reinterpret_cast<const BFloat16*>(panel.weights);
  unpack_loaded<Arithmetic>(panel, chunk, [&](int i) { return load8(weights + i); });
}

template <class Arithmetic>
void unpack_f16(const PanelPart& panel, PanelChunk& chunk) {
  const Float16* weights = reinterpret_cast<const Float16*>(panel.weights);
  const v128_t bias = f16_bias(panel.unit);
  unpack_loaded<Arithmetic>(panel, chunk, [&](int i) { return load8(weights + i, bias); });
}

}  // namespace ropewalk
