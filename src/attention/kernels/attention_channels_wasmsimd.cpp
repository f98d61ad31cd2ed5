// Closed groups of keys as rows of floats, in simd128, with the bits of the scalar kernel.
#include <wasm_simd128.h>

#include "attention/channel_group.h"
#include "attention/kernels/attention_simd.h"

namespace ropewalk {
namespace {

// Four channels of sixteen tokens, a byte each, from [channel] to [token]: each vector has four channels of four tokens.
struct Bytes {
  v128_t four[4];
};
Bytes by_token(v128_t a, v128_t b, v128_t c, v128_t d) {
  const v128_t low_ab = wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const v128_t high_ab = wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  const v128_t low_cd = wasm_i8x16_shuffle(c, d, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const v128_t high_cd = wasm_i8x16_shuffle(c, d, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  return {{wasm_i16x8_shuffle(low_ab, low_cd, 0, 8, 1, 9, 2, 10, 3, 11), wasm_i16x8_shuffle(low_ab, low_cd, 4, 12, 5, 13, 6, 14, 7, 15),
           wasm_i16x8_shuffle(high_ab, high_cd, 0, 8, 1, 9, 2, 10, 3, 11),
           wasm_i16x8_shuffle(high_ab, high_cd, 4, 12, 5, 13, 6, 14, 7, 15)}};
}

// Writes sixteen tokens of four channels, `dim` floats apart.
void write_tokens(const Bytes& bytes, v128_t scales, v128_t zeros, int dim, float* floats) {
  for (int quarter = 0; quarter < 4; ++quarter) {
    const v128_t low = wasm_u16x8_extend_low_u8x16(bytes.four[quarter]), high = wasm_u16x8_extend_high_u8x16(bytes.four[quarter]);
    const v128_t codes[4] = {wasm_u32x4_extend_low_u16x8(low), wasm_u32x4_extend_high_u16x8(low), wasm_u32x4_extend_low_u16x8(high),
                             wasm_u32x4_extend_high_u16x8(high)};
    for (const v128_t code : codes) {
      wasm_v128_store(floats, wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_convert_i32x4(code), scales), zeros));
      floats += dim;
    }
  }
}

}  // namespace

void load_channels_simd(const void* stored, int head_dim, float* floats) {
  const ChannelGroup group(stored, head_dim);
  const int dim = padded_dim(head_dim);
  int channel = 0;
  for (; channel + 4 <= head_dim; channel += 4) {
    const auto scale = [&](int i) { return group.scale(channel + i); };
    const auto zero = [&](int i) { return to_float(group.zeros[channel + i]); };
    const v128_t scales = wasm_f32x4_make(scale(0), scale(1), scale(2), scale(3));
    const v128_t zeros = wasm_f32x4_make(zero(0), zero(1), zero(2), zero(3));
    v128_t low[4], high[4];
    for (int i = 0; i < 4; ++i) {
      const v128_t codes = wasm_v128_load(group.codes + (channel + i) * kCodeBytes);
      low[i] = wasm_v128_and(codes, wasm_i8x16_splat(15));
      high[i] = wasm_u8x16_shr(codes, 4);
    }
    write_tokens(by_token(low[0], low[1], low[2], low[3]), scales, zeros, dim, floats + channel);
    write_tokens(by_token(high[0], high[1], high[2], high[3]), scales, zeros, dim, floats + channel + kCodeBytes * dim);
  }
  for (int token = 0; token < kBlockTokens; ++token) {
    float* row = floats + static_cast<std::ptrdiff_t>(token) * dim;
    for (int i = channel; i < dim; ++i) row[i] = i < head_dim ? group.element(i, token) : 0;
  }
}

}  // namespace ropewalk
