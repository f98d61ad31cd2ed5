// Attention over tensors: each batch row is a sequence of its own, and keys and values are read in place.
#pragma once

#include "attention/attention.h"

namespace ropewalk {

struct AttentionTensors {
  HeadTensor queries;         // f32; target: the outputs, may be the source
  HeadTensor keys;            // source only; f32, f16 or bf16
  HeadTensor values;          // source only; shape, layout and type of the keys
  Positions query_positions;  // one row, or one for each batch row
  Positions key_positions;
};

// Attends batch row by batch row. With a rope, q and k must not be rotated yet; the plan is made for the largest position of both. Returns
// the first thing wrong with shapes, positions or options (check_attention), or out_of_memory. Writes nothing on failure.
Status attend_tensors(Attention& attention, const AttentionTensors& tensors, const AttentionOptions& options);

}  // namespace ropewalk
