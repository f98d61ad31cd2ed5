// The states of a text in which every number says how many tokens its layer has seen, and a model of them with numbers alone.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "cache/recurrent_image.h"

namespace ropewalk {

const std::vector<std::size_t> kStateSizes = {3, 0, 5, 1};

struct RecurrentText : RecurrentState {
  explicit RecurrentText(int checkpoints = 4, const std::vector<std::size_t>& sizes = kStateSizes) {
    EXPECT_EQ(configure(sizes, checkpoints), Status::ok);
  }

  // A call: writes what the layers have seen after `count` more tokens.
  void write(int count) {
    begin();
    for (int layer = 0; layer < layers(); ++layer) {
      for (std::size_t i = 0; i < size(layer); ++i) to(layer)[i] = from(layer)[i] + static_cast<float>(count);
    }
  }
  RecurrentText& read(int count) {
    write(count);
    commit(count);
    return *this;
  }
  RecurrentText& checkpoint() {
    EXPECT_EQ(keep(), Status::ok);
    return *this;
  }

  // The tokens that all layers have seen; -1 if they differ.
  int seen() const {
    for (int layer = 0; layer < layers(); ++layer) {
      for (std::size_t i = 0; i < size(layer); ++i) {
        if (from(layer)[i] != from(0)[0]) return -1;
      }
    }
    return static_cast<int>(from(0)[0]);
  }
  int floats() const {
    std::size_t sum = 0;
    for (int layer = 0; layer < layers(); ++layer) sum += size(layer);
    return static_cast<int>(sum);
  }
  // Checkpoints that are kept.
  int checkpoints() const { return static_cast<int>(bytes() / sizeof(float)) / floats() - 2; }
};

// What a text's states are: the tokens of the text, and those that the state has seen, which are more after a shift.
struct KnownState {
  int tokens, seen;
  bool operator==(const KnownState&) const = default;
};

class RecurrentModel {
 public:
  explicit RecurrentModel(int checkpoints) : most_(checkpoints) {}

  const KnownState& now() const { return now_; }
  int checkpoints() const { return static_cast<int>(kept_.size()); }

  void fail() { before_.clear(); }
  void read(int count) {
    before_ = {now_};
    now_ = {now_.tokens + count, now_.seen + count};
  }
  void keep() {
    if (now_.tokens == 0 || (!kept_.empty() && kept_.back().tokens == now_.tokens)) return;
    kept_.push_back(now_);
    if (checkpoints() > most_) kept_.erase(kept_.begin());
  }
  int rewind(int tokens) {
    std::erase_if(kept_, [=](const KnownState& state) { return state.tokens > tokens; });
    if (tokens >= now_.tokens) return now_.tokens;
    KnownState best = {0, 0};
    if (!kept_.empty()) best = kept_.back();
    if (!before_.empty() && before_[0].tokens <= tokens && before_[0].tokens >= best.tokens) best = before_[0];
    before_.clear();
    now_ = best;
    return now_.tokens;
  }
  void shift(int keep, int discard) {
    now_.tokens -= discard;
    if (now_.tokens == 0) now_.seen = 0;
    const auto moved = [=](const std::vector<KnownState>& states) {
      std::vector<KnownState> left;
      for (KnownState state : states) {
        if (state.tokens > keep && state.tokens < keep + discard) continue;
        if (state.tokens > keep) state.tokens -= discard;
        const bool is_empty = state.tokens == 0 && state.seen > 0, is_known = !left.empty() && left.back().tokens == state.tokens;
        if (!is_empty && !is_known) left.push_back(state);
      }
      return left;
    };
    kept_ = moved(kept_), before_ = moved(before_);
  }
  void share(const RecurrentModel& other) {
    kept_.clear();
    for (const KnownState& state : other.kept_) {
      if (state.tokens <= now_.tokens) kept_.push_back(state);
    }
    if (checkpoints() > most_) kept_.erase(kept_.begin(), kept_.end() - most_);
  }

 private:
  int most_;
  KnownState now_ = {0, 0};
  std::vector<KnownState> before_, kept_;
};

}  // namespace ropewalk
