// Fetches weights ahead while a tile is multiplied.
#pragma once

#include <cstddef>

#include "matmul/kernels/matmul_kernels.h"

namespace ropewalk {

// Sets what follows `bytes` bytes of a panel as the next to be fetched: as many bytes again.
void set_next(const PanelPart& panel, std::ptrdiff_t bytes, PanelChunk& chunk);

// Fetches one of `pieces` pieces of what the next chunk needs. Weights of few tokens would wait for memory otherwise: all of them are read
// for each text, and those of a layer rarely are in a cache.
void fetch_next(const PanelChunk& chunk, int piece, int pieces);

}  // namespace ropewalk
