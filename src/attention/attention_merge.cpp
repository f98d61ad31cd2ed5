// How the rows of a tile begin, take up the chunks of keys in their order, and become outputs.
#include <wasm_simd128.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "attention/attention_pass.h"
#include "base/float_math.h"

namespace ropewalk {
namespace {

constexpr SoftmaxState kNoKeys = {std::numeric_limits<float>::lowest(), 0};

// The factors of two sums of values when their chunks are merged.
struct MergeFactors {
  float total, added;
};
MergeFactors merge_states(SoftmaxState& total, const SoftmaxState& added) {
  const float maximum = added.maximum > total.maximum ? added.maximum : total.maximum;
  const MergeFactors factors = {exp_f32(total.maximum - maximum), exp_f32(added.maximum - maximum)};
  total = {maximum, total.sum * factors.total + added.sum * factors.added};
  return factors;
}

}  // namespace

void Pass::start(const Tile& tile, const PartialRows& rows) const {
  std::fill_n(rows.states, rows_of(tile), kNoKeys);
  std::memset(rows.sums, 0, static_cast<std::size_t>(rows_of(tile)) * dim_ * sizeof(float));
}

// A row that saw no key of the chunk keeps its bits.
void Pass::merge(const Tile& tile, const Chunk& chunk, const PartialRows& partial, const PartialRows& total) const {
  for (int t = 0; t < tile.tokens; ++t) {
    const VisibleKeys visible = visible_to(chunk.part, tile.first_token + t, tile.first_token + t);
    if (intersection(visible.sinks, chunk.slots).is_empty() && intersection(visible.window, chunk.slots).is_empty()) continue;
    for (int k = 0; k < tile.kv_heads; ++k) {
      const int first = row_of(tile, k, t);
      for (int row = first; row < first + group_; ++row) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * dim_;
        const MergeFactors factors = merge_states(total.states[row], partial.states[row]);
        kernels_.blend({&factors.added, &factors.total, 1, partial.sums + at, dim_, 1, dim_, total.sums + at, dim_});
      }
    }
  }
}

void Pass::write_out(const Tile& tile, const PartialRows& total) const {
  for (int t = 0; t < tile.tokens; ++t) {
    const int token = tile.first_token + t;
    const bool saw_keys = chunks(token, token).count() > 0;
    for (int k = 0; k < tile.kv_heads; ++k) {
      for (int g = 0; g < group_; ++g) {
        const int row = row_of(tile, k, t) + g, head = (tile.first_kv_head + k) * group_ + g;
        const float* sum = total.sums + static_cast<std::ptrdiff_t>(row) * dim_;
        float* out = queries_.out + token * queries_.token_stride + head * queries_.head_stride;
        // if a row saw keys, its largest weight is 1, unless a non-finite query made all scores NaN
        const float factor = total.states[row].sum > 0 ? 1 / total.states[row].sum : saw_keys ? std::numeric_limits<float>::quiet_NaN() : 0;
        int i = 0;
        for (; i + 4 <= kv_.head_dim; i += 4) wasm_v128_store(out + i, wasm_f32x4_mul(wasm_v128_load(sum + i), wasm_f32x4_splat(factor)));
        for (; i < kv_.head_dim; ++i) out[i] = sum[i] * factor;
      }
    }
  }
}

}  // namespace ropewalk
