// The states of a text's recurrent layers: after its last token, before the last call, and at checkpoints. A state can't be taken back by a
// token, so a text is rewound to the nearest of them, and read again from there.
#pragma once

#include <span>

#include "base/buffer.h"
#include "base/status.h"

namespace ropewalk {

class RecurrentState {
 public:
  RecurrentState() = default;
  ~RecurrentState() { forget_checkpoints(); }
  RecurrentState(const RecurrentState&) = delete;
  RecurrentState& operator=(const RecurrentState&) = delete;

  // Makes the state of an empty text, all zeros. `sizes` has the floats of each layer, 0 for layers without a state. At most `checkpoints`
  // checkpoints are kept. Returns out_of_memory, with no change, or ok.
  Status configure(std::span<const std::size_t> sizes, int checkpoints);

  int layers() const { return layers_; }
  std::size_t size(int layer) const { return offsets_[layer + 1] - offsets_[layer]; }
  // Tokens that the state has seen.
  int tokens() const { return tokens_; }
  // Size in bytes of all states, checkpoints included.
  double bytes() const;

  // A call reads each layer's state from from() and writes all of to(). Only commit() makes that the state. Until then tokens() and from()
  // stay, so a call that fails changes nothing but the state before it, which is lost.
  void begin() { tokens_before_ = kNone; }
  const float* from(int layer) const { return now_.data() + offsets_[layer]; }
  float* to(int layer) { return before_.data() + offsets_[layer]; }
  void commit(int count);

  // Makes the state a checkpoint, unless it is one or none are kept. The oldest is dropped if there are too many. Returns out_of_memory,
  // with no change, or ok.
  Status keep();

  // Goes back to the last known state of at most `tokens` tokens: a checkpoint, the state before the last call, or that of an empty text.
  // Returns its number of tokens. Later checkpoints are dropped.
  int rewind(int tokens);

  // To be called when a text loses `discard` tokens after the first `keep`. The state has seen them and stays as it is, unless no token is
  // left: then it is that of an empty text. Checkpoints and the state before the last call stay too, except those between, and those that
  // would have no token.
  void shift(int keep, int discard);

  // Shares the checkpoints of another state with the same sizes: the newest that it may keep, except those of more than tokens() tokens.
  void share_checkpoints(const RecurrentState& other);

 private:
  friend class RecurrentImage;
  static constexpr int kNone = -1;

  struct Checkpoint {
    int references;
    Buffer<float> floats;
  };
  struct Kept {
    Checkpoint* checkpoint;
    int tokens;  // of this text
  };

  std::size_t floats() const { return layers_ == 0 ? 0 : offsets_[layers_]; }
  void forget_checkpoints(int first = 0);
  void drop(int index);

  int layers_ = 0;
  int tokens_ = 0;
  int tokens_before_ = kNone;
  Buffer<std::size_t> offsets_;  // [layers + 1]
  Buffer<float> now_, before_;
  Buffer<Kept> kept_;  // by tokens, kept_count_ of them
  int kept_count_ = 0;
};

}  // namespace ropewalk
