// One vector for each text: its hidden states pooled, then the dense layers that a model may have after pooling, such as the two linear
// maps of EmbeddingGemma or the scoring head of a cross-encoder.
#pragma once

#include "transformer/forward.h"

namespace ropewalk {

// mean: of all tokens of the text. cls, last: the state of the first or last token. max: the largest of each element.
enum class Pooling : int { mean, cls, last, max };
constexpr int kPoolings = 4;

// Pools `tokens` rows of `size` floats into one. Sums are f64.
void pool(Pooling pooling, const float* rows, int tokens, int size, float* out);

class TextVectors {
 public:
  void use_kernels(const MatmulKernels& kernels) { kernels_ = &kernels; }

  // Elements of a vector: rows of the last dense layer that is used, or hidden_size.
  static int size(const ModelConfig& config, bool uses_dense);

  // Writes the vectors of the texts of the last run, [texts][size()]. `weights` and `texts` must be those of that run. Returns
  // token_count_out_of_range if there was no such run, out_of_memory or ok.
  Status write(const Weights& weights, const WholeTexts& texts, const Forward& forward, Pooling pooling, bool uses_dense, float* out);

 private:
  const MatmulKernels* kernels_ = &fastest_matmul_kernels();
  Buffer<float> projected_;  // [tokens][dense[0].size], where pooling comes after that layer
  Buffer<float> rows_[2];    // inputs and outputs of dense layers in turn
  Activations inputs_;
};

}  // namespace ropewalk
