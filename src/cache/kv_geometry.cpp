#include "cache/kv_geometry.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ropewalk {

Status KvGeometry::prepare(std::span<const KvLayer> layers, RowType type, int axes) {
  const bool closes = type == RowType::q4_channel;
  if (static_cast<int>(type) < 0 || static_cast<int>(type) >= kCacheTypes) return Status::row_type_unknown;
  if (layers.size() > kMaxCacheLayers) return Status::cache_layers_out_of_range;
  Buffer<Layer> result;
  if (!result.resize(layers.size())) return Status::out_of_memory;

  std::size_t offset = sizeof(double) * axes * kBlockTokens, closed_offset = offset, first_offset = offset;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const KvLayer& layer = layers[i];
    if (layer.kv_heads < 1 || layer.kv_heads > 65536 || layer.head_dim < 1 || layer.head_dim > kMaxHeadDim) {
      return Status::cache_layers_out_of_range;
    }
    if (closes && !layer.has_values) return Status::row_type_unknown;  // keys per channel would be bad values
    Layer& shape = result[i];
    shape = {layer.kv_heads, layer.head_dim, layer.rope, row_bytes(closes ? RowType::f16 : type, layer.head_dim), offset, offset};
    const double keys_bytes = static_cast<double>(shape.heads) * kBlockTokens * static_cast<double>(shape.row_bytes);
    if (2 * keys_bytes > static_cast<double>(SIZE_MAX - kCacheLine - offset)) return Status::out_of_memory;  // size_t has 32 bits in wasm
    if (layer.has_values) shape.value_offset = offset += shape.keys_bytes();
    offset += shape.keys_bytes();
    if (!closes) continue;
    for (int part = 0; part < 2; ++part) {
      shape.closed_start[part] = std::exchange(closed_offset, closed_offset + shape.heads * shape.closed_bytes(part, false));
      shape.first_start[part] = std::exchange(first_offset, first_offset + shape.heads * shape.closed_bytes(part, true));
    }
  }
  layers_ = std::move(result);
  type_ = type;
  closes_ = closes;
  axes_ = axes;
  page_bytes_ = (offset + kCacheLine - 1) / kCacheLine * kCacheLine;
  closed_page_bytes_ = closes ? (closed_offset + kCacheLine - 1) / kCacheLine * kCacheLine : 0;
  first_page_bytes_ = closes ? (first_offset + kCacheLine - 1) / kCacheLine * kCacheLine : 0;
  return Status::ok;
}

bool KvGeometry::is_same(const KvGeometry& other) const {
  return type_ == other.type_ && axes_ == other.axes_ && layers_.size() == other.layers_.size() &&
         std::equal(layers_.data(), layers_.data() + layers_.size(), other.layers_.data());
}

double KvGeometry::bytes(double tokens) const {
  const double closed = closes_ ? std::max(0.0, std::floor((tokens - kOpenTokens) / kBlockTokens)) : 0;
  const double open = std::ceil(tokens / kBlockTokens) - closed, first = std::min(closed, 1.0);
  return open * static_cast<double>(page_bytes_) + first * static_cast<double>(first_page_bytes_) +
         (closed - first) * static_cast<double>(closed_page_bytes_);
}

}  // namespace ropewalk
