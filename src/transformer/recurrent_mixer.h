// What stands in for attention, or beside it, in hybrid models: projections, a short convolution, and a recurrence (model_config.h:
// Recurrence). Their memory of a text is a state of a fixed size (recurrent_state.h).
#pragma once

#include "transformer/projector.h"
#include "transformer/weights.h"

namespace ropewalk {

class RecurrentMixer {
 public:
  [[nodiscard]] bool allocate(const ModelConfig& config, int count);

  // Computes the output of a layer, [count][hidden_size], from its input, [count][hidden_size], where count is at most what was allocated.
  // Reads its state from `from` and writes the state after the last token to `to`: Weights::state_size() floats each.
  void run(const Projector& multiply, const ModelConfig& config, Recurrence kind, const LayerWeights& weights, const float* input,
           int count, const float* from, float* to, float* out);

 private:
  // One layer's call.
  struct Call {
    const Projector& multiply;
    const ModelConfig& config;
    const RecurrenceConfig& sizes;
    Recurrence kind;
    const LayerWeights& weights;
    const float* from;
    float* to;
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
  float* state_after_convolution(const Call& call, float* state) const;
  const float* state_after_convolution(const Call& call, const float* state) const;

  int count_ = 0;
  Activations input_, inner_;
  Buffer<float> projected_;          // [count][rows of recurrent_in]
  Buffer<float> convolved_;          // [count][channels]
  Buffer<float> gate_, mixed_;       // [count][inner]
  Buffer<float> steps_, strengths_;  // [count][heads], or [count][inner] for mamba
  Buffer<float> keys_, queries_;     // [count][key_heads][padded_keys(key_size)]
  Buffer<float> selected_;           // [count][step_rank + 2 · key_size]
};

}  // namespace ropewalk
