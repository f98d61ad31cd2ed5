// Converts q and k projection weights and biases from one pairing to the other, so that a checkpoint of either pairing can be used
// with either kernel. Attention scores don't change, because q and k are permuted the same way.
#pragma once

#include "base/storage.h"
#include "rope/config.h"

namespace ropewalk {

struct ProjectionShape {
  int heads = 0;
  int head_dim = 0;
  int columns = 1;  // elements per row: the model's width for a weight, 1 for a bias
  int rotary_offset = 0;
  int rotary_dim = 0;
};

// Permutes the rows of a projection [heads · head_dim, columns] from pairing `from` to pairing `to` (half or interleaved). Only the
// rotary span of each head is permuted. source and target must not overlap. element_size is in bytes, for any element type.
Status convert_pairing(const void* source, void* target, int element_size, const ProjectionShape& shape, Pairing from, Pairing to);

}  // namespace ropewalk
