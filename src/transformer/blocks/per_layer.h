// What Gemma 3n, Gemma 4 and EmbeddingGemma 2 add to the residual stream of a layer: a small embedding of each token for each layer, the
// learned residual (LAuReL, arXiv:2411.07501), and in Gemma 3n further streams that a layer predicts and corrects instead of computing
// (AltUp, arXiv:2301.13310).
#pragma once

#include "transformer/blocks/forward_pass.h"

namespace ropewalk {

class PerLayer {
 public:
  [[nodiscard]] bool allocate(const ModelConfig& config, int count);

  // Computes the embeddings of all layers, from the tokens and their hidden states before the first layer, and with several streams the
  // others from the first. x is [count][hidden_size], as in the other functions.
  void begin(const ForwardPass& pass, const float* x);

  // Before a layer: with several streams, x becomes the prediction of the active one, and the others are predicted too.
  void predict(const ForwardPass& pass, int layer, float* x);

  // After attention, whose input was `input`: adds the learned residual to x, if there is one.
  void add_laurel(const ForwardPass& pass, int layer, const float* input, float* x);

  // After a layer: adds the layer's embedding to x. With several streams, corrects them by x, and adds it to all but the first.
  void end_layer(const ForwardPass& pass, int layer, float* x);

  // After the last layer: with several streams, x becomes their mean.
  void merge(const ForwardPass& pass, float* x);

 private:
  float* stream(int index) { return streams_.data() + static_cast<std::ptrdiff_t>(index) * count_ * hidden_size_; }
  void copy(const float* from, float* to);
  // Scales rows to the root mean square of the same rows of another stream.
  void match_magnitude(const float* like, float* rows);
  void mix_streams(const ForwardPass& pass, int layer, const float* x, LayerMatrix mix, int size);
  void embed_layer(const ForwardPass& pass, int layer, const float* x);

  int count_ = 0, hidden_size_ = 0;
  Activations input_;
  Buffer<float> embeddings_;  // [count][layers][size]
  Buffer<float> projected_;   // [count][layers][size], from the hidden states
  Buffer<float> small_;       // [count][size or laurel]
  Buffer<float> row_;         // [count][hidden_size]
  Buffer<float> streams_;     // [streams][count][hidden_size]
  Buffer<float> predicted_;   // [streams][count][hidden_size]
  Buffer<float> routed_;      // [count][streams]
  Buffer<float> mix_;         // [count][streams · streams]
};

}  // namespace ropewalk
