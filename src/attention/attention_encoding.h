// Applies a position encoding inside attention: to the rows of queries and keys as they are read, or to the scores.
#pragma once

#include "attention/attention_types.h"
#include "attention/kernels/attention_kernels.h"

namespace ropewalk {

// Checks an encoding against the queries and keys of a call. `heads` is the number of query heads.
Status check_encoding(const PositionEncoding& encoding, const KeyValues& kv, const Positions& queries, int heads);

// Positions of the keys from a slot on: key n of them is token first + n of `positions`. With pages, valid up to the end of the page.
struct KeyPositions {
  Positions positions;
  int first;
  double first_position() const { return positions.at(0, 0, first); }
};
KeyPositions key_positions(const KeyValues& kv, int first);

// `count` rows of a head, read and written with separate strides, in floats.
struct EncodedRows {
  const float* source;
  std::ptrdiff_t source_stride;
  float* target;
  std::ptrdiff_t target_stride;
  int count;
};

class Encoder {
 public:
  Encoder(const PositionEncoding& encoding, const RotateKernels& kernels) : encoding_(encoding), kernels_(kernels) {}

  // Number of floats that prepare() needs.
  static std::uint64_t memory_floats(const PositionEncoding& encoding, int head_dim, int heads);
  // `rows` have memory for pairs(), and are set to the rope's plan.
  void prepare(float* memory, CosSinRows& rows, int head_dim, int heads);

  // Pairs that a rope rotates.
  int pairs() const { return encoding_.scheme == PositionScheme::rope ? encoding_.rope->plan().rotary_dim / 2 : 0; }

  bool encodes_keys() const { return encodes_rows_; }
  bool has_bias() const { return encoding_.scheme == PositionScheme::alibi || encoding_.scheme == PositionScheme::t5; }

  // Prepares for `count` keys from `at.first` on, at most kBlockTokens, in a part of the rope's position map.
  void use_keys(const KeyPositions& at, int count, int part);
  // Prepares for all keys of a page, to be encoded channel by channel. `memory` is used during the call: [kBlockTokens][padded_dim].
  void use_channels(const KeyPositions& at, int part, float* memory);
  // How those keys are rotated as they are read, and what is then added to them.
  ChannelRotation rotation() const;
  void add_to_channels(float* floats) const;
  // Encodes the keys of use_keys() of one head, in place or into other rows. In other rows, elements outside the rotated span are not
  // written.
  void encode_keys(const EncodedRows& rows) const;
  // Whether every element of a row is encoded.
  bool encodes_all() const;

  // Prepares for a query token, in a part of the map.
  void use_query(const Positions& positions, int token, int part);
  // Encodes `rows.count` heads of that token.
  void encode_query(const EncodedRows& rows) const;

  // Writes the bias of one query head for each of the current keys, [count], for a query at `position`.
  void write_bias(double position, int head, float* bias);

 private:
  // Writes rows to `memory`, as at cos_ and table_.
  void write_rows(const Positions& positions, int first, int count, Role role, int part, float* memory) const;
  void encode(const EncodedRows& rows, bool share_row) const;

  const PositionEncoding& encoding_;
  const RotateKernels& kernels_;
  CosSinRows* rows_ = nullptr;
  bool encodes_rows_ = false;
  int head_dim_ = 0;
  int heads_ = 0;
  int key_count_ = 0;
  double key_position_[kBlockTokens] = {};
  int bucket_[kBlockTokens] = {};  // t5: the buckets of the current keys for a query at bucket_position_
  double bucket_position_ = 0;
  float* cos_ = nullptr;  // [kBlockTokens][pairs], or [pairs][kBlockTokens] of use_channels(): rope
  float* sin_ = nullptr;
  float* table_ = nullptr;   // [kBlockTokens][head_dim]: rows to add (sinusoidal, learned)
  float* slopes_ = nullptr;  // [heads]
};

}  // namespace ropewalk
