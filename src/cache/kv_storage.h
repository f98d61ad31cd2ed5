// What a KV cache holds: its layout, its sequences, and its ropes. Appending, attending, retuning and shifting are functions and objects
// over it.
#pragma once

#include <memory>

#include "attention/attention.h"
#include "cache/kv_rerotate.h"

namespace ropewalk {

// rotated: attention is fastest. raw: changes of rope and position cost nothing and never round.
enum class KeyMode : int { rotated, raw };

constexpr int kMaxSequences = 65536;
constexpr int kAllSequences = -1;

// The spans must stay valid until configure() returns.
struct KvCacheConfig {
  std::span<const KvLayer> layers;
  std::span<const RopeConfig> ropes;
  RowType type = RowType::f32;
  KeyMode mode = KeyMode::rotated;
  int sequences = 1;
  int max_tokens = 0;  // per sequence
};

// Sequences [first, first + count): the rows of a batch.
struct SequenceRange {
  int first;
  int count;
};

struct KvStorage {
  // As KvCache::configure().
  Status configure(const KvCacheConfig& config);

  Status check_sequence(int sequence) const;
  // `sequence` may be kAllSequences.
  Status check_layer(int layer, int sequence) const;
  SequenceRange range_of(int sequence) const {
    return sequence == kAllSequences ? SequenceRange{0, sequence_count} : SequenceRange{sequence, 1};
  }
  // Whether a rope of the cache has a position map: then keys are raw, and positions are consecutive.
  bool has_position_map() const;
  // Whether append() rotates the queries of a layer. With a position map attention does.
  bool rotates_queries(int layer) const {
    const int rope = geometry.layer(layer).rope;
    return rope != kNoRope && !ropes[rope].plan().position_map;
  }
  bool stores_rotated_keys(int layer) const { return mode == KeyMode::rotated && geometry.layer(layer).rope != kNoRope; }

  // Re-rotates keys as `rerotation` was prepared.
  void rerotate(const KvSequence& cached, int rope, const KeyMove& move) {
    rerotation.apply(*kernels, *rotate_kernels, cached, rope, move);
  }

  KvGeometry geometry;
  KeyMode mode = KeyMode::rotated;
  int max_tokens = 0;  // per sequence
  int sequence_count = 0;
  int rope_count = 0;
  std::unique_ptr<KvSequence[]> sequences;
  std::unique_ptr<Rope[]> ropes;

  // Memory for blocks of rows, which the next operation overwrites.
  Buffer<float> rows;  // [kBlockTokens][padded head_dim] before they are stored
  Buffer<float> cos;   // [kBlockTokens][pairs]
  Buffer<float> sin;   // [kBlockTokens][pairs]
  KeyRerotation rerotation;

  const AttentionKernels* kernels = &fastest_attention_kernels();
  const RotateKernels* rotate_kernels = &fastest_rotate_kernels();
};

}  // namespace ropewalk
