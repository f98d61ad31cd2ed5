#include "cache/kv_sequence.h"

#include <algorithm>
#include <cstring>

#include "cache/kv_page.h"

namespace ropewalk {

Status KvSequence::prepare(const KvGeometry& geometry, int ropes) {
  if (!written_.resize(geometry.layers()) || !planned_.resize(ropes)) return Status::out_of_memory;
  geometry_ = &geometry;
  for (int layer = 0; layer < geometry.layers(); ++layer) written_[layer] = 0;
  for (int rope = 0; rope < ropes; ++rope) planned_[rope] = 1;
  return Status::ok;
}

void KvSequence::swap(KvSequence& other) {
  std::swap(geometry_, other.geometry_);
  std::swap(tokens_, other.tokens_);
  std::swap(page_count_, other.page_count_);
  std::swap(largest_key_, other.largest_key_);
  std::swap(largest_position_, other.largest_position_);
  std::swap(pages_, other.pages_);
  std::swap(written_, other.written_);
  std::swap(planned_, other.planned_);
}

void KvSequence::release(int pages) {
  while (page_count_ > pages) release_page(pages_[--page_count_]);
}

void KvSequence::find_largest_position() {
  largest_position_ = -std::numeric_limits<double>::infinity();
  for (int slot = 0; slot < tokens_; ++slot) {
    for (int axis = 0; axis < geometry_->axes(); ++axis) largest_position_ = std::max(largest_position_, position(axis, slot));
  }
}

double KvSequence::bytes() const {
  double pages = 0;
  for (int index = 0; index < page_count_; ++index) pages += 1.0 / page_holders(pages_[index]);
  return pages * static_cast<double>(page_count_ == 0 ? 0 : geometry_->page_bytes());
}

// Makes sure that the list can hold so many pages.
bool KvSequence::reserve_list(int pages) {
  if (static_cast<std::size_t>(pages) <= pages_.size()) return true;
  Buffer<char*> list;
  if (!list.resize(std::max(std::uint64_t{2} * pages_.size(), static_cast<std::uint64_t>(pages)))) return false;
  if (page_count_ > 0) std::memcpy(list.data(), pages_.data(), page_count_ * sizeof(char*));
  pages_ = std::move(list);
  return true;
}

Status KvSequence::reserve(int tokens) {
  const int wanted = pages_of(tokens), before = page_count_;
  if (!reserve_list(wanted)) return Status::out_of_memory;
  for (; page_count_ < wanted; ++page_count_) {
    pages_[page_count_] = allocate_page(geometry_->page_bytes());
    if (pages_[page_count_] == nullptr) {
      release(before);
      return Status::out_of_memory;
    }
  }
  return Status::ok;
}

Status KvSequence::own_pages(int first, int last) {
  const int end = std::min(page_count_, pages_of(last));
  for (int index = first / kBlockTokens; index < end; ++index) {
    if (page_holders(pages_[index]) == 1) continue;
    char* own = allocate_page(geometry_->page_bytes());
    if (own == nullptr) return Status::out_of_memory;
    std::memcpy(own, pages_[index], geometry_->page_bytes());
    release_page(pages_[index]);
    pages_[index] = own;
  }
  return Status::ok;
}

void KvSequence::add_tokens(const Positions& positions, int row, int first) {
  for (int token = first; token < positions.tokens; ++token, ++tokens_) {
    for (int axis = 0; axis < geometry_->axes(); ++axis) {
      const double position = positions.at(axis, row, token);
      set_position(axis, tokens_, position);
      largest_position_ = std::max(largest_position_, position);
    }
  }
}

void KvSequence::truncate(int tokens) {
  tokens_ = std::min(tokens_, tokens);
  for (std::size_t layer = 0; layer < written_.size(); ++layer) written_[layer] = std::min(written_[layer], tokens);
  release(pages_of(tokens_));
  if (tokens_ == 0) largest_key_ = 0;
  find_largest_position();
}

// Moves rows within a page or from one page to another; the ranges may overlap.
void KvSequence::move_rows(int from, int to, int count) {
  char* source = page(from / kBlockTokens);
  char* target = page(to / kBlockTokens);
  const int source_token = from % kBlockTokens, target_token = to % kBlockTokens;
  for (int axis = 0; axis < geometry_->axes(); ++axis) {
    std::memmove(page_positions(to / kBlockTokens) + axis * kBlockTokens + target_token,
                 page_positions(from / kBlockTokens) + axis * kBlockTokens + source_token, count * sizeof(double));
  }
  for (int index = 0; index < geometry_->layers(); ++index) {
    const KvGeometry::Layer& layer = geometry_->layer(index);
    for (int part = 0; part < layer.parts(); ++part) {
      const std::size_t offset = layer.part_offset(part);
      for (int head = 0; head < layer.heads; ++head) {
        std::memmove(target + offset + layer.row(head, target_token), source + offset + layer.row(head, source_token),
                     count * layer.row_bytes);
      }
    }
  }
}

void KvSequence::remove(int first, int count) {
  for (int from = first + count; from < tokens_;) {
    const int to = from - count;
    const int step = std::min({kBlockTokens - from % kBlockTokens, kBlockTokens - to % kBlockTokens, tokens_ - from});
    move_rows(from, to, step);
    from += step;
  }
  for (std::size_t layer = 0; layer < written_.size(); ++layer) {
    written_[layer] -= std::max(0, std::min(written_[layer], first + count) - first);
  }
  truncate(tokens_ - count);
}

Status KvSequence::copy(const KvSequence& other, int tokens) {
  KvSequence fresh;
  if (const Status status = fresh.prepare(*geometry_, static_cast<int>(planned_.size())); status != Status::ok) return status;
  const int pages = pages_of(tokens);
  if (!fresh.reserve_list(pages)) return Status::out_of_memory;
  for (; fresh.page_count_ < pages; ++fresh.page_count_) fresh.pages_[fresh.page_count_] = hold_page(other.pages_[fresh.page_count_]);
  fresh.tokens_ = tokens;
  fresh.largest_key_ = tokens == 0 ? 0 : other.largest_key_;
  fresh.find_largest_position();
  for (std::size_t layer = 0; layer < written_.size(); ++layer) fresh.written_[layer] = std::min(other.written_[layer], tokens);
  for (std::size_t rope = 0; rope < planned_.size(); ++rope) fresh.planned_[rope] = other.planned_[rope];
  swap(fresh);
  return Status::ok;
}

}  // namespace ropewalk
