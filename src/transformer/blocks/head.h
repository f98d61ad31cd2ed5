// What follows the last layer: the final norm, and the logits.
#pragma once

#include "transformer/blocks/forward_pass.h"

namespace ropewalk {

class Head {
 public:
  // Returns the residual stream after the final norm, in `out`, or itself if the model has none: [count][hidden_size] all.
  static const float* normalize(const ForwardPass& pass, const float* residual, float* out);

  // Writes the logits of `count` normalized hidden states, [count][hidden_size], to out, [count][vocabulary_size]. Returns out_of_memory or
  // ok.
  Status logits(const ForwardPass& pass, const float* hidden, int count, float* out);

  // The same for the last token of each sequence of the run, [vocabulary_size] at each of outs[0], outs[1] …. `hidden` are the states of
  // all its tokens.
  Status last_logits(const ForwardPass& pass, const float* hidden, float* const* outs);

 private:
  Activations input_;
  Buffer<float> last_hidden_;  // [sequences][hidden_size]
  Buffer<float> last_logits_;  // [sequences][vocabulary_size]
};

}  // namespace ropewalk
