// The token mixer of RWKV-7 (Peng et al. 2025, arXiv:2503.14456), which stands in for attention. For each token, x_q, x_w, x_k, x_v, x_a
// and x_g are its input mixed with that of the token before (token_shift.h), each with its own shares, and in each head
//
//   q = W_q x_q,  k = W_k x_k,  v = W_v x_v
//   w = exp(−e^(−1/2) σ(low_w(x_w)))                      low_y(x) = W_up activation(W_down x) + bias, of a low rank
//   a = σ(low_a(x_a)),  g = low_g(x_g)
//   v ← v + σ(low_v(x_v)) * (v of the first layer − v)    in the layers after it
//   κ = k * removal_scale, divided by its length
//   k ← k * (1 + rate_scale * (a − 1))
//   o = the scan with q, w, k, κ, b = κ * a and v         wkv_scan.h
//   out = W_out ((norm(o) + (q · (bonus * k)) v) * g)
//
// The activation of low_w is tanh, that of low_g σ; the others have none.
#pragma once

#include <cstddef>
#include <span>

#include "transformer/blocks/forward_pass.h"

namespace ropewalk {

class RwkvMixer {
 public:
  [[nodiscard]] bool allocate(const ModelConfig& config, int count);

  // Computes the output of a layer, [rows][hidden_size], from its input, [rows][hidden_size]: the rows of the texts, one after the other.
  // Layers come in their order, because the first leaves its values to the others. Reads the state of each text from its beginning, and
  // writes that after its last token: the last input, [hidden_size], then that of the scan.
  void run(const ForwardPass& pass, int layer, const float* input, std::span<const StateRows> texts, float* out);

 private:
  // One layer's call.
  struct Call {
    const ForwardPass& pass;
    const LayerConfig& layer;
    const LayerWeights& weights;
    const float* input;
    std::span<const StateRows> texts;
    float* values;              // of the tokens in this layer, [rows][inner]
    const float* first_values;  // and in the first
  };
  // The rows of token_shift.
  enum Shifted { query, decay, key, value, rate, gate };
  // A product of a low rank.
  struct LowRank {
    LayerMatrix down, up;
    int rank;
    void (*activate)(float*, std::ptrdiff_t);  // or null
  };

  void project(const Call& call);
  // Computes the input of the next products, shifted_.
  void shift(const Call& call, Shifted row);
  void project_shifted(const Call& call, LayerMatrix slot, float* out);
  void project_low(const Call& call, const LowRank& low, const float* bias, float* out);
  // Computes what the scan reads of a token, and its bonuses.
  void prepare_token(const Call& call, int token);
  void finish_token(const Call& call, int token);

  int count_ = 0;
  Activations input_, inner_;
  Buffer<float> shifted_;          // [count][hidden_size]
  Buffer<float> low_;              // [count][the largest rank]
  Buffer<float> projected_query_;  // [count][inner]
  Buffer<float> projected_key_;    // [count][inner]
  Buffer<float> decays_;           // [count][inner]: what w is computed from
  Buffer<float> rates_;            // [count][inner]: a
  Buffer<float> shares_;           // [count][inner]: of v of the first layer
  Buffer<float> gates_;            // [count][inner]: g
  Buffer<float> mixed_;            // [count][inner]: o
  Buffer<float> values_;           // [count][inner]: v of layers after the first
  Buffer<float> first_values_;     // [count][inner]: v of the first layer
  Buffer<float> queries_;          // [count][heads][padded_keys(key_size)]: q of the scan
  Buffer<float> kept_;             // [count][heads][padded_keys(key_size)]: w
  Buffer<float> keys_;             // [count][heads][padded_keys(key_size)]: k
  Buffer<float> removed_;          // [count][heads][padded_keys(key_size)]: κ
  Buffer<float> changes_;          // [count][heads][padded_keys(key_size)]: b
  Buffer<float> bonuses_;          // [count][heads]
};

}  // namespace ropewalk
