#include "transformer/blocks/head.h"

#include <algorithm>

#include "base/float_math.h"
#include "vectors/normalize_rows.h"
#include "vectors/row_work.h"

namespace ropewalk {

const float* Head::normalize(const ForwardPass& pass, const float* residual, float* out) {
  const ModelConfig& c = pass.config();
  return normalized_rows(c.norm, residual, pass.count, c.hidden_size, pass.weights[ModelVector::final_norm],
                         pass.weights[ModelVector::final_norm_bias], out);
}

Status Head::logits(const ForwardPass& pass, const float* hidden, int count, float* out) {
  const ModelConfig& c = pass.config();
  input_.set(hidden, c.hidden_size, count, c.hidden_size);
  pass.multiply(Stage::head, input_, {{&pass.weights.head(), pass.weights[ModelVector::head_bias], out, c.vocabulary_size}});
  const std::ptrdiff_t size = elements(count, c.vocabulary_size);
  if (c.logit_scale != 1) {
    for (std::ptrdiff_t i = 0; i < size; ++i) out[i] *= c.logit_scale;
  }
  if (c.logit_soft_cap != 0) {
    for (std::ptrdiff_t i = 0; i < size; ++i) out[i] = c.logit_soft_cap * tanh_f32(out[i] / c.logit_soft_cap);
  }
  return *pass.multiply.status;
}

Status Head::last_logits(const ForwardPass& pass, const float* hidden, float* const* outs) {
  const std::span<const RunSequences::Part> parts = pass.sequences.parts();
  const int size = pass.config().hidden_size, vocabulary = pass.config().vocabulary_size, count = static_cast<int>(parts.size());
  const std::uint64_t rows = count;
  if (!resize({{&last_hidden_, rows * size}, {&last_logits_, rows * vocabulary}})) return Status::out_of_memory;
  for (int i = 0; i < count; ++i)
    std::copy_n(hidden + elements(parts[i].first + parts[i].count - 1, size), size, last_hidden_.data() + elements(i, size));
  if (const Status status = logits(pass, last_hidden_.data(), count, last_logits_.data()); status != Status::ok) return status;
  for (int i = 0; i < count; ++i) std::copy_n(last_logits_.data() + elements(i, vocabulary), vocabulary, outs[i]);
  return Status::ok;
}

}  // namespace ropewalk
