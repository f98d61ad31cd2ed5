#include "cache/kv_cache.h"

#include <algorithm>
#include <cmath>

#include "cache/kv_groups.h"

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
  const int dim = padded_dim(geometry.head_dim);
  Buffer<float> rows;
  if (!rows.resize(static_cast<std::uint64_t>(kBlockTokens) * dim)) return Status::out_of_memory;
  for (int page = first / kBlockTokens; page < pages_of(first + count); ++page) {
    const int begin = std::max(first, page * kBlockTokens), end = std::min(first + count, (page + 1) * kBlockTokens);
    for (int part = 0; part < 2; ++part) {
      for (int head = 0; head < geometry.heads; ++head) {
        load_page_rows(storage_, cached, layer, geometry.has_values() ? part : 0, head, page, rows.data());
        for (int slot = begin; slot < end; ++slot) {
          const std::ptrdiff_t at = (static_cast<std::ptrdiff_t>(slot - first) * geometry.heads + head) * geometry.head_dim;
          std::copy_n(&rows[static_cast<std::size_t>(slot % kBlockTokens) * dim], geometry.head_dim, (part == 0 ? keys : values) + at);
        }
      }
    }
  }
  return Status::ok;
}

}  // namespace ropewalk
