// Attention over tensors: every batch row on its own, keys and values where they lie.
#pragma once

#include "attention/attention.h"

namespace ropewalk {

struct AttentionTensors {
  HeadTensor queries;         // f32; target: the outputs, which may be the source
  HeadTensor keys;            // source only; f32, f16 or bf16
  HeadTensor values;          // source only; shape, layout and type of the keys
  Positions query_positions;  // of the queries' tokens; one row, or one for each batch
  Positions key_positions;
};

// With a rope, q and k are given unrotated; its plan is made for the largest position of either. Nothing is written on failure.
Status attend_tensors(Attention& attention, const AttentionTensors& tensors, const AttentionOptions& options);

}  // namespace ropewalk
