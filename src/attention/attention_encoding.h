// Applies a position encoding while attention reads: to rows of queries and keys, or to scores.
#pragma once

#include "attention/attention.h"

namespace ropewalk {

// Checks an encoding against the queries and keys of a call.
Status check_encoding(const PositionEncoding& encoding, const KeyValues& kv, const Positions& queries, int heads);

// Where the keys of [first, first + count) stand; with pages, all of one page.
struct KeyPositions {
  Positions positions;
  int first;
};
KeyPositions key_positions(const KeyValues& kv, int first);

// `count` rows of a head, read and written with strides of their own, in floats.
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

  // Floats that prepare() needs for `count` keys at a time.
  static std::size_t memory_floats(const PositionEncoding& encoding, int head_dim, int heads);
  void prepare(float* memory, int head_dim, int heads);

  bool encodes_keys() const { return encodes_rows_; }
  bool has_bias() const { return encoding_.scheme == PositionScheme::alibi || encoding_.scheme == PositionScheme::t5; }

  // Makes ready for the keys from `first` on, at most kBlockTokens.
  void use_keys(const KeyPositions& at, int count);
  // Encodes those keys of one head, in place or into rows elsewhere; there, elements that are not encoded are not written.
  void encode_keys(const EncodedRows& rows) const;
  // Whether every element of a row is encoded.
  bool encodes_all() const;

  // Makes ready for a query token, and encodes `count` of its heads.
  void use_query(const Positions& positions, int token);
  void encode_query(const EncodedRows& rows) const;

  // Writes the bias of one head on the keys in use, for a query at `position`.
  void write_bias(double position, int head, float* bias);

 private:
  void use_rows(const Positions& positions, int first, int count, Role role);
  void encode(const EncodedRows& rows, bool share_row) const;

  const PositionEncoding& encoding_;
  const RotateKernels& kernels_;
  bool encodes_rows_ = false;
  int head_dim_ = 0;
  int heads_ = 0;
  int key_count_ = 0;
  double key_position_[kBlockTokens] = {};
  int bucket_[kBlockTokens] = {};  // t5: of those keys, for a query at bucket_position_
  double bucket_position_ = 0;
  float* cos_ = nullptr;  // [kBlockTokens][pairs]: rope
  float* sin_ = nullptr;
  float* table_ = nullptr;   // [kBlockTokens][head_dim]: rows to add
  float* slopes_ = nullptr;  // [heads]
};

}  // namespace ropewalk
