// What the blocks of a forward pass share while some tokens run through a model.
#pragma once

#include "transformer/blocks/projector.h"
#include "transformer/blocks/run_sequences.h"
#include "transformer/weights.h"

namespace ropewalk {

struct ForwardPass {
  const Weights& weights;
  RunSequences& sequences;
  Projector multiply;
  int count;  // tokens

  const ModelConfig& config() const { return weights.config(); }
};

}  // namespace ropewalk
