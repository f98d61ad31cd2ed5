#include "attention/channel_group.h"

#include <algorithm>

namespace ropewalk {
namespace {

constexpr float kLargestF16 = 65504.0f;

// The nearest scale that can be stored.
std::uint8_t scale_code(float scale) {
  Float16 half;
  from_float(std::min(scale, kLargestF16), half);
  return static_cast<std::uint8_t>(std::min((half.bits + 64) >> 7, 0xf7));  // 0xf8 would be infinite
}

}  // namespace

void store_channel_group(const float* rows, int head_dim, void* stored) {
  const int dim = padded_dim(head_dim);
  const ChannelGroup group(stored, head_dim);
  auto* codes = static_cast<std::uint8_t*>(stored);
  for (int channel = 0; channel < head_dim; ++channel, codes += kCodeBytes) {
    const float* elements = rows + channel;
    float low = elements[0], high = elements[0];
    for (int token = 1; token < kBlockTokens; ++token) {
      low = std::min(low, elements[token * dim]);
      high = std::max(high, elements[token * dim]);
    }
    const std::uint8_t code = scale_code((high - low) / 15.5f);
    const_cast<std::uint8_t*>(group.scales)[channel] = code;
    const float scale = group.scale(channel), inverse = scale == 0 ? 0 : 1 / scale;
    const float middle = (low + high) * 0.5f - 7.5f * scale;
    Float16 zero;
    from_float(std::clamp(middle, -kLargestF16, kLargestF16) + 0.0f, zero);  // never -0
    const_cast<Float16*>(group.zeros)[channel] = zero;
    const float start = to_float(zero);
    const auto quant = [&](int token) {
      return std::clamp(static_cast<int>(std::clamp((elements[token * dim] - start) * inverse + 0.5f, 0.0f, 15.5f)), 0, 15);
    };
    for (int j = 0; j < kCodeBytes; ++j) codes[j] = static_cast<std::uint8_t>(quant(j) | quant(j + kCodeBytes) << 4);
  }
  if (head_dim % 2 != 0) const_cast<std::uint8_t*>(group.scales)[head_dim] = 0;
}

void load_channel_group(const void* stored, int head_dim, float* rows) {
  const int dim = padded_dim(head_dim);
  const ChannelGroup group(stored, head_dim);
  for (int channel = 0; channel < dim; ++channel) {
    for (int token = 0; token < kBlockTokens; ++token) rows[token * dim + channel] = channel < head_dim ? group.element(channel, token) : 0;
  }
}

}  // namespace ropewalk
