// Re-rotates cached keys from one plan and set of positions to another. Each key is rotated once, by the difference of its angles,
// and scaled by the ratio of the attention factors. Within one plan the ratio is 1, so repeated shifts never scale keys.
#pragma once

#include "rope/positions.h"
#include "rope/rotate.h"

namespace ropewalk {

// The plan and the positions of rotated keys.
struct KeyPlacement {
  const FrequencyPlan& plan;
  const Positions& positions;
};

// Re-rotates `keys` of any dtype and layout. Keys whose angles and scale don't change keep their bits. The plans must have the same
// head_dim, rotary span, pairing and axes, else returns Status::plans_differ. On failure nothing is written. Keys in pairing
// interleaved_to_half are already stored as half, and are re-rotated as such.
Status rerotate(const RotateKernels& kernels, const HeadTensor& keys, const KeyPlacement& from, const KeyPlacement& to);

}  // namespace ropewalk
