#include "cache/kv_sequence.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/aligned_memory.h"

namespace ropewalk {
namespace {

// Pages are reference-counted: several sequences may share one.

// The reference count, in the cache line before the page.
std::int32_t& page_holders(char* page) { return *reinterpret_cast<std::int32_t*>(page - kCacheLine); }

// Returns a page with a count of 1, aligned to kCacheLine, or null.
char* allocate_page(std::size_t bytes) {
  char* start = static_cast<char*>(allocate_aligned(std::uint64_t{bytes} + kCacheLine));
  if (start == nullptr) return nullptr;
  new (start) std::int32_t(1);
  return start + kCacheLine;
}

char* hold_page(char* page) {
  ++page_holders(page);
  return page;
}

void release_page(char* page) {
  if (--page_holders(page) == 0) free_aligned(page - kCacheLine);
}

}  // namespace

Status KvSequence::prepare(const KvGeometry& geometry, int ropes) {
  if (!written_.resize(geometry.layers()) || !planned_.resize(ropes)) return Status::out_of_memory;
  if (geometry.closes_groups() && !closed_.resize(geometry.layers())) return Status::out_of_memory;
  geometry_ = &geometry;
  for (std::size_t layer = 0; layer < closed_.size(); ++layer) closed_[layer] = 0;
  for (int layer = 0; layer < geometry.layers(); ++layer) written_[layer] = 0;
  for (int rope = 0; rope < ropes; ++rope) planned_[rope] = 1;
  return Status::ok;
}

void KvSequence::swap(KvSequence& other) {
  std::swap(geometry_, other.geometry_);
  std::swap(tokens_, other.tokens_);
  std::swap(page_count_, other.page_count_);
  std::swap(has_first_, other.has_first_);
  std::swap(largest_key_, other.largest_key_);
  std::swap(largest_position_, other.largest_position_);
  std::swap(pages_, other.pages_);
  std::swap(closed_pages_, other.closed_pages_);
  std::swap(closed_, other.closed_);
  std::swap(written_, other.written_);
  std::swap(planned_, other.planned_);
}

void KvSequence::release(int pages) {
  while (page_count_ > pages) {
    --page_count_;
    for (char* form : {page(page_count_), closed_page(page_count_)}) {
      if (form != nullptr) release_page(form);
    }
  }
}

void KvSequence::find_largest_position() {
  largest_position_ = -std::numeric_limits<double>::infinity();
  for (int slot = 0; slot < tokens_; ++slot) {
    for (int axis = 0; axis < geometry_->axes(); ++axis) largest_position_ = std::max(largest_position_, position(axis, slot));
  }
}

double KvSequence::bytes() const {
  double pages = 0, closed = 0;  // bytes of closed ones
  for (int index = 0; index < page_count_; ++index) {
    if (page(index) != nullptr) pages += 1.0 / page_holders(page(index));
    if (closed_page(index) != nullptr)
      closed += static_cast<double>(geometry_->closed_page_bytes(is_first(index))) / page_holders(closed_page(index));
  }
  if (page_count_ == 0) return 0;
  return pages * static_cast<double>(geometry_->page_bytes()) + closed;
}

// Makes sure that the list can hold so many pages.
bool KvSequence::reserve_list(int pages) {
  if (static_cast<std::size_t>(pages) <= pages_.size()) return true;
  Buffer<char*> list, closed;
  const std::uint64_t size = std::max(std::uint64_t{2} * pages_.size(), static_cast<std::uint64_t>(pages));
  if (!list.resize(size) || (closed_.size() > 0 && !closed.resize(size))) return false;
  if (page_count_ > 0) std::memcpy(list.data(), pages_.data(), page_count_ * sizeof(char*));
  if (page_count_ > 0 && closed.size() > 0) std::memcpy(closed.data(), closed_pages_.data(), page_count_ * sizeof(char*));
  pages_ = std::move(list);
  closed_pages_ = std::move(closed);
  return true;
}

Status KvSequence::reserve(int tokens, int open_from) {
  const int wanted = pages_of(tokens), before = page_count_;
  if (!reserve_list(wanted)) return Status::out_of_memory;
  for (; page_count_ < wanted; ++page_count_) {
    if (closed_pages_.size() > 0) closed_pages_[page_count_] = nullptr;
    pages_[page_count_] = page_count_ < open_from ? nullptr : allocate_page(geometry_->page_bytes());
    if (pages_[page_count_] == nullptr && page_count_ >= open_from) {
      release(before);
      return Status::out_of_memory;
    }
  }
  return Status::ok;
}

Status KvSequence::own_page(char*& page, std::size_t bytes) {
  if (page == nullptr || page_holders(page) == 1) return Status::ok;
  char* own = allocate_page(bytes);
  if (own == nullptr) return Status::out_of_memory;
  std::memcpy(own, page, bytes);
  release_page(page);
  page = own;
  return Status::ok;
}

Status KvSequence::own_pages(int first, int last) {
  const int end = std::min(page_count_, pages_of(last));
  for (int index = first / kBlockTokens; index < end; ++index) {
    if (const Status status = own_page(pages_[index], geometry_->page_bytes()); status != Status::ok) return status;
    if (closed_page(index) == nullptr) continue;
    if (const Status status = own_page(closed_pages_[index], geometry_->closed_page_bytes(is_first(index))); status != Status::ok)
      return status;
  }
  return Status::ok;
}

int KvSequence::closed_in_all() const {
  if (closed_.size() == 0) return 0;
  return *std::min_element(closed_.data(), closed_.data() + closed_.size());
}

Status KvSequence::reserve_closed(int groups) {
  for (int index = 0; index < groups; ++index) {
    if (closed_pages_[index] != nullptr) continue;
    closed_pages_[index] = allocate_page(geometry_->closed_page_bytes(is_first(index)));
    if (closed_pages_[index] == nullptr) return Status::out_of_memory;
    if (pages_[index] != nullptr) std::memcpy(closed_pages_[index], pages_[index], positions_bytes());
  }
  return Status::ok;
}

Status KvSequence::reserve_open(int index) {
  if (pages_[index] != nullptr) return Status::ok;
  pages_[index] = allocate_page(geometry_->page_bytes());
  if (pages_[index] == nullptr) return Status::out_of_memory;
  std::memcpy(pages_[index], closed_pages_[index], positions_bytes());
  return Status::ok;
}

void KvSequence::drop_open_pages() {
  for (int index = std::min(page_count_, closed_in_all()) - 1; index >= 0 && pages_[index] != nullptr; --index) {
    release_page(pages_[index]);
    pages_[index] = nullptr;
  }
}

void KvSequence::copy_positions(int index) {
  for (; index < page_count_; ++index) {
    if (pages_[index] != nullptr && closed_pages_[index] != nullptr) std::memcpy(closed_pages_[index], pages_[index], positions_bytes());
  }
}

void KvSequence::drop_closed_pages(int index) {
  for (; closed_.size() > 0 && index < page_count_; ++index) {
    if (closed_pages_[index] != nullptr) release_page(closed_pages_[index]);
    closed_pages_[index] = nullptr;
  }
}

void KvSequence::remove_pages(int first, int count) {
  for (int index = first; index < page_count_; ++index) {
    if (index < first + count) {
      for (char* form : {page(index), closed_page(index)}) {
        if (form != nullptr) release_page(form);
      }
    } else {
      pages_[index - count] = pages_[index];
      closed_pages_[index - count] = closed_pages_[index];
    }
  }
  page_count_ -= count;
  has_first_ = has_first_ && first > 0;
  const auto removed = [&](int value, int unit) { return value - std::max(0, std::min(value, (first + count) * unit) - first * unit); };
  for (std::size_t layer = 0; layer < written_.size(); ++layer) {
    written_[layer] = removed(written_[layer], kBlockTokens);
    closed_[layer] = removed(closed_[layer], 1);
  }
  truncate(tokens_ - count * kBlockTokens);
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
  for (std::size_t layer = 0; layer < closed_.size(); ++layer) closed_[layer] = std::min(closed_[layer], tokens_ / kBlockTokens);
  release(pages_of(tokens_));
  if (tokens_ == 0) largest_key_ = 0;
  has_first_ = has_first_ || tokens_ == 0;
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
  for (; fresh.page_count_ < pages; ++fresh.page_count_) {
    const int index = fresh.page_count_;
    fresh.pages_[index] = other.page(index) == nullptr ? nullptr : hold_page(other.page(index));
    if (closed_.size() > 0)
      fresh.closed_pages_[index] = other.closed_page(index) == nullptr ? nullptr : hold_page(other.closed_page(index));
  }
  fresh.tokens_ = tokens;
  fresh.largest_key_ = tokens == 0 ? 0 : other.largest_key_;
  fresh.has_first_ = tokens == 0 || other.has_first_;
  fresh.find_largest_position();
  for (std::size_t layer = 0; layer < written_.size(); ++layer) fresh.written_[layer] = std::min(other.written_[layer], tokens);
  for (std::size_t layer = 0; layer < closed_.size(); ++layer) fresh.closed_[layer] = std::min(other.closed_[layer], tokens / kBlockTokens);
  for (std::size_t rope = 0; rope < planned_.size(); ++rope) fresh.planned_[rope] = other.planned_[rope];
  swap(fresh);
  return Status::ok;
}

}  // namespace ropewalk
