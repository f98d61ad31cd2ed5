// Quantizes single blocks. The arithmetic is ggml's, operation by operation, so that the bits are the same (ggml-quants.c).
#pragma once

#include <cstdint>

namespace ropewalk {

// Blocks of 32 elements: a scale in f16, then the quants. `x` must be finite.
void quantize_q8_0(const float* x, std::uint8_t* block);
void quantize_q4_0(const float* x, std::uint8_t* block);
void quantize_q5_0(const float* x, std::uint8_t* block);

// Blocks of 256 elements: scales in f16 for the block, scales in integers for each 16 or 32 elements. `x` must be finite.
void quantize_q4_k(const float* x, std::uint8_t* block);
void quantize_q6_k(const float* x, std::uint8_t* block);

}  // namespace ropewalk
