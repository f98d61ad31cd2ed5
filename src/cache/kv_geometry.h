// Memory layout of a cache: pages of kBlockTokens tokens with all layers. A cache grows by one page at a time and never moves existing
// data.
//
//   page    positions [axes][kBlockTokens] f64, then layer after layer
//   layer   keys [kv_heads][kBlockTokens][row], then values in the same way, if it has its own     row: row_storage.h
//
// A sequence takes ceil(tokens / kBlockTokens) · page_bytes bytes, where
//   page_bytes = kBlockTokens · (8 · axes + sum over layers of 2 · kv_heads · row_bytes(type, head_dim)), rounded up to a cache line.
#pragma once

#include <span>

#include "attention/attention_kernels.h"
#include "base/buffer.h"
#include "rope/config.h"

namespace ropewalk {

constexpr int kMaxCacheLayers = 4096;
constexpr int kMaxCacheTokens = 1 << 30;
constexpr int kNoRope = -1;

// The shape of a layer.
struct KvLayer {
  int kv_heads = 0;
  int head_dim = 0;
  int rope = kNoRope;      // index of the cache's rope that rotates its keys
  bool has_values = true;  // false: its keys are also its values (multi-head latent attention, DeepSeek-V2, arXiv:2405.04434)
};

class KvGeometry {
 public:
  struct Layer {
    int heads;
    int head_dim;
    int rope;
    std::size_t row_bytes;
    std::size_t key_offset;    // bytes from the start of a page
    std::size_t value_offset;  // key_offset if the layer has no values of its own

    // Offset in bytes of the row of a head and token, from the start of the layer's keys or values in a page.
    std::size_t row(int head, int token) const { return (static_cast<std::size_t>(head) * kBlockTokens + token) * row_bytes; }
    bool operator==(const Layer&) const = default;
    bool has_values() const { return value_offset != key_offset; }
    int parts() const { return has_values() ? 2 : 1; }  // keys, and values
    std::size_t part_offset(int part) const { return part == 0 ? key_offset : value_offset; }
    std::size_t keys_bytes() const { return static_cast<std::size_t>(heads) * kBlockTokens * row_bytes; }
  };

  // Checks ranges and computes the layout. A model without attention has no layers. Returns cache_layers_out_of_range, row_type_unknown,
  // out_of_memory or ok.
  Status prepare(std::span<const KvLayer> layers, RowType type, int axes);

  RowType type() const { return type_; }
  int axes() const { return axes_; }
  int layers() const { return static_cast<int>(layers_.size()); }
  const Layer& layer(int index) const { return layers_[index]; }
  std::size_t page_bytes() const { return page_bytes_; }

  // Whether pages of the other geometry have the same layout.
  bool is_same(const KvGeometry& other) const;

  // Size in bytes of all pages of a sequence of `tokens` tokens. A double, because it may be larger than the address space.
  double bytes(double tokens) const;

 private:
  RowType type_ = RowType::f32;
  int axes_ = 1;
  Buffer<Layer> layers_;
  std::size_t page_bytes_ = 0;
};

// Number of pages for `tokens` tokens.
constexpr int pages_of(int tokens) { return tokens / kBlockTokens + (tokens % kBlockTokens != 0 ? 1 : 0); }

}  // namespace ropewalk
