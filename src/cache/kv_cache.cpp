#include "cache/kv_cache.h"

#include <algorithm>
#include <cmath>

namespace ropewalk {

void KvCache::use_kernels(const AttentionKernels& kernels, const RotateKernels& rotate_kernels) {
  storage_.kernels = &kernels;
  storage_.rotate_kernels = &rotate_kernels;
  attention_.use_kernels(kernels, rotate_kernels);
}

double KvCache::bytes() const {
  double bytes = 0;
  for (int sequence = 0; sequence < storage_.sequence_count; ++sequence) bytes += storage_.sequences[sequence].bytes();
  return std::round(bytes);
}

Status KvCache::read(int layer, int sequence, int first, int count, float* keys, float* values) const {
  if (const Status status = storage_.check_layer(layer, sequence); status != Status::ok) return status;
  if (sequence == kAllSequences) return Status::sequence_out_of_range;
  const KvSequence& cached = storage_.sequences[sequence];
  if (first < 0 || count < 0 || first > cached.written(layer) - count) return Status::token_count_out_of_range;
  const KvGeometry::Layer& geometry = storage_.geometry.layer(layer);
  Buffer<float> row;
  if (!row.resize(padded_dim(geometry.head_dim))) return Status::out_of_memory;
  const StoredRows one = {0, 0, 1, geometry.head_dim};
  const auto copy = [&](const char* stored, float* target) {
    storage_.kernels->load[static_cast<int>(storage_.geometry.type())](one, stored, row.data());
    std::copy_n(row.data(), geometry.head_dim, target);
  };
  for (int token = 0; token < count; ++token) {
    const char* page = cached.page((first + token) / kBlockTokens);
    for (int head = 0; head < geometry.heads; ++head, keys += geometry.head_dim, values += geometry.head_dim) {
      const std::size_t at = geometry.row(head, (first + token) % kBlockTokens);
      copy(page + geometry.key_offset + at, keys);
      copy(page + geometry.value_offset + at, values);
    }
  }
  return Status::ok;
}

}  // namespace ropewalk
