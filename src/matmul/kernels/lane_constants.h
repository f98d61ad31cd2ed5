// Constants of the kernels, in memory instead of in their code.
//
// V8 keeps no constant vector in a register: it builds each one anew wherever it is used, with three instructions. A vector that comes from
// memory stays in a register for a whole loop. The definition is in a file of its own, so that compilers don't see it either.
#pragma once

#include <wasm_simd128.h>

#include <cstdint>

namespace ropewalk {

struct alignas(16) LaneConstants {
  using Bytes = std::uint8_t[16];
  Bytes bits_0_1, bits_0_3, bits_0_4, bits_0_5, bits_4_5, bits_6_7, bit_1, bit_2, bit_5, bit_7;  // of each byte
  Bytes low_bytes, high_bit;                                                                     // of each 16 bits
  Bytes ones;                                                                                    // as 16 bits
  Bytes f16_bits;                                                                                // of an f16 as f32 lanes
  Bytes f32_exponent_1, f32_quarter_exponent_1;  // an exponent of 1 in f32 lanes, and a quarter of these bits
  Bytes fp8_nan, fp8_bits, fp8_bias;             // NaN; the bits of an nvfp4 scale as f32 lanes, and 2^119, which corrects its exponent
  Bytes fp4_quants;                              // the values of mxfp4 plus 12
  Bytes iq4_quants;                              // the values of iq4_nl plus 128
};

extern const LaneConstants kLanes;

inline v128_t lanes(const LaneConstants::Bytes& constant) { return wasm_v128_load(constant); }

}  // namespace ropewalk
