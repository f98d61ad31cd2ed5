#include "cache/recurrent_state.h"

#include <algorithm>
#include <new>

namespace ropewalk {

Status RecurrentState::configure(std::span<const std::size_t> sizes, int checkpoints) {
  Buffer<std::size_t> offsets;
  Buffer<float> now, before;
  Buffer<Kept> kept;
  if (!offsets.resize(sizes.size() + 1) || !kept.resize(checkpoints)) return Status::out_of_memory;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    offsets[i] = static_cast<std::size_t>(total);
    total += sizes[i];
  }
  if (!now.resize(total) || !before.resize(total)) return Status::out_of_memory;
  offsets[sizes.size()] = static_cast<std::size_t>(total);
  forget_checkpoints();
  layers_ = static_cast<int>(sizes.size());
  offsets_ = std::move(offsets);
  now_ = std::move(now);
  before_ = std::move(before);
  kept_ = std::move(kept);
  tokens_ = 0;
  tokens_before_ = kNone;
  std::fill_n(now_.data(), floats(), 0.0f);
  return Status::ok;
}

double RecurrentState::bytes() const { return static_cast<double>(floats()) * sizeof(float) * (2 + kept_count_); }

void RecurrentState::commit(int count) {
  std::swap(now_, before_);
  tokens_before_ = tokens_;
  tokens_ += count;
}

Status RecurrentState::keep() {
  if (tokens_ == 0 || kept_.empty() || (kept_count_ > 0 && kept_[kept_count_ - 1].tokens == tokens_)) return Status::ok;
  Checkpoint* checkpoint = new (std::nothrow) Checkpoint;
  if (checkpoint == nullptr || !checkpoint->floats.resize(floats())) {
    delete checkpoint;
    return Status::out_of_memory;
  }
  std::copy_n(now_.data(), floats(), checkpoint->floats.data());
  checkpoint->references = 1;
  if (kept_count_ == static_cast<int>(kept_.size())) drop(0);
  kept_[kept_count_++] = {checkpoint, tokens_};
  return Status::ok;
}

int RecurrentState::rewind(int tokens) {
  int last = kept_count_ - 1;
  while (last >= 0 && kept_[last].tokens > tokens) --last;
  forget_checkpoints(last + 1);
  if (tokens >= tokens_) return tokens_;
  const int at_checkpoint = last < 0 ? 0 : kept_[last].tokens;
  if (tokens_before_ != kNone && tokens_before_ <= tokens && tokens_before_ >= at_checkpoint) {
    std::swap(now_, before_);
    tokens_ = tokens_before_;
  } else {
    if (last < 0) {
      std::fill_n(now_.data(), floats(), 0.0f);
    } else {
      std::copy_n(kept_[last].checkpoint->floats.data(), floats(), now_.data());
    }
    tokens_ = at_checkpoint;
  }
  tokens_before_ = kNone;
  return tokens_;
}

void RecurrentState::shift(int keep, int discard) {
  const auto moved = [=](int tokens) {
    if (tokens <= keep) return tokens;
    return tokens < keep + discard || tokens == discard ? kNone : tokens - discard;  // an empty text has a state of its own
  };
  tokens_ -= discard;
  if (tokens_ == 0) std::fill_n(now_.data(), floats(), 0.0f);
  if (tokens_before_ != kNone) tokens_before_ = moved(tokens_before_);
  for (int i = kept_count_ - 1; i >= 0; --i) {
    kept_[i].tokens = moved(kept_[i].tokens);
    const bool is_same = i + 1 < kept_count_ && kept_[i].tokens == kept_[i + 1].tokens;  // the one that hasn't seen the lost tokens stays
    if (is_same) drop(i + 1);
    if (kept_[i].tokens == kNone) drop(i);
  }
}

void RecurrentState::share_checkpoints(const RecurrentState& other) {
  forget_checkpoints();
  int end = other.kept_count_;
  while (end > 0 && other.kept_[end - 1].tokens > tokens_) --end;
  for (int i = std::max(0, end - static_cast<int>(kept_.size())); i < end; ++i) {  // the newest, if there is no room for all
    ++other.kept_[i].checkpoint->references;
    kept_[kept_count_++] = other.kept_[i];
  }
}

void RecurrentState::forget_checkpoints(int first) {
  while (kept_count_ > first) drop(kept_count_ - 1);
}

void RecurrentState::drop(int index) {
  Checkpoint* checkpoint = kept_[index].checkpoint;
  if (--checkpoint->references == 0) delete checkpoint;
  std::copy(kept_.data() + index + 1, kept_.data() + kept_count_, kept_.data() + index);
  --kept_count_;
}

}  // namespace ropewalk
