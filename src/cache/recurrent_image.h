// Saves and restores the states of recurrent layers (format: image.h). The header has the tokens that the state has seen and those that the
// state before the last call had seen, -1 if there is none, then the floats of each layer. The content is both states. Checkpoints are not
// saved.
#pragma once

#include "cache/recurrent_state.h"

namespace ropewalk {

class RecurrentImage {
 public:
  // Size of the image in bytes.
  static std::size_t bytes(const RecurrentState& state);

  // Writes bytes() bytes.
  static void save(const RecurrentState& state, void* target);

  // Restores an image of `bytes` bytes, without checkpoints. Returns image_* statuses for a bad image, or out_of_memory. Changes nothing on
  // failure.
  static Status restore(RecurrentState& state, const void* source, std::size_t bytes);
};

}  // namespace ropewalk
