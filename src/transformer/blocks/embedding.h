// The hidden states before the first layer.
#pragma once

#include "transformer/blocks/forward_pass.h"

namespace ropewalk {

// Computes x, [count][hidden_size]: the scaled embeddings of the tokens, plus those of positions and, in whole sequences, of types, plus
// `rows` unless it is null. Then the norm of embeddings, if there is one. `rows` and `added`, which is overwritten, have the shape of x.
void embed(const ForwardPass& pass, const float* rows, float* added, float* x);

}  // namespace ropewalk
