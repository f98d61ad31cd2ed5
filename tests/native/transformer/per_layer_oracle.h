// Embeddings of each layer, residual streams and learned residuals of the reference transformer, as Gemma 3n and 4 define them
// (transformers, modeling_gemma3n.py: Gemma3nTextAltUp, Gemma3nTextLaurelBlock, Gemma3nTextDecoderLayer).
#pragma once

#include "native/transformer/oracle_math.h"

namespace ropewalk::oracle {

class PerLayerOracle {
 public:
  explicit PerLayerOracle(const TestModel& model) : model_(model), c_(model.config()), p_(c_.per_layer) {}

  // Hidden states of one token after the embedding; returns its streams, one without AltUp.
  Rows begin(int token, const Row& x) {
    embeddings_.emplace_back();
    const Row projected = times(model_.matrix(ModelMatrix::per_layer_projection), x);
    const int row = token < p_.vocabulary_size ? token : 0;
    for (int layer = 0; layer < c_.layers; ++layer) {
      Row part;
      for (int i = layer * p_.size; i < (layer + 1) * p_.size; ++i) part.push_back(projected[i] / std::sqrt(1.0 * c_.hidden_size));
      part = normalized(c_.norm, part, model_.vector(ModelVector::per_layer_projection_norm));
      for (int i = 0; i < p_.size && p_.vocabulary_size > 0; ++i) {
        const TestMatrix& table = model_.matrix(ModelMatrix::per_layer_embedding);
        const double embedding = table.values[row * table.columns + layer * p_.size + i] * std::sqrt(1.0 * p_.size);
        part[i] = (part[i] + embedding) / std::sqrt(2.0);
      }
      embeddings_.back().push_back(part);
    }
    Rows streams = {x};
    for (int part = 0; part + 1 < p_.streams; ++part)
      streams.push_back(as_large_as(x, times(model_.matrix(ModelMatrix::streams_in, part), x)));
    return streams;
  }

  // The streams before a layer: each plus a mixture of all.
  Rows predicted(int layer, const Rows& streams) const {
    if (p_.streams == 0) return streams;
    const Row mix = times(model_.matrix(layer, LayerMatrix::stream_prediction), modalities(layer, streams[p_.active_stream]));
    Rows out = streams;
    for (int to = 0; to < p_.streams; ++to) {
      for (int from = 0; from < p_.streams; ++from) {
        for (int i = 0; i < c_.hidden_size; ++i) out[to][i] += mix[to * p_.streams + from] * streams[from][i];
      }
    }
    return out;
  }

  // x after attention, plus the learned residual of the input of attention.
  Row with_laurel(int layer, const Row& input, const Row& x) const {
    if (p_.laurel == 0) return x;
    Row learned = times(model_.matrix(layer, LayerMatrix::laurel_up), times(model_.matrix(layer, LayerMatrix::laurel_down), input));
    learned = normalized(c_.norm, learned, model_.vector(layer, LayerVector::laurel_norm));
    Row out = x;
    for (int i = 0; i < c_.hidden_size; ++i) out[i] = (x[i] + (input[i] + learned[i])) / std::sqrt(2.0);
    return out;
  }

  // The streams of token `t` after a layer that computed x.
  Rows end(int layer, int t, const Rows& predicted, const Row& x) const {
    const std::vector<float>& layer_scale = model_.vector(layer, LayerVector::layer_scale);
    if (p_.streams == 0) {
      Row out = x;
      const Row extra = p_.size > 0 ? embedded(layer, t, x) : Row(x.size(), 0);
      for (int i = 0; i < c_.hidden_size; ++i) out[i] = (out[i] + extra[i]) * (layer_scale.empty() ? 1 : layer_scale[0]);
      return {out};
    }
    const Row factors = times(model_.matrix(layer, LayerMatrix::stream_correction), modalities(layer, x));
    Rows corrected = predicted;
    for (int part = 0; part < p_.streams; ++part) {
      for (int i = 0; i < c_.hidden_size; ++i) corrected[part][i] += (factors[part] + 1) * (x[i] - predicted[p_.active_stream][i]);
    }
    Row first = corrected[p_.active_stream];
    const std::vector<float>& scale = model_.vector(layer, LayerVector::stream_scale);
    for (int i = 0; i < c_.hidden_size; ++i) first[i] *= scale.empty() ? 1 : scale[i];
    const Row extra = embedded(layer, t, first);
    for (int part = 1; part < p_.streams; ++part) {
      for (int i = 0; i < c_.hidden_size; ++i) corrected[part][i] += extra[i];
    }
    return corrected;
  }

  // The streams after the last layer as one.
  Row merged(const Rows& streams) const {
    Row sum = streams[0];
    for (int part = 1; part < p_.streams; ++part) {
      const Row back = as_large_as(streams[0], times(model_.matrix(ModelMatrix::streams_out, part - 1), streams[part]));
      for (int i = 0; i < c_.hidden_size; ++i) sum[i] += back[i];
    }
    for (double& element : sum) element /= std::max(1, p_.streams);
    return sum;
  }

 private:
  static Row as_large_as(const Row& like, Row x) {
    const double factor = std::sqrt(mean_square(like)) / std::sqrt(std::max(mean_square(x), 1e-5));
    for (double& element : x) element *= factor;
    return x;
  }

  Row modalities(int layer, const Row& x) const {
    Row normed = normalized(c_.norm, x, model_.vector(layer, LayerVector::stream_norm));
    for (double& element : normed) element /= c_.hidden_size;
    Row routed = times(model_.matrix(layer, LayerMatrix::stream_router), normed);
    for (double& element : routed) element = std::tanh(element);
    return routed;
  }

  Row embedded(int layer, int t, const Row& x) const {
    Row gate = times(model_.matrix(layer, LayerMatrix::per_layer_gate), x);
    for (int i = 0; i < p_.size; ++i) gate[i] = activated(c_.activation, gate[i]) * embeddings_[t][layer][i];
    return normalized(c_.norm, times(model_.matrix(layer, LayerMatrix::per_layer_output), gate),
                      model_.vector(layer, LayerVector::per_layer_norm));
  }

  const TestModel& model_;
  const ModelConfig& c_;
  const PerLayerConfig& p_;
  std::vector<Rows> embeddings_;  // [tokens][layers][size]
};

}  // namespace ropewalk::oracle
