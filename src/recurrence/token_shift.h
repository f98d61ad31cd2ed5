// The token shift of RWKV: each element of a token's row is mixed with that of the token before.
//
//   out_t = x_t + share · (x_(t−1) − x_t), element by element
#pragma once

namespace ropewalk {

// Mixes `tokens` rows x, [tokens][size], with their predecessors. That of the first is `from`, [size]. `share` is [size], out isn't x.
void shift_tokens(const float* x, int tokens, int size, const float* share, const float* from, float* out);

}  // namespace ropewalk
