// Attention to the keys and values of a cache.
#pragma once

#include "cache/kv_storage.h"

namespace ropewalk {

class KvAttention {
 public:
  explicit KvAttention(KvStorage& storage) : storage_(storage) {}

  void use_kernels(const AttentionKernels& kernels, const RotateKernels& rotate_kernels) {
    attention_.use_kernels(kernels, rotate_kernels);
  }

  // As those of KvCache.
  Status attend(int layer, int sequence, const HeadTensor& queries, const AttentionOptions& options);
  Status weights(int layer, int sequence, int tokens, const float* query, int heads, const AttentionOptions& options, float* weights);
  Status default_scale(int layer, int sequence, double& scale);
  double attention_factor(int layer, int sequence);

 private:
  // What a layer's keys and values of a sequence are to attention, and `options` with the layer's rope and scale.
  Status view(int layer, int sequence, KeyValues& kv, AttentionOptions& options);
  // The positions of the newest `count` tokens, in positions_. Those of slots below 0 are 0.
  Positions newest_positions(const KvSequence& cached, int written, int count);

  KvStorage& storage_;
  Attention attention_;
  Buffer<double> positions_;  // [axes][tokens] of queries
};

}  // namespace ropewalk
