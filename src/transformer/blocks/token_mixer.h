// What lets the tokens of a layer see others: attention, a recurrence, or both.
#pragma once

#include "transformer/blocks/attention_block.h"
#include "transformer/blocks/recurrent_mixer.h"
#include "transformer/blocks/rwkv_mixer.h"

namespace ropewalk {

class TokenMixer {
 public:
  [[nodiscard]] bool allocate(const Weights& weights, int count);

  // Computes out, [count][hidden_size], from the layer's input, [count][hidden_size]: the output of attention, of the recurrence, or their
  // sum.
  void run(const ForwardPass& pass, int layer, const float* input, float* out);

  AttentionBlock& attention() { return attention_; }
  const AttentionBlock& attention() const { return attention_; }

 private:
  void recur(const ForwardPass& pass, int layer, const float* input, float* out);
  // Returns the rows multiplied by a factor, in scaled_, or `rows` itself if the factor is 1.
  const float* scaled(const ForwardPass& pass, const float* rows, float factor);

  AttentionBlock attention_;
  RecurrentMixer recurrent_;
  RwkvMixer rwkv_;
  Buffer<float> scaled_;         // [count][hidden_size], if Multipliers has factors of inputs
  Buffer<float> recurrent_out_;  // [count][hidden_size], if layers have attention and a recurrence
};

}  // namespace ropewalk
