// A recurrence whose state is a matrix for each head, S = [values][keys]. With each token, each row s_r of the state and its value v_r:
//
//   adds    s_r ← a s_r + b v_r k                       Mamba-2 (Dao and Gu 2024, arXiv:2405.21060), with k = B, q = C and a = exp(b A)
//   delta   s_r ← a s_r + b (v_r − a s_r · k) k         gated delta networks (Yang et al. 2024, arXiv:2412.06464)
//   out_r = s_r · q
//
// where k and q are those of the head, and a and b are numbers of the head and token.
#pragma once

#include <cstddef>

namespace ropewalk {

// Elements of a row of the state in memory: keys are padded with zeros to whole vectors.
inline int padded_keys(int keys) { return (keys + 3) / 4 * 4; }

struct StateScan {
  int tokens;
  int heads;
  int key_heads;            // divides heads
  int keys;                 // elements of a key
  int values;               // elements of a value
  bool is_delta;            // the second form
  bool is_tiled;            // head h has the keys of key head h mod key_heads, rather than h / (heads / key_heads)
  const float* k;           // [tokens][key_heads][padded_keys(keys)]
  const float* q;           // [tokens][key_heads][padded_keys(keys)]
  const float* v;           // [tokens] rows of [heads][values], v_stride apart
  std::ptrdiff_t v_stride;  // floats
  const float* a;           // [tokens][heads]
  const float* b;           // [tokens][heads]
};

inline std::size_t scan_state(int heads, int keys, int values) { return static_cast<std::size_t>(heads) * values * padded_keys(keys); }

// Scans the tokens from the state `from`, [heads][values][padded_keys(keys)]. Writes the state after them to `to`, which isn't `from`, and
// out, [tokens][heads][values]. All arithmetic is f32.
void scan_states(const StateScan& scan, const float* from, float* to, float* out);

}  // namespace ropewalk
