#include "cache/kv_geometry.h"

#include <algorithm>
#include <cmath>

namespace ropewalk {

Status KvGeometry::prepare(std::span<const KvLayer> layers, RowType type, int axes) {
  if (static_cast<int>(type) < 0 || static_cast<int>(type) >= kRowTypes) return Status::row_type_unknown;
  if (layers.size() > kMaxCacheLayers) return Status::cache_layers_out_of_range;
  Buffer<Layer> result;
  if (!result.resize(layers.size())) return Status::out_of_memory;

  std::size_t offset = sizeof(double) * axes * kBlockTokens;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const KvLayer& layer = layers[i];
    if (layer.kv_heads < 1 || layer.kv_heads > 65536 || layer.head_dim < 1 || layer.head_dim > kMaxHeadDim) {
      return Status::cache_layers_out_of_range;
    }
    Layer& shape = result[i];
    shape = {layer.kv_heads, layer.head_dim, layer.rope, row_bytes(type, layer.head_dim), offset, offset};
    const double keys_bytes = static_cast<double>(shape.heads) * kBlockTokens * static_cast<double>(shape.row_bytes);
    if (2 * keys_bytes > static_cast<double>(SIZE_MAX - kCacheLine - offset)) return Status::out_of_memory;  // size_t has 32 bits in wasm
    if (layer.has_values) shape.value_offset = offset += shape.keys_bytes();
    offset += shape.keys_bytes();
  }
  layers_ = std::move(result);
  type_ = type;
  axes_ = axes;
  page_bytes_ = (offset + kCacheLine - 1) / kCacheLine * kCacheLine;
  return Status::ok;
}

bool KvGeometry::is_same(const KvGeometry& other) const {
  return type_ == other.type_ && axes_ == other.axes_ && layers_.size() == other.layers_.size() &&
         std::equal(layers_.data(), layers_.data() + layers_.size(), other.layers_.data());
}

double KvGeometry::bytes(double tokens) const { return std::ceil(tokens / kBlockTokens) * static_cast<double>(page_bytes_); }

}  // namespace ropewalk
