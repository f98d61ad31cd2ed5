// The tokens of one sequence of a cache: their pages, their positions, and how far each layer is written. Knows nothing of rotation.
//
// Of the type q4_channel a page has one or two forms: open, in rows, and closed (kv_geometry.h). Each layer has closed a number of groups.
// A page loses its open form when all layers have closed it and no later token reads it (drop_open_pages).
//
// A copy of a sequence holds the same pages. A page that others hold too must not be written: own_pages() copies it first.
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

  // Makes an empty sequence of a cache with this geometry and `ropes` ropes. The geometry must outlive the sequence. Returns out_of_memory
  // or ok.
  Status prepare(const KvGeometry& geometry, int ropes);
  // Refers to another object of the same geometry from now on.
  void use_geometry(const KvGeometry& geometry) { geometry_ = &geometry; }

  int tokens() const { return tokens_; }
  int pages() const { return page_count_; }
  // Number of tokens, from the first, whose keys and values a layer has.
  int written(int layer) const { return written_[layer]; }
  // The sequence length whose plan a rope's keys are rotated by.
  double planned_length(int rope) const { return planned_[rope]; }
  void set_planned_length(int rope, double length) { planned_[rope] = length; }
  // Largest magnitude of any key when it was appended: scaled by xPos, but not rotated and without the plan's attention factor. Keys must
  // still fit their storage when another plan or position scales them up.
  float largest_key() const { return largest_key_; }
  void note_key(float magnitude) { largest_key_ = magnitude > largest_key_ ? magnitude : largest_key_; }

  // To be written only after own_pages(). Null if only the closed form is left.
  char* page(int index) const { return pages_[index]; }
  const char* const* page_list() const { return pages_.data(); }
  // The closed form, or null.
  char* closed_page(int index) const { return closed_pages_.size() == 0 ? nullptr : closed_pages_[index]; }
  const char* const* closed_page_list() const { return closed_pages_.data(); }
  // Number of groups, from the first, that a layer has closed.
  int closed(int layer) const { return closed_.size() == 0 ? 0 : closed_[layer]; }
  void note_closed(int layer, int groups) { closed_[layer] = groups; }
  int closed_in_all() const;
  // Whether a page has the closed form of a first page (kv_geometry.h). A shift may remove the first page.
  bool is_first(int index) const { return index == 0 && has_first_; }
  bool has_first() const { return has_first_; }
  void note_first(bool has_first) { has_first_ = has_first; }
  // Read only, unless the page has one form.
  double* page_positions(int index) const {
    return reinterpret_cast<double*>(pages_[index] != nullptr ? pages_[index] : closed_pages_[index]);
  }
  double position(int axis, int slot) const { return page_positions(slot / kBlockTokens)[axis * kBlockTokens + slot % kBlockTokens]; }
  // Largest position of any token on any axis; -1 where there is none.
  double largest_position() const { return tokens_ == 0 ? -1 : largest_position_; }

  // Size of the pages in bytes. A page that n sequences hold counts as its n-th part.
  double bytes() const;

  // Makes sure that there are pages for `tokens` tokens in all. Existing pages don't move. New pages before `open_from` get no open form:
  // the caller reserves the closed one. Returns out_of_memory, with no change, or ok.
  Status reserve(int tokens, int open_from = 0);
  // Makes sure that the pages of the first `groups` groups have a closed form, with positions. Returns out_of_memory or ok.
  Status reserve_closed(int groups);
  // Makes sure that a page has an open form, with positions; its rows are not those of the closed form. Returns out_of_memory or ok.
  Status reserve_open(int index);
  // Releases the open forms of the pages that all layers have closed. Tokens read closed groups from now on.
  void drop_open_pages();
  // Copies positions from the open to the closed forms of the pages from `index` on.
  void copy_positions(int index);
  // Releases the closed forms of the pages from `index` on, which must have an open form.
  void drop_closed_pages(int index);
  // Copies the pages of the slots [first, last) that are shared with other sequences, so that they can be written. Slots without a page are
  // ignored. Returns out_of_memory or ok; the content is the same in both cases.
  Status own_pages(int first, int last);

  // Adds the tokens from `first` to positions.tokens, at the positions of one row. Their pages must be reserved, and not
  // shared (own_pages()).
  void add_tokens(const Positions& positions, int row, int first);
  // Sets the positions of all tokens to position(axis, slot). Pages in which one changes must not be
  // shared.
  template <class Position>
  void replace_positions(const Position& new_position) {
    for (int slot = 0; slot < tokens_; ++slot) {
      for (int axis = 0; axis < geometry_->axes(); ++axis) {
        const double next = new_position(axis, slot);
        if (next != position(axis, slot)) set_position(axis, slot, next);
      }
    }
    find_largest_position();
  }
  void note_written(int layer, int tokens) { written_[layer] = tokens; }
  // Sets the number of tokens, for a caller that fills the pages itself. It must call find_largest_position() when they are filled.
  void adopt_tokens(int tokens) { tokens_ = tokens; }
  void find_largest_position();

  // Keeps the first `tokens` tokens and releases the pages of the others.
  void truncate(int tokens);

  // Removes the tokens [first, first + count). Later tokens move down and keep their positions. The pages from slot `first` on that remain
  // must not be shared.
  void remove(int first, int count);
  // The same for whole pages, whose forms stay as they are; they may be shared.
  void remove_pages(int first, int count);

  // Becomes a copy of the first `tokens` tokens of another sequence of the same geometry, and shares its pages. Returns out_of_memory,
  // with no change, or ok.
  Status copy(const KvSequence& other, int tokens);

 private:
  void set_position(int axis, int slot, double position) {
    for (char* form : {page(slot / kBlockTokens), closed_page(slot / kBlockTokens)}) {
      if (form != nullptr) reinterpret_cast<double*>(form)[axis * kBlockTokens + slot % kBlockTokens] = position;
    }
  }
  std::size_t positions_bytes() const { return sizeof(double) * geometry_->axes() * kBlockTokens; }
  void swap(KvSequence& other);
  bool reserve_list(int pages);
  void release(int pages);
  void move_rows(int from, int to, int count);
  static Status own_page(char*& page, std::size_t bytes);

  const KvGeometry* geometry_ = nullptr;
  int tokens_ = 0;
  int page_count_ = 0;
  bool has_first_ = true;
  float largest_key_ = 0;
  double largest_position_ = -std::numeric_limits<double>::infinity();
  Buffer<char*> pages_;         // may be larger than page_count_
  Buffer<char*> closed_pages_;  // of the same size, empty if the geometry doesn't close groups
  Buffer<int> closed_;          // [layers], empty as well
  Buffer<int> written_;
  Buffer<double> planned_;
};

}  // namespace ropewalk
