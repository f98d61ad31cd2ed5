// Closed groups of keys as rotated floats, in simd128, with the bits of the scalar kernel.
#include <wasm_simd128.h>

#include <algorithm>
#include <cstdint>

#include "attention/channel_group.h"
#include "attention/kernels/attention_kernels.h"
#include "base/add_product.h"

namespace ropewalk {

// attention_simd.h
void load_channels_simd(const ChannelBlock& block);

namespace {

// Scale and zero of a channel. The bits of an f16 are those of 2^-112 times a float, as in Operands<Float16>.
class Channel {
 public:
  Channel(const ChannelGroup& group, int channel)
      : scale_(float_of(static_cast<std::uint32_t>(group.scales[channel]) << 20)),
        zero_(float_of((group.zeros[channel].bits & 0x8000u) << 16 | (group.zeros[channel].bits & 0x7FFFu) << 13)) {}

  // Elements of the first or the last four of eight codes. As the lower half of a float whose upper half is that of 2^23, a code adds its
  // value. A conversion of integers would be one of unsigned ones to the compiler, for which processors have no instruction.
  v128_t low(v128_t codes) const { return elements(wasm_i16x8_shuffle(codes, wasm_i16x8_splat(0x4B00), 0, 8, 1, 9, 2, 10, 3, 11)); }
  v128_t high(v128_t codes) const { return elements(wasm_i16x8_shuffle(codes, wasm_i16x8_splat(0x4B00), 4, 12, 5, 13, 6, 14, 7, 15)); }

 private:
  static v128_t float_of(std::uint32_t bits) {
    return wasm_f32x4_mul(wasm_i32x4_splat(static_cast<std::int32_t>(bits)), wasm_f32x4_splat(kF16Unit));
  }
  v128_t elements(v128_t sums) const {
    return wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_sub(sums, wasm_f32x4_splat(0x1p23f)), scale_), zero_);
  }

  v128_t scale_, zero_;
};

// Eight bytes of a channel have tokens n to n + 7 in their low halves and tokens n + 16 to n + 23 in their high ones.
inline v128_t low_halves(v128_t bytes) { return wasm_v128_and(bytes, wasm_i16x8_splat(15)); }
inline v128_t high_halves(v128_t bytes) { return wasm_u16x8_shr(bytes, 4); }

inline void load_channel(const ChannelGroup& group, int index, float* floats) {
  const Channel channel(group, index);
  const std::uint8_t* codes = group.codes + index * kCodeBytes;
  ROPEWALK_ROLLED for (int n = 0; n < kCodeBytes; n += 8) {
    const v128_t bytes = wasm_u16x8_load8x8(codes + n), low = low_halves(bytes), high = high_halves(bytes);
    wasm_v128_store(floats + n, channel.low(low));
    wasm_v128_store(floats + n + 4, channel.high(low));
    wasm_v128_store(floats + n + kCodeBytes, channel.low(high));
    wasm_v128_store(floats + n + kCodeBytes + 4, channel.high(high));
  }
}

inline void rotate_four(v128_t x, v128_t y, const float* cos, const float* sin, float* to_x, float* to_y) {
  const v128_t c = wasm_v128_load(cos), s = wasm_v128_load(sin);
  wasm_v128_store(to_x, wasm_f32x4_sub(wasm_f32x4_mul(x, c), wasm_f32x4_mul(y, s)));
  wasm_v128_store(to_y, wasm_f32x4_add(wasm_f32x4_mul(y, c), wasm_f32x4_mul(x, s)));
}

}  // namespace

void load_channels_simd(const ChannelBlock& block) {
  const ChannelRotation rotation = block.rotation;  // a copy: the compiler doesn't know that storing floats leaves the block alone
  const ChannelGroup group(block.stored, block.head_dim);
  const int head_dim = block.head_dim, end = rotation.offset + 2 * rotation.pairs;
  float* floats = block.floats;
  for (int i = 0; i < head_dim; ++i) {
    if (i < rotation.offset || i >= end) load_channel(group, i, floats + i * kBlockTokens);
  }
  std::fill(floats + head_dim * kBlockTokens, floats + padded_dim(head_dim) * kBlockTokens, 0.0f);

  const float *cos = rotation.cos, *sin = rotation.sin;
  ROPEWALK_ROLLED for (int j = 0; j < rotation.pairs; ++j) {
    const int read = rotation.offset + j * rotation.read.step;
    const Channel channel_x(group, read), channel_y(group, read + rotation.read.apart);
    const std::uint8_t *x = group.codes + read * kCodeBytes, *y = x + rotation.read.apart * kCodeBytes;
    float* to_x = floats + (rotation.offset + j * rotation.write.step) * kBlockTokens;
    float* to_y = to_x + rotation.write.apart * kBlockTokens;
    ROPEWALK_ROLLED for (int n = 0; n < kCodeBytes; n += 8, cos += 8, sin += 8, to_x += 8, to_y += 8) {
      const v128_t bytes_x = wasm_u16x8_load8x8(x + n), bytes_y = wasm_u16x8_load8x8(y + n);
      const v128_t low_x = low_halves(bytes_x), low_y = low_halves(bytes_y);
      rotate_four(channel_x.low(low_x), channel_y.low(low_y), cos, sin, to_x, to_y);
      rotate_four(channel_x.high(low_x), channel_y.high(low_y), cos + 4, sin + 4, to_x + 4, to_y + 4);
      const v128_t high_x = high_halves(bytes_x), high_y = high_halves(bytes_y);
      rotate_four(channel_x.low(high_x), channel_y.low(high_y), cos + 16, sin + 16, to_x + 16, to_y + 16);
      rotate_four(channel_x.high(high_x), channel_y.high(high_y), cos + 20, sin + 20, to_x + 20, to_y + 20);
    }
    cos += kCodeBytes;
    sin += kCodeBytes;
  }
}

}  // namespace ropewalk
