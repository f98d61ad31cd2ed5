// What the blocks of a forward pass share while some tokens run through a model.
#pragma once

#include "transformer/blocks/projector.h"
#include "transformer/blocks/run_sequences.h"
#include "transformer/weights.h"

namespace ropewalk {

// A buffer of a block, and the number of floats that it needs.
struct BufferSize {
  Buffer<float>* buffer;
  std::uint64_t size;
};

// Resizes buffers. Returns false if out of memory.
[[nodiscard]] inline bool resize(std::initializer_list<BufferSize> sizes) {
  for (const BufferSize& size : sizes) {
    if (!size.buffer->resize(size.size)) return false;
  }
  return true;
}

struct ForwardPass {
  const Weights& weights;
  RunSequences& sequences;
  Projector multiply;
  int count;  // tokens

  const ModelConfig& config() const { return weights.config(); }
};

}  // namespace ropewalk
