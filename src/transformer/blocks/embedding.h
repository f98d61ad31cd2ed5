// The hidden states before the first layer.
#pragma once

#include "transformer/blocks/forward_pass.h"

namespace ropewalk {

// Computes x, [count][hidden_size]: the scaled embeddings of the tokens, to which those of positions and, in whole sequences, of types
// are added, after the norm of embeddings if there is one. `added` has the same shape, and is overwritten.
void embed(const ForwardPass& pass, float* added, float* x);

}  // namespace ropewalk
