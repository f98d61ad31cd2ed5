#include "cache/kv_groups.h"

#include <algorithm>
#include <cstring>

namespace ropewalk {
namespace {

constexpr float kLargestF16 = 65504.0f;

StoredRows whole_page(RowType type, int head_dim) {
  return {static_cast<std::ptrdiff_t>(row_bytes(type, head_dim)), padded_dim(head_dim), kBlockTokens, head_dim};
}

void load_open(const KvStorage& storage, const KvSequence& cached, int layer, int part, int head, int page, int count, float* rows) {
  const KvGeometry::Layer& shape = storage.geometry.layer(layer);
  StoredRows stored = whole_page(storage.geometry.type(), shape.head_dim);
  stored.count = count;
  storage.kernels->load[static_cast<int>(storage.geometry.type())](stored, cached.page(page) + shape.part_offset(part) + shape.row(head, 0),
                                                                   rows);
}

void load_closed(const KvStorage& storage, const KvSequence& cached, int layer, int part, int head, int page, float* rows) {
  const KvGeometry::Layer& shape = storage.geometry.layer(layer);
  const bool is_first = cached.is_first(page);
  const char* stored = cached.closed_page(page) + shape.closed_offset(part, head, is_first);
  if (closes_as_group(part, is_first)) return load_channel_group(stored, shape.head_dim, rows);
  const RowType type = closed_row_type(is_first);
  storage.kernels->load[static_cast<int>(type)](whole_page(type, shape.head_dim), stored, rows);
}

template <class Act>
void each_head(const KvGeometry::Layer& layer, const Act& act) {
  for (int part = 0; part < layer.parts(); ++part) {
    for (int head = 0; head < layer.heads; ++head) act(part, head);
  }
}

// Gives a page an open form with the elements of the closed one, unless it has one.
Status open_group(KvStorage& storage, KvSequence& cached, int page) {
  if (cached.page(page) != nullptr) return Status::ok;
  if (const Status status = cached.reserve_open(page); status != Status::ok) return status;
  for (int index = 0; index < storage.geometry.layers(); ++index) {
    const KvGeometry::Layer& layer = storage.geometry.layer(index);
    each_head(layer, [&](int part, int head) {
      float* rows = storage.rows.data();
      load_closed(storage, cached, index, part, head, page, rows);
      const int floats = kBlockTokens * padded_dim(layer.head_dim);
      for (int i = 0; i < floats; ++i) rows[i] = std::clamp(rows[i], -kLargestF16, kLargestF16);
      storage.kernels->store[static_cast<int>(RowType::f16)](whole_page(RowType::f16, layer.head_dim), rows,
                                                             cached.page(page) + layer.part_offset(part) + layer.row(head, 0));
    });
  }
  return Status::ok;
}

// The pages from `first` on have an open form only from now on.
void forget_groups(KvStorage& storage, KvSequence& cached, int first) {
  for (int layer = 0; layer < storage.geometry.layers(); ++layer) cached.note_closed(layer, std::min(cached.closed(layer), first));
}

}  // namespace

Status reserve_groups(KvSequence& cached, int layer, int written) {
  const int groups = closed_groups(written);
  if (groups <= cached.closed(layer)) return Status::ok;
  if (const Status status = cached.reserve_closed(groups); status != Status::ok) return status;
  return cached.own_pages(cached.closed(layer) * kBlockTokens, groups * kBlockTokens);
}

void close_groups(KvStorage& storage, KvSequence& cached, int layer) {
  const KvGeometry::Layer& shape = storage.geometry.layer(layer);
  for (int page = cached.closed(layer); page < closed_groups(cached.written(layer)); ++page) {
    each_head(shape, [&](int part, int head) {
      float* rows = storage.rows.data();
      const bool is_first = cached.is_first(page);
      char* stored = cached.closed_page(page) + shape.closed_offset(part, head, is_first);
      load_open(storage, cached, layer, part, head, page, kBlockTokens, rows);
      if (closes_as_group(part, is_first)) return store_channel_group(rows, shape.head_dim, stored);
      const RowType type = closed_row_type(is_first);
      storage.kernels->store[static_cast<int>(type)](whole_page(type, shape.head_dim), rows, stored);
    });
    cached.note_closed(layer, page + 1);
  }
}

Status cut_groups(KvStorage& storage, KvSequence& cached, int tokens) {
  const int page = tokens / kBlockTokens;
  if (tokens % kBlockTokens != 0) {
    if (const Status status = open_group(storage, cached, page); status != Status::ok) return status;
  }
  cached.truncate(tokens);
  int closed = 0;  // groups that have no other form, or that so many tokens close
  while (closed < cached.pages() && cached.page(closed) == nullptr) ++closed;
  closed = std::max(closed, closed_groups(tokens));
  forget_groups(storage, cached, closed);
  cached.drop_closed_pages(closed);
  cached.drop_open_pages();
  return Status::ok;
}

Status remove_in_groups(KvStorage& storage, KvSequence& cached, int first, int count) {
  if (first + count == cached.tokens()) return cut_groups(storage, cached, first);
  const int page = first / kBlockTokens;
  if (first % kBlockTokens == 0 && count % kBlockTokens == 0) {
    cached.drop_open_pages();
    cached.remove_pages(page, count / kBlockTokens);
    return Status::ok;
  }
  for (int index = cached.pages() - 1; index >= page; --index) {  // so that pages without an open form come first, also on failure
    if (const Status status = open_group(storage, cached, index); status != Status::ok) return status;
  }
  if (const Status status = cached.reserve_closed(closed_groups(cached.tokens() - count)); status != Status::ok) return status;
  forget_groups(storage, cached, page);
  cached.remove(first, count);
  for (int layer = 0; layer < storage.geometry.layers(); ++layer) close_groups(storage, cached, layer);
  cached.copy_positions(page);
  cached.drop_closed_pages(std::max(page, cached.closed_in_all()));
  cached.drop_open_pages();
  return Status::ok;
}

void load_page_rows(const KvStorage& storage, const KvSequence& cached, int layer, int part, int head, int page, float* rows) {
  if (page < cached.closed(layer)) return load_closed(storage, cached, layer, part, head, page, rows);
  load_open(storage, cached, layer, part, head, page, std::min(kBlockTokens, cached.written(layer) - page * kBlockTokens), rows);
}

}  // namespace ropewalk
