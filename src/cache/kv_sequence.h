// The tokens of one sequence of a cache: their pages, and how far each layer has been written. Knows nothing of rotation.
#pragma once

#include <limits>

#include "cache/kv_geometry.h"
#include "rope/positions.h"

namespace ropewalk {

class KvSequence {
 public:
  KvSequence() = default;
  ~KvSequence() { release(0); }
  KvSequence(KvSequence&& other) noexcept { swap(other); }
  KvSequence& operator=(KvSequence&& other) noexcept {
    swap(other);
    return *this;
  }
  KvSequence(const KvSequence&) = delete;
  KvSequence& operator=(const KvSequence&) = delete;

  // An empty sequence of a cache of this geometry, which outlives it, and of `ropes` ropes.
  Status prepare(const KvGeometry& geometry, int ropes);
  // Makes `geometry`, equal to the one it was prepared with, the one it refers to.
  void use_geometry(const KvGeometry& geometry) { geometry_ = &geometry; }

  int tokens() const { return tokens_; }
  int pages() const { return page_count_; }
  // Tokens whose keys and values a layer has been given; the first tokens of the sequence.
  int written(int layer) const { return written_[layer]; }
  // The length for whose plan a rope's keys are turned.
  double planned_length(int rope) const { return planned_[rope]; }
  void set_planned_length(int rope, double length) { planned_[rope] = length; }
  // Largest magnitude of any key as xPos scaled it when it came, not turned and without the plan's factor: what must still fit when another
  // plan or position scales keys up.
  float largest_key() const { return largest_key_; }
  void note_key(float magnitude) { largest_key_ = magnitude > largest_key_ ? magnitude : largest_key_; }

  char* page(int index) const { return pages_[index]; }
  const char* const* page_list() const { return pages_.data(); }
  double* page_positions(int index) const { return reinterpret_cast<double*>(pages_[index]); }
  double position(int axis, int slot) const { return page_positions(slot / kBlockTokens)[axis * kBlockTokens + slot % kBlockTokens]; }
  // Largest position of any token on any axis; -1 where there is none.
  double largest_position() const { return tokens_ == 0 ? -1 : largest_position_; }

  // Takes pages for so many tokens in all. What is there stays where it is.
  Status reserve(int tokens);

  // Adds tokens, for which room has been reserved, at positions of one row, `positions.tokens` of them from `first` on.
  void place(const Positions& positions, int row, int first);
  // Makes tokens stand elsewhere: `position(axis, slot)` is asked for each.
  template <class Position>
  void replace_positions(const Position& position) {
    for (int slot = 0; slot < tokens_; ++slot) {
      for (int axis = 0; axis < geometry_->axes(); ++axis) set_position(axis, slot, position(axis, slot));
    }
    find_largest_position();
  }
  void note_written(int layer, int tokens) { written_[layer] = tokens; }
  // Counts tokens whose pages are reserved and filled from outside; find_largest_position() once they are.
  void adopt_tokens(int tokens) { tokens_ = tokens; }
  void find_largest_position();

  // Keeps the first `tokens` tokens and gives back the pages of the others.
  void truncate(int tokens);

  // Takes out the tokens [first, first + count): those after it move down with their positions.
  void remove(int first, int count);

  // Becomes a copy of the first `tokens` tokens of another sequence of the same geometry. On failure nothing changes.
  Status copy(const KvSequence& other, int tokens);

 private:
  void set_position(int axis, int slot, double position) {
    page_positions(slot / kBlockTokens)[axis * kBlockTokens + slot % kBlockTokens] = position;
  }
  void swap(KvSequence& other);
  void release(int pages);
  void move_rows(int from, int to, int count);

  const KvGeometry* geometry_ = nullptr;
  int tokens_ = 0;
  int page_count_ = 0;
  float largest_key_ = 0;
  double largest_position_ = -std::numeric_limits<double>::infinity();
  Buffer<char*> pages_;  // more than page_count_ may have room
  Buffer<int> written_;
  Buffer<double> planned_;
};

}  // namespace ropewalk
