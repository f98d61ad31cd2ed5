// The running sums of linear attention as bytes (image.h). Header: heads, kv_heads, head_dim, 0 (i32), tokens (f64); content: the state.
#pragma once

#include "attention/linear_attention.h"

namespace ropewalk {

std::size_t linear_image_bytes(const LinearAttention& attention);

// Writes linear_image_bytes() bytes.
void save_linear(const LinearAttention& attention, void* target);

// Takes up the sums of an image of `bytes` bytes. On failure nothing changes.
Status restore_linear(LinearAttention& attention, const void* source, std::size_t bytes);

}  // namespace ropewalk
