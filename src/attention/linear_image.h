// Saves and restores the running sums of linear attention (format: image.h). Header: heads, kv_heads, head_dim, a checksum of
// the rope (i32; 0 without one), tokens (f64). Content: the state. Sums can't be re-rotated, so they fit only the rope they were made with.
#pragma once

#include "attention/linear_attention.h"

namespace ropewalk {

// Size of the image in bytes.
std::size_t linear_image_bytes(const LinearAttention& attention);

// Writes linear_image_bytes() bytes. `plan` is the rope's, null without one.
void save_linear(const LinearAttention& attention, void* target, const FrequencyPlan* plan);

// Restores the sums from an image of `bytes` bytes. Returns image_* statuses for a bad image, or out_of_memory. Changes nothing on failure.
Status restore_linear(LinearAttention& attention, const void* source, std::size_t bytes, const FrequencyPlan* plan);

}  // namespace ropewalk
