// Reference implementation of the attention kernels. Compiled without vectorization, so it is independent of the SIMD code it checks.
#include "attention/attention_kernels.h"
#include "base/float_math.h"

namespace ropewalk {
namespace {

template <class Element>
void load_rows(const StoredRows& rows, const void* stored, float* floats) {
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    const Element* elements = reinterpret_cast<const Element*>(static_cast<const char*>(stored) + row * rows.row_stride);
    for (int i = 0; i < rows.head_dim; ++i) floats[i] = to_float(elements[i]);
    for (int i = rows.head_dim; i < padded_dim(rows.head_dim); ++i) floats[i] = 0;
  }
}

template <class Element>
void store_rows(const StoredRows& rows, const float* floats, void* stored) {
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    Element* elements = reinterpret_cast<Element*>(static_cast<char*>(stored) + row * rows.row_stride);
    for (int i = 0; i < rows.head_dim; ++i) from_float(floats[i], elements[i]);
  }
}

void load_q8_rows(const StoredRows& rows, const void* stored, float* floats) {
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    const Q8Block* blocks = reinterpret_cast<const Q8Block*>(static_cast<const char*>(stored) + row * rows.row_stride);
    for (int i = 0; i < rows.head_dim; ++i) {
      const Q8Block& block = blocks[i / kQ8BlockSize];
      floats[i] = static_cast<float>(block.quants[i % kQ8BlockSize]) * to_float(block.scale);
    }
    for (int i = rows.head_dim; i < padded_dim(rows.head_dim); ++i) floats[i] = 0;
  }
}

void store_q8_rows(const StoredRows& rows, const float* floats, void* stored) {
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    Q8Block* blocks = reinterpret_cast<Q8Block*>(static_cast<char*>(stored) + row * rows.row_stride);
    for (int b = 0; b < q8_blocks(rows.head_dim); ++b) {
      const auto element = [&](int i) { return b * kQ8BlockSize + i < rows.head_dim ? floats[b * kQ8BlockSize + i] : 0.0f; };
      float largest = 0;
      for (int i = 0; i < kQ8BlockSize; ++i) largest = std::fmax(largest, std::fabs(element(i)));
      const float scale = largest / 127;
      const float inverse = scale < kSmallestQ8Scale ? 0 : 1 / scale;
      from_float(scale, blocks[b].scale);
      for (int i = 0; i < kQ8BlockSize; ++i) {
        const float nearest = (element(i) * inverse + 0x1.8p23f) - 0x1.8p23f;  // to an integer, ties to even
        blocks[b].quants[i] = static_cast<std::int8_t>(nearest);
      }
    }
  }
}

void score(const ScoreBlock& block) {
  for (int row = 0; row < block.rows; ++row) {
    const float* query = block.queries + row * block.query_stride;
    for (int n = 0; n < block.count; ++n) {
      const float* key = block.keys + n * block.key_stride;
      float sum[4] = {};
      for (int i = 0; i < block.dim; i += 4) {
        for (int lane = 0; lane < 4; ++lane) sum[lane] = sum[lane] + query[i + lane] * key[i + lane];
      }
      block.scores[row * kBlockTokens + n] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
  }
}

float weigh(const WeighRow& row, SoftmaxState& state) {
  float maximum = state.maximum;
  for (int n = row.first; n < row.last; ++n) {
    float s = row.scores[n] * row.scale;
    if (row.soft_cap != 0) s = row.soft_cap * tanh_f32(s / row.soft_cap);
    if (row.bias != nullptr) s = s + row.bias[n];
    row.scores[n] = s;
    maximum = s > maximum ? s : maximum;
  }
  const float correction = exp_f32(state.maximum - maximum);
  float sum[4] = {};
  for (int n = 0; n < kBlockTokens; ++n) {
    row.scores[n] = n >= row.first && n < row.last ? exp_f32(row.scores[n] - maximum) : 0;
    sum[n % 4] = sum[n % 4] + row.scores[n];
  }
  state.maximum = maximum;
  state.sum = state.sum * correction + ((sum[0] + sum[1]) + (sum[2] + sum[3]));
  return correction;
}

void blend(const BlendBlock& block) {
  for (int row = 0; row < block.rows; ++row) {
    const float* weights = block.weights + row * kBlockTokens;
    float* out = block.out + row * block.out_stride;
    for (int i = 0; i < block.dim; ++i) {
      float sum = out[i] * block.corrections[row];
      for (int n = 0; n < block.count; ++n) sum = sum + weights[n] * block.values[n * block.value_stride + i];
      out[i] = sum;
    }
  }
}

}  // namespace

const AttentionKernels kScalarAttentionKernels = {
    "scalar",
    {load_rows<float>, load_rows<Float16>, load_rows<BFloat16>, load_q8_rows},
    {store_rows<float>, store_rows<Float16>, store_rows<BFloat16>, store_q8_rows},
    score,
    weigh,
    blend,
};

}  // namespace ropewalk
