// Moves q and k projection weights and biases from one pairing to the other, so that a checkpoint of either kind can be used with either
// kernel. Attention scores do not change: q and k are permuted alike.
#pragma once

#include "base/storage.h"
#include "rope/config.h"

namespace ropewalk {

struct ProjectionShape {
  int heads = 0;
  int head_dim = 0;
  int columns = 1;  // elements of a row: the model's width for a weight, 1 for a bias
  int rotary_offset = 0;
  int rotary_dim = 0;
};

// Permutes the rows of a projection [heads · head_dim, columns], the rotary span of each head only, from pairing `from` to pairing `to`
// (half or interleaved). source and target do not overlap. element_size: bytes of an element, any storage.
Status convert_pairing(const void* source, void* target, int element_size, const ProjectionShape& shape, Pairing from, Pairing to);

}  // namespace ropewalk
