// Moves cached keys from (plan A, positions A) to (plan B, positions B) by one rotation by the difference of the angles, scaled by the
// ratio of the attention factors. A shift within one plan has ratio 1, however often it is repeated.
#pragma once

#include "rope/positions.h"
#include "rope/rotate.h"

namespace ropewalk {

// Where keys stood, or where they are to stand.
struct Standing {
  const FrequencyPlan& plan;
  const Positions& positions;
};

// Re-rotates `keys` (any dtype and layout). Keys whose angles and scale do not change are left, or copied, bit for bit.
// The plans must agree in head_dim, rotary span, pairing and axes (Status::plans_differ). On failure nothing is written.
// interleaved_to_half keys are already stored by halves, and are turned there.
Status rerotate(const RotateKernels& kernels, const HeadTensor& keys, const Standing& from, const Standing& to);

}  // namespace ropewalk
