// Closed groups of keys: the stored format against a reference in f64, and the kernels against each other.
#include "attention/channel_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "native/rope/guarded_tensor.h"
#include "rope/kernels/rotate_kernels.h"

namespace ropewalk {
namespace {

constexpr int kDims[] = {1, 2, 3, 4, 5, 7, 8, 31, 32, 40, 64, 67, 128};

// Rows [kBlockTokens][padded]: channels of different sizes and offsets.
std::vector<float> rows_of(int head_dim, std::uint32_t seed) {
  Random random(seed);
  std::vector<float> rows(static_cast<std::size_t>(kBlockTokens) * padded_dim(head_dim));
  for (int channel = 0; channel < head_dim; ++channel) {
    const double size = std::exp2(channel % 11 - 5), offset = channel % 3 == 0 ? 300 * random.next() : 0;
    for (int token = 0; token < kBlockTokens; ++token)
      rows[token * padded_dim(head_dim) + channel] = static_cast<float>(offset + size * random.next());
  }
  return rows;
}

TEST(ChannelGroup, AnElementIsTheNearestStepOfItsChannel) {
  for (const int head_dim : kDims) {
    const std::vector<float> rows = rows_of(head_dim, 1 + head_dim);
    std::vector<std::uint16_t> stored(channel_group_bytes(head_dim) / 2);
    store_channel_group(rows.data(), head_dim, stored.data());
    const ChannelGroup group(stored.data(), head_dim);
    for (int channel = 0; channel < head_dim; ++channel) {
      double low = INFINITY, high = -INFINITY;
      const auto at = [&](int token) { return static_cast<double>(rows[token * padded_dim(head_dim) + channel]); };
      for (int token = 0; token < kBlockTokens; ++token) low = std::min(low, at(token)), high = std::max(high, at(token));
      const double scale = group.scale(channel), wanted = (high - low) / 15.5, zero = to_float(group.zeros[channel]);
      EXPECT_NEAR(scale, wanted, wanted / 15.9) << head_dim << " " << channel;
      EXPECT_NEAR(zero, (low + high) / 2 - 7.5 * scale, 0x1.1p-11 * std::max(std::fabs(zero), 1e-4));
      for (int token = 0; token < kBlockTokens; ++token) {
        const double step = std::min(15.0, std::max(0.0, std::floor((at(token) - zero) / scale + 0.5)));
        EXPECT_NEAR(group.element(channel, token), step * scale + zero, 1e-5 * std::max(1.0, std::fabs(zero)) + 1e-3 * scale)
            << head_dim << " " << channel << " " << token;
      }
    }
  }
}

TEST(ChannelGroup, ExtremesStayFinite) {
  for (const float size : {0.0f, 1e-30f, 1e-6f, 6e-5f, 65504.0f}) {
    std::vector<float> rows(static_cast<std::size_t>(kBlockTokens) * 4);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i % 4 == 0 ? size : i % 4 == 1 ? -size : i % 8 < 4 ? size : -size;
    std::vector<std::uint16_t> stored(channel_group_bytes(4) / 2);
    store_channel_group(rows.data(), 4, stored.data());
    const ChannelGroup group(stored.data(), 4);
    for (int channel = 0; channel < 4; ++channel) {
      for (int token = 0; token < kBlockTokens; ++token) {
        const float given = rows[token * 4 + channel];
        EXPECT_NEAR(group.element(channel, token), given, std::max(3.1e-5f, size / 15)) << size << " " << channel;
        EXPECT_FALSE(std::signbit(group.element(channel, token)) && given == 0);
      }
    }
  }
}

TEST(ChannelGroup, RowsHaveItsElements) {
  for (const int head_dim : kDims) {
    const std::vector<float> given = rows_of(head_dim, 40);
    std::vector<std::uint16_t> stored(channel_group_bytes(head_dim) / 2);
    store_channel_group(given.data(), head_dim, stored.data());
    std::vector<float> rows(given.size(), NAN);
    load_channel_group(stored.data(), head_dim, rows.data());
    const ChannelGroup group(stored.data(), head_dim);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const int token = static_cast<int>(i) / padded_dim(head_dim), channel = static_cast<int>(i) % padded_dim(head_dim);
      EXPECT_EQ(rows[i], channel < head_dim ? group.element(channel, token) : 0);
    }
  }
}

// Against rows that the kernels of rotation rotate.
TEST(ChannelGroup, AllKernelsReadAndRotateTheSameBits) {
  for (const int head_dim : kDims) {
    for (int seed = 0; seed < 8; ++seed) {
      const int dim = padded_dim(head_dim), most = head_dim / 2, pairs = seed == 0 ? 0 : seed == 1 ? most : most / 2;
      const int offset = seed < 3 ? 0 : head_dim - 2 * pairs;
      const Rotation rotation = seed % 3 == 0 ? Rotation::half : seed % 3 == 1 ? Rotation::interleaved : Rotation::interleaved_to_half;
      const ChannelPairs half = {1, pairs}, interleaved = {2, 1};
      const std::vector<float> given = rows_of(head_dim, 100 + seed);
      std::vector<std::uint16_t> stored(channel_group_bytes(head_dim) / 2);
      store_channel_group(given.data(), head_dim, stored.data());

      Random random(seed + 1);
      std::vector<float> cos(kBlockTokens * pairs), sin(kBlockTokens * pairs), cos_rows(cos.size()), sin_rows(cos.size());
      for (int i = 0; i < kBlockTokens * pairs; ++i) {
        const int token = i % kBlockTokens, pair = i / kBlockTokens;
        cos_rows[token * pairs + pair] = cos[i] = static_cast<float>(random.next());
        sin_rows[token * pairs + pair] = sin[i] = static_cast<float>(random.next());
      }
      std::vector<float> rows(given.size());
      load_channel_group(stored.data(), head_dim, rows.data());
      kScalarRotateKernels.rotate[static_cast<int>(rotation)][static_cast<int>(DType::f32)](
          {rows.data() + offset, rows.data() + offset, dim, dim, pairs, cos_rows.data(), sin_rows.data(), pairs, kBlockTokens});

      for (const AttentionKernels* kernels : {&kScalarAttentionKernels, &kWasmSimdAttentionKernels}) {
        std::vector<float> channels(rows.size(), NAN);
        kernels->load_channels({stored.data(),
                                head_dim,
                                {offset, pairs, rotation == Rotation::half ? half : interleaved,
                                 rotation == Rotation::interleaved ? interleaved : half, cos.data(), sin.data()},
                                channels.data()});
        for (int i = 0; i < dim * kBlockTokens; ++i) {
          const int token = i % kBlockTokens, channel = i / kBlockTokens;
          EXPECT_EQ(channels[i], rows[token * dim + channel]) << kernels->name << " " << head_dim << " " << seed << " " << channel;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ropewalk
