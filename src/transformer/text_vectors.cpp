#include "transformer/text_vectors.h"

#include <algorithm>
#include <utility>

#include "base/thread_pool.h"
#include "vectors/row_work.h"

namespace ropewalk {

void pool(Pooling pooling, const float* rows, int tokens, int size, float* out) {
  if (pooling == Pooling::cls || pooling == Pooling::last) {
    std::copy_n(rows + elements(pooling == Pooling::cls ? 0 : tokens - 1, size), size, out);
    return;
  }
  for (int i = 0; i < size; ++i) {
    double sum = 0;
    float largest = rows[i];
    for (int t = 0; t < tokens; ++t) {
      const float x = rows[elements(t, size) + i];
      sum += x;
      largest = x > largest ? x : largest;
    }
    out[i] = pooling == Pooling::mean ? static_cast<float>(sum / tokens) : largest;
  }
}

int TextVectors::size(const ModelConfig& c, bool uses_dense) {
  int size = c.hidden_size;
  for (int i = 0; uses_dense && i < kMaxDense && c.dense[i].size > 0; ++i) size = c.dense[i].size;
  return size;
}

Status TextVectors::write(const Weights& weights, const WholeTexts& texts, const Forward& forward, Pooling pooling, bool uses_dense,
                          float* out) {
  const int count = texts.texts();
  if (count < 1 || forward.tokens() != texts.tokens()) return Status::token_count_out_of_range;
  const ModelConfig& c = weights.config();
  int widest = c.hidden_size;
  for (const DenseConfig& dense : c.dense) widest = std::max(widest, dense.size);
  for (Buffer<float>& rows : rows_) {
    if (!rows.resize(static_cast<std::uint64_t>(count) * widest)) return Status::out_of_memory;
  }
  float *from = rows_[0].data(), *to = rows_[1].data();
  Status status = Status::ok;
  const Projector multiply = {kernels_, &status};
  const float* rows = forward.hidden();
  int size = c.hidden_size, next_dense = 0;
  if (uses_dense && c.projects_tokens && pooling == Pooling::max) {  // other poolings are linear, and one vector is less work
    const int projected = c.dense[0].size;
    if (!projected_.resize(static_cast<std::uint64_t>(texts.tokens()) * projected)) return Status::out_of_memory;
    inputs_.set(rows, size, texts.tokens(), size);
    multiply(Stage::head, inputs_, {{&weights[ModelMatrix::dense_1], weights[ModelVector::dense_1_bias], projected_.data(), projected}});
    rows = projected_.data(), size = projected, next_dense = 1;
  }
  each_in_parallel(count, kRowWork * size * texts.longest(), [&](int text) {
    const int first = texts.start(text), tokens = texts.start(text + 1) - first;
    pool(pooling, rows + elements(first, size), tokens, size, from + elements(text, size));
  });
  for (int i = next_dense; uses_dense && i < kMaxDense && c.dense[i].size > 0; ++i) {
    const WeightMatrix& w = weights[static_cast<ModelMatrix>(static_cast<int>(ModelMatrix::dense_1) + i)];
    const float* bias = weights[static_cast<ModelVector>(static_cast<int>(ModelVector::dense_1_bias) + i)];
    inputs_.set(from, size, count, size);
    multiply(Stage::head, inputs_, {{&w, bias, to, w.rows}});
    size = w.rows;
    if (c.dense[i].activates) activate(c.dense[i].activation, to, elements(count, size));
    const float* norm = i == 0 ? weights[ModelVector::dense_norm] : nullptr;
    for (int text = 0; norm != nullptr && text < count; ++text) {
      float* row = to + elements(text, size);
      normalize(c.norm, row, size, norm, weights[ModelVector::dense_norm_bias], row);
    }
    std::swap(from, to);
  }
  if (status == Status::ok) std::copy_n(from, elements(count, size), out);
  return status;
}

}  // namespace ropewalk
