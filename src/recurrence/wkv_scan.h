// The recurrence of RWKV-7, a generalized delta rule (Peng et al. 2025, arXiv:2503.14456). The state is a matrix for each head, S =
// [values][keys]. With each token, each row s_r of the state and its value v_r:
//
//   s_r ← w * s_r − (s_r · κ) b + v_r k
//   out_r = s_r · q
//
// where * multiplies elements: keys decay at their own rates w. The row's part along κ is removed, as far as b says, before k is added.
#pragma once

#include "recurrence/state_scan.h"

namespace ropewalk {

struct WkvScan {
  int tokens;
  int heads;
  int keys;              // elements of a key
  int values;            // elements of a value
  const float* q;        // [tokens][heads][padded_keys(keys)], zeros after each key
  const float* w;        // [tokens][heads][padded_keys(keys)], zeros after each key
  const float* k;        // [tokens][heads][padded_keys(keys)], zeros after each key
  const float* removed;  // κ, [tokens][heads][padded_keys(keys)], zeros after each key
  const float* b;        // [tokens][heads][padded_keys(keys)], zeros after each key
  const float* v;        // [tokens][heads][values]
};

// Scans the tokens from the state `from`, [heads][values][padded_keys(keys)]. Writes the state after them to `to`, which isn't `from`, and
// out, [tokens][heads][values]. All arithmetic is f32.
void scan_wkv(const WkvScan& scan, const float* from, float* to, float* out);

}  // namespace ropewalk
