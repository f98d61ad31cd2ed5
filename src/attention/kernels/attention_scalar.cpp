// Reference implementation of the attention kernels. Compiled without vectorization, so it is independent of the SIMD code it checks.
#include <algorithm>

#include "attention/channel_group.h"
#include "attention/kernels/attention_kernels.h"
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

template <class Block>
void load_block_rows(const StoredRows& rows, const void* stored, float* floats) {
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    const Block* blocks = reinterpret_cast<const Block*>(static_cast<const char*>(stored) + row * rows.row_stride);
    for (int i = 0; i < rows.head_dim; ++i) {
      const Block& block = blocks[i / kQuantBlockSize];
      floats[i] = static_cast<float>(quant_of(block, i % kQuantBlockSize)) * to_float(block.scale);
    }
    for (int i = rows.head_dim; i < padded_dim(rows.head_dim); ++i) floats[i] = 0;
  }
}

// The first element of the largest magnitude.
float largest_element(const float* elements) {
  float largest = 0;
  for (int i = 0; i < kQuantBlockSize; ++i) largest = std::fabs(elements[i]) > std::fabs(largest) ? elements[i] : largest;
  return largest;
}

float inverse_of(float scale) { return std::fabs(scale) < kSmallestQuantScale ? 0 : 1 / scale; }

void store_block(const float* elements, Q8Block& block) {
  const float scale = std::fabs(largest_element(elements)) / 127, inverse = inverse_of(scale);
  from_float(scale, block.scale);
  for (int i = 0; i < kQuantBlockSize; ++i) {
    const float nearest = (elements[i] * inverse + 0x1.8p23f) - 0x1.8p23f;  // to an integer, ties to even
    block.quants[i] = static_cast<std::int8_t>(nearest);
  }
}

void store_block(const float* elements, Q4Block& block) {
  constexpr int kHalf = kQuantBlockSize / 2;
  const float scale = largest_element(elements) / -8, inverse = inverse_of(scale);
  from_float(scale, block.scale);
  const auto quant = [&](int i) { return std::min(15, static_cast<int>(elements[i] * inverse + 8.5f)); };
  for (int i = 0; i < kHalf; ++i) block.quants[i] = static_cast<std::uint8_t>(quant(i) | quant(i + kHalf) << 4);
}

template <class Block>
void store_block_rows(const StoredRows& rows, const float* floats, void* stored) {
  for (int row = 0; row < rows.count; ++row, floats += rows.float_stride) {
    Block* blocks = reinterpret_cast<Block*>(static_cast<char*>(stored) + row * rows.row_stride);
    for (int first = 0; first < rows.head_dim; first += kQuantBlockSize) {
      float elements[kQuantBlockSize];
      for (int i = 0; i < kQuantBlockSize; ++i) elements[i] = first + i < rows.head_dim ? floats[first + i] : 0;
      store_block(elements, *blocks++);
    }
  }
}

void load_channels(const ChannelBlock& block) {
  const ChannelGroup group(block.stored, block.head_dim);
  const ChannelRotation& rotation = block.rotation;
  for (int token = 0; token < kBlockTokens; ++token) {
    const auto at = [&](int channel) -> float& { return block.floats[channel * kBlockTokens + token]; };
    for (int i = 0; i < padded_dim(block.head_dim); ++i) at(i) = i < block.head_dim ? group.element(i, token) : 0;
    for (int j = 0; j < rotation.pairs; ++j) {
      const int read = rotation.offset + j * rotation.read.step, write = rotation.offset + j * rotation.write.step;
      const float x = group.element(read, token), y = group.element(read + rotation.read.apart, token);
      const float cos = rotation.cos[j * kBlockTokens + token], sin = rotation.sin[j * kBlockTokens + token];
      at(write) = x * cos - y * sin;
      at(write + rotation.write.apart) = y * cos + x * sin;
    }
  }
}

// An element as Score and Blend multiply it.
float operand(float element) { return element; }
float operand(Float16 element) { return to_float(element) / kF16Unit; }

template <class Element>
void score(const ScoreBlockOf<Element>& block) {
  for (int row = 0; row < block.rows; ++row) {
    const float* query = block.queries + row * block.query_stride;
    for (int n = 0; n < block.count; ++n) {
      const Element* key = block.keys + n * block.key_stride;
      float sum[4] = {};
      for (int i = 0; i < block.dim; i += 4) {
        for (int lane = 0; lane < 4; ++lane) sum[lane] = sum[lane] + query[i + lane] * operand(key[i + lane]);
      }
      block.scores[row * kBlockTokens + n] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
  }
}

float weigh_row(const WeighRows& row, float* scores, SoftmaxState& state) {
  float maximum = state.maximum;
  for (int n = row.first; n < row.last; ++n) {
    float s = scores[n] * row.scale;
    if (row.soft_cap != 0) s = row.soft_cap * tanh_f32(s / row.soft_cap);
    if (row.bias != nullptr) s = s + row.bias[n];
    scores[n] = s;
    maximum = s > maximum ? s : maximum;
  }
  const float correction = exp_f32(state.maximum - maximum);
  float sum[4] = {};
  for (int n = 0; n < kBlockTokens; ++n) {
    const float weight = n >= row.first && n < row.last ? exp_f32(scores[n] - maximum) : 0;
    scores[n] = weight * row.unit;
    sum[n % 4] = sum[n % 4] + weight;
  }
  state.maximum = maximum;
  state.sum = state.sum * correction + ((sum[0] + sum[1]) + (sum[2] + sum[3]));
  return correction;
}

void weigh(const WeighRows& rows, SoftmaxState* states, float* corrections) {
  for (int row = 0; row < rows.rows; ++row) corrections[row] = weigh_row(rows, rows.scores + row * kBlockTokens, states[row]);
}

template <class Element>
void blend(const BlendBlockOf<Element>& block) {
  for (int row = 0; row < block.rows; ++row) {
    const float* weights = block.weights + row * kBlockTokens;
    float* out = block.out + row * block.out_stride;
    for (int i = 0; i < block.dim; ++i) {
      float sum = out[i] * block.corrections[row];
      for (int n = 0; n < block.count; ++n) sum = sum + weights[n] * operand(block.values[n * block.value_stride + i]);
      out[i] = sum;
    }
  }
}

}  // namespace

const AttentionKernels kScalarAttentionKernels = {
    "scalar",
    {load_rows<float>, load_rows<Float16>, load_rows<BFloat16>, load_block_rows<Q8Block>, load_block_rows<Q4Block>},
    {store_rows<float>, store_rows<Float16>, store_rows<BFloat16>, store_block_rows<Q8Block>, store_block_rows<Q4Block>},
    load_channels,
    score<float>,
    weigh,
    blend<float>,
    score<Float16>,
    blend<Float16>,
    8,
};

}  // namespace ropewalk
