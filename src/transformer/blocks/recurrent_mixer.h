// What stands in for attention, or beside it, in hybrid models: projections, a short convolution, and a recurrence (model_config.h:
// Recurrence). Their memory of a text is a state of a fixed size (recurrent_state.h).
#pragma once

#include <span>

#include "transformer/blocks/forward_pass.h"

namespace ropewalk {

class RecurrentMixer {
 public:
  [[nodiscard]] bool allocate(const ModelConfig& config, int count);

  // Computes the output of a layer, [rows][hidden_size], from its input, [rows][hidden_size], where rows is at most what was allocated:
  // those of the texts, one after the other. Reads the state of each text and writes that after its last token: Weights::state_size()
  // floats each.
  void run(const ForwardPass& pass, int layer, const float* input, std::span<const StateRows> texts, float* out);

 private:
  // One layer's call.
  struct Call {
    const ForwardPass& pass;
    const RecurrenceConfig& sizes;
    Recurrence kind;
    const LayerWeights& weights;
    std::span<const StateRows> texts;
  };

  // Each computes mixed_ from input_.
  void convolve_gated(const Call& call);
  void scan_heads(const Call& call);
  void scan_channels(const Call& call);

  // Multipliers of Mamba-2's projections.
  void scale_projected(const Call& call);
  // convolved_ = silu(conv(projected_))
  void convolve_projected(const Call& call);
  // The keys and queries of the convolved rows, padded; those of the delta rule are normalized.
  void split_keys(const Call& call);
  // a and b of StateScan.
  void compute_steps(const Call& call);
  void normalize_gated(const Call& call);
  // RMS norms of the step, the key and the query of Mamba.
  void normalize_selected(const Call& call);
  // out = conv(x), text by text, with the states of the convolution.
  void convolve_texts(const Call& call, int channels, const float* x, float* out);
  // Floats of a state before those of the scan.
  static int convolution_floats(const Call& call);

  int count_ = 0;
  Activations input_, inner_;
  Buffer<float> projected_;  // [count][rows of recurrent_in]
  Buffer<float> convolved_;  // [count][channels]
  Buffer<float> gate_;       // [count][inner]
  Buffer<float> mixed_;      // [count][inner]: what the projection of the output reads
  Buffer<float> steps_;      // [count][heads], or [count][inner] for mamba
  Buffer<float> strengths_;  // [count][heads]
  Buffer<float> keys_;       // [count][key_heads][padded_keys(key_size)]
  Buffer<float> queries_;    // [count][key_heads][padded_keys(key_size)]
  Buffer<float> selected_;   // [count][step_rank + 2 · key_size]
};

}  // namespace ropewalk
