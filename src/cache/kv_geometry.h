// Memory layout of a cache: pages of kBlockTokens tokens with all layers. A cache grows by one page at a time and never moves existing
// data.
//
//   page    positions [axes][kBlockTokens] f64, then layer after layer
//   layer   keys [kv_heads][kBlockTokens][row], then values in the same way, if it has its own     row: row_storage.h
//
// Of the type q4_channel, rows are f16, and a page that all layers have closed (channel_group.h) has another form:
//
//   closed page  positions as above, then layer after layer: keys [kv_heads] groups, values [kv_heads][kBlockTokens][row]
//   first page   the same with keys in rows
//
// A sequence takes ceil(tokens / kBlockTokens) · page_bytes bytes, where
//   page_bytes = kBlockTokens · (8 · axes + sum over layers of 2 · kv_heads · row_bytes(type, head_dim)), rounded up to a cache line.
// Closed pages take closed_page_bytes() instead.
#pragma once

#include <span>

#include "attention/channel_group.h"
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
    std::size_t key_offset;            // bytes from the start of a page
    std::size_t value_offset;          // key_offset if the layer has no values of its own
    std::size_t closed_start[2] = {};  // of keys and values in a closed page
    std::size_t first_start[2] = {};   // the same in the closed first page of a sequence

    // Offset in bytes of the row of a head and token, from the start of the layer's keys or values in a page.
    std::size_t row(int head, int token) const { return (static_cast<std::size_t>(head) * kBlockTokens + token) * row_bytes; }
    bool operator==(const Layer&) const = default;
    bool has_values() const { return value_offset != key_offset; }
    int parts() const { return has_values() ? 2 : 1; }  // keys, and values
    std::size_t part_offset(int part) const { return part == 0 ? key_offset : value_offset; }
    std::size_t keys_bytes() const { return static_cast<std::size_t>(heads) * kBlockTokens * row_bytes; }
    // Bytes of a head's keys or values in a closed page, and their offset in it.
    std::size_t closed_bytes(int part, bool is_first) const { return ropewalk::closed_bytes(part, is_first, head_dim); }
    std::size_t closed_offset(int part, int head, bool is_first) const {
      return (is_first ? first_start : closed_start)[part] + static_cast<std::size_t>(head) * closed_bytes(part, is_first);
    }
  };

  // Checks ranges and computes the layout. A model without attention has no layers. Returns cache_layers_out_of_range, row_type_unknown
  // (also q4_channel for a layer without values), out_of_memory or ok.
  Status prepare(std::span<const KvLayer> layers, RowType type, int axes);

  // Of the rows of pages: f16 for q4_channel.
  RowType type() const { return closes_ ? RowType::f16 : type_; }
  RowType cache_type() const { return type_; }
  bool closes_groups() const { return closes_; }
  int axes() const { return axes_; }
  int layers() const { return static_cast<int>(layers_.size()); }
  const Layer& layer(int index) const { return layers_[index]; }
  std::size_t page_bytes() const { return page_bytes_; }
  std::size_t closed_page_bytes(bool is_first) const { return is_first ? first_page_bytes_ : closed_page_bytes_; }

  // Whether pages of the other geometry have the same layout.
  bool is_same(const KvGeometry& other) const;

  // Size in bytes of all pages of a sequence of `tokens` tokens. A double, because it may be larger than the address space.
  double bytes(double tokens) const;

 private:
  RowType type_ = RowType::f32;
  bool closes_ = false;
  int axes_ = 1;
  Buffer<Layer> layers_;
  std::size_t page_bytes_ = 0;
  std::size_t closed_page_bytes_ = 0;
  std::size_t first_page_bytes_ = 0;
};

// Number of pages for `tokens` tokens.
constexpr int pages_of(int tokens) { return tokens / kBlockTokens + (tokens % kBlockTokens != 0 ? 1 : 0); }

}  // namespace ropewalk
