#include "transformer/blocks/per_layer.h"

#include <algorithm>
#include <cmath>

#include "base/float_math.h"
#include "base/thread_pool.h"
#include "vectors/row_work.h"

namespace ropewalk {
namespace {

constexpr double kMinSquare = 1e-5;

double mean_square(const float* x, int size) {
  double sum = 0;
  for (int i = 0; i < size; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum / size;
}

float inverse_root(double x) { return static_cast<float>(1 / std::sqrt(x)); }

}  // namespace

bool PerLayer::allocate(const ModelConfig& c, int count) {
  count_ = count;
  hidden_size_ = c.hidden_size;
  const PerLayerConfig& p = c.per_layer;
  if (p.size == 0 && p.streams == 0 && p.laurel == 0) return true;
  const auto rows = [count](int size) { return static_cast<std::uint64_t>(count) * size; };
  const std::uint64_t all_layers = rows(c.layers * p.size), all_streams = rows(c.hidden_size) * p.streams;
  return resize({{&embeddings_, all_layers},
                 {&projected_, all_layers},
                 {&streams_, all_streams},
                 {&predicted_, all_streams},
                 {&small_, rows(std::max(p.size, p.laurel))},
                 {&row_, rows(c.hidden_size)},
                 {&routed_, rows(p.streams)},
                 {&mix_, rows(p.streams * p.streams)}});
}

void PerLayer::begin(const ForwardPass& pass, const float* x) {
  const ModelConfig& c = pass.config();
  const int* tokens = pass.sequences.token_ids();
  const int size = c.per_layer.size, all = c.layers * size;
  input_.set(x, hidden_size_, count_, hidden_size_);
  pass.multiply(Stage::embedding, input_, {{&pass.weights[ModelMatrix::per_layer_projection], nullptr, projected_.data(), all}});
  const float embedding_scale = std::sqrt(static_cast<float>(size)), projection_scale = inverse_root(hidden_size_);
  each_in_parallel(count_, kRowWork * all, [&](int t) {
    float* embedding = embeddings_.data() + elements(t, all);
    float* projected = projected_.data() + elements(t, all);
    for (int i = 0; i < all; ++i) projected[i] *= projection_scale;
    for (int layer = 0; layer < c.layers; ++layer)
      normalize(c.norm, projected + layer * size, size, pass.weights[ModelVector::per_layer_projection_norm], nullptr,
                projected + layer * size);
    if (c.per_layer.vocabulary_size == 0) {
      std::copy_n(projected, all, embedding);
      return;
    }
    read_row(pass.weights[ModelMatrix::per_layer_embedding], tokens[t] < c.per_layer.vocabulary_size ? tokens[t] : 0, embedding);
    for (int i = 0; i < all; ++i) embedding[i] = (embedding[i] * embedding_scale + projected[i]) * inverse_root(2);
  });
  if (c.per_layer.streams == 0) return;
  copy(x, stream(0));
  for (int part = 1; part < c.per_layer.streams; ++part) {
    pass.multiply(Stage::embedding, input_,
                  {{&pass.weights.stream(ModelMatrix::streams_in, part - 1), nullptr, stream(part), hidden_size_}});
    match_magnitude(x, stream(part));
  }
}

void PerLayer::predict(const ForwardPass& pass, int layer, float* x) {
  const PerLayerConfig& p = pass.config().per_layer;
  if (p.streams == 0) return;
  const int streams = p.streams;
  mix_streams(pass, layer, stream(p.active_stream), LayerMatrix::stream_prediction, streams * streams);
  each_in_parallel(count_, kRowWork * streams * streams * hidden_size_, [&](int t) {
    const float* mix = mix_.data() + elements(t, streams * streams);
    for (int to = 0; to < streams; ++to) {
      float* predicted = predicted_.data() + elements(to * count_ + t, hidden_size_);
      std::copy_n(stream(to) + elements(t, hidden_size_), hidden_size_, predicted);
      for (int from = 0; from < streams; ++from) {
        const float* row = stream(from) + elements(t, hidden_size_);
        const float factor = mix[to * streams + from];
        for (int i = 0; i < hidden_size_; ++i) predicted[i] += factor * row[i];
      }
    }
  });
  copy(predicted_.data() + elements(p.active_stream * count_, hidden_size_), x);
}

void PerLayer::add_laurel(const ForwardPass& pass, int layer, const float* input, float* x) {
  const ModelConfig& c = pass.config();
  const LayerWeights& w = pass.weights.layer(layer);
  const int rank = c.per_layer.laurel;
  if (rank == 0) return;
  input_.set(input, hidden_size_, count_, hidden_size_);
  pass.multiply(Stage::residual, input_, {{&w[LayerMatrix::laurel_down], nullptr, small_.data(), rank}});
  input_.set(small_.data(), rank, count_, rank);
  pass.multiply(Stage::residual, input_, {{&w[LayerMatrix::laurel_up], nullptr, row_.data(), hidden_size_}});
  each_in_parallel(count_, kRowWork * hidden_size_, [&](int t) {
    const std::ptrdiff_t at = elements(t, hidden_size_);
    float* row = row_.data() + at;
    normalize(c.norm, row, hidden_size_, w[LayerVector::laurel_norm], nullptr, row);
    for (int i = 0; i < hidden_size_; ++i) x[at + i] = (x[at + i] + input[at + i] + row[i]) * inverse_root(2);
  });
}

void PerLayer::end_layer(const ForwardPass& pass, int layer, float* x) {
  const ModelConfig& c = pass.config();
  const LayerWeights& w = pass.weights.layer(layer);
  const PerLayerConfig& p = c.per_layer;
  const float* layer_scale = w[LayerVector::layer_scale];
  if (p.streams == 0) {
    if (p.size == 0 && layer_scale == nullptr) return;
    if (p.size > 0) embed_layer(pass, layer, x);
    each_in_parallel(count_, kRowWork * hidden_size_, [&](int t) {
      for (std::ptrdiff_t i = elements(t, hidden_size_); i < elements(t + 1, hidden_size_); ++i)
        x[i] = (x[i] + (p.size > 0 ? row_[i] : 0)) * (layer_scale == nullptr ? 1 : *layer_scale);
    });
    return;
  }
  mix_streams(pass, layer, x, LayerMatrix::stream_correction, p.streams);
  each_in_parallel(count_, kRowWork * p.streams * hidden_size_, [&](int t) {
    const float* computed = x + elements(t, hidden_size_);
    const float* active = predicted_.data() + elements(p.active_stream * count_ + t, hidden_size_);
    for (int part = 0; part < p.streams; ++part) {
      const float* predicted = predicted_.data() + elements(part * count_ + t, hidden_size_);
      float* corrected = stream(part) + elements(t, hidden_size_);
      const float factor = mix_[elements(t, p.streams) + part] + 1;
      for (int i = 0; i < hidden_size_; ++i) corrected[i] = predicted[i] + factor * (computed[i] - active[i]);
    }
  });
  copy(stream(p.active_stream), x);
  if (const float* scale = w[LayerVector::stream_scale]; scale != nullptr) {
    for (std::ptrdiff_t i = 0; i < elements(count_, hidden_size_); ++i) x[i] *= scale[i % hidden_size_];
  }
  embed_layer(pass, layer, x);
  for (int part = 1; part < p.streams; ++part) {
    float* corrected = stream(part);
    for (std::ptrdiff_t i = 0; i < elements(count_, hidden_size_); ++i) corrected[i] += row_[i];
  }
}

void PerLayer::merge(const ForwardPass& pass, float* x) {
  const int streams = pass.config().per_layer.streams;
  if (streams == 0) return;
  copy(stream(0), x);
  for (int part = 1; part < streams; ++part) {
    input_.set(stream(part), hidden_size_, count_, hidden_size_);
    pass.multiply(Stage::residual, input_,
                  {{&pass.weights.stream(ModelMatrix::streams_out, part - 1), nullptr, row_.data(), hidden_size_}});
    match_magnitude(stream(0), row_.data());
    for (std::ptrdiff_t i = 0; i < elements(count_, hidden_size_); ++i) x[i] += row_[i];
  }
  for (std::ptrdiff_t i = 0; i < elements(count_, hidden_size_); ++i) x[i] /= static_cast<float>(streams);
}

void PerLayer::copy(const float* from, float* to) { std::copy_n(from, elements(count_, hidden_size_), to); }

void PerLayer::match_magnitude(const float* like, float* rows) {
  each_in_parallel(count_, kRowWork * hidden_size_, [&](int t) {
    float* row = rows + elements(t, hidden_size_);
    const double wanted = mean_square(like + elements(t, hidden_size_), hidden_size_);
    const float factor = static_cast<float>(std::sqrt(wanted / std::max(mean_square(row, hidden_size_), kMinSquare)));
    for (int i = 0; i < hidden_size_; ++i) row[i] *= factor;
  });
}

// mix_ = W_mix tanh(W_router norm(x) / hidden_size), [count][size].
void PerLayer::mix_streams(const ForwardPass& pass, int layer, const float* x, LayerMatrix mix, int size) {
  const ModelConfig& c = pass.config();
  const LayerWeights& w = pass.weights.layer(layer);
  const int streams = c.per_layer.streams;
  each_in_parallel(count_, kRowWork * hidden_size_, [&](int t) {
    float* row = row_.data() + elements(t, hidden_size_);
    normalize(c.norm, x + elements(t, hidden_size_), hidden_size_, w[LayerVector::stream_norm], nullptr, row);
    for (int i = 0; i < hidden_size_; ++i) row[i] /= static_cast<float>(hidden_size_);
  });
  input_.set(row_.data(), hidden_size_, count_, hidden_size_);
  pass.multiply(Stage::residual, input_, {{&w[LayerMatrix::stream_router], nullptr, routed_.data(), streams}});
  for (std::ptrdiff_t i = 0; i < elements(count_, streams); ++i) routed_[i] = tanh_f32(routed_[i]);
  input_.set(routed_.data(), streams, count_, streams);
  pass.multiply(Stage::residual, input_, {{&w[mix], nullptr, mix_.data(), size}});
}

// row_ = norm(W_output (activation(W_gate x) · embedding of the layer)).
void PerLayer::embed_layer(const ForwardPass& pass, int layer, const float* x) {
  const ModelConfig& c = pass.config();
  const LayerWeights& w = pass.weights.layer(layer);
  const int size = c.per_layer.size;
  input_.set(x, hidden_size_, count_, hidden_size_);
  pass.multiply(Stage::residual, input_, {{&w[LayerMatrix::per_layer_gate], nullptr, small_.data(), size}});
  each_in_parallel(count_, kActivationWork * size, [&](int t) {
    float* gate = small_.data() + elements(t, size);
    const float* embedding = embeddings_.data() + elements(t * c.layers + layer, size);
    activate(c.activation, gate, size);
    for (int i = 0; i < size; ++i) gate[i] *= embedding[i];
  });
  input_.set(small_.data(), size, count_, size);
  pass.multiply(Stage::residual, input_, {{&w[LayerMatrix::per_layer_output], nullptr, row_.data(), hidden_size_}});
  each_in_parallel(count_, kRowWork * hidden_size_, [&](int t) {
    float* row = row_.data() + elements(t, hidden_size_);
    normalize(c.norm, row, hidden_size_, w[LayerVector::per_layer_norm], nullptr, row);
  });
}

}  // namespace ropewalk
