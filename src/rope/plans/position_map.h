// Position maps: methods past the trained window that rotate a key for far queries at another position than for near ones, so that no query
// and key are further apart than those that the model was trained on. A map divides the keys that a query sees into parts. A part has a
// range of keys, and its keys and the query are rotated at positions of its own.
//
// For a query at p and a key at k, with distance d = p - k:
//   self_extend   d < w: p and k,   else floor(p/G) + w - floor(w/G) and floor(k/G)        Jin et al. 2024 (arXiv:2401.01325)
//   rerope        d < w: p and k,   else w and 0                                           Su 2023 (github.com/bojone/rerope)
//   dual_chunk    k mod c and, with r = p mod c: r for keys of the same chunk of c,        An et al. 2024 (arXiv:2402.17463)
//                 min(r + c, s) for those of the chunk before, min(2c - 1, s) for others   c = chunk_size - local_size, s = chunk_size
//   lm_infinite   d < w: p and k,   else w and 0 for the first tokens of the sequence,     Han et al. 2024 (arXiv:2308.16137)
//                 and no other keys
// with w = window and G = group_size. Positions of a sequence must be consecutive integers.
#pragma once

#include <cmath>

#include "rope/config.h"

namespace ropewalk {

class PositionMap {
 public:
  static constexpr int kMaxParts = 3;

  PositionMap() = default;
  // The config must have been validated.
  explicit PositionMap(const RopeConfig& config);

  bool operator==(const PositionMap&) const = default;
  explicit operator bool() const { return type_ != MapType::none; }

  // Parts, from far keys to near ones; 1 without a map.
  int parts() const { return type_ == MapType::none ? 1 : type_ == MapType::dual_chunk ? 3 : 2; }

  // The positions of keys, from `first` up to `last`, exclusive. Empty if last <= first.
  struct Keys {
    double first, last;
  };
  // The keys of a part for a query, among those up to the query. `start` is the position of the sequence's first token. Both ends grow with
  // the position of the query.
  Keys keys(int part, double query, double start) const;

  // The positions that a query and a key of a part are rotated at.
  double query_position(int part, double query) const;
  double key_position(int part, double key) const;

 private:
  MapType type_ = MapType::none;
  double group_size_ = 1;
  double window_ = 0;
  double chunk_ = 1;  // c
  double chunk_size_ = 1;
  double sink_tokens_ = 0;
};

// Checks that a map has the numbers that its type needs.
Status check_position_map(const RopeConfig& config);

}  // namespace ropewalk
