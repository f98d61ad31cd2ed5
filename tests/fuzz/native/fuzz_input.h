// Turns the bytes of a fuzzer into arguments of the core, and ends the program if a condition doesn't hold.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "rope/config.h"

// A failure that libFuzzer reports together with the input.
#define EXPECT_HOLDS(condition)                                            \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      __builtin_trap();                                                    \
    }                                                                      \
  } while (false)

namespace ropewalk {

class FuzzInput : public FuzzedDataProvider {
 public:
  using FuzzedDataProvider::FuzzedDataProvider;

  int between(int first, int last) { return ConsumeIntegralInRange<int>(first, last); }
  bool flag() { return ConsumeBool(); }
  bool one_in(int n) { return between(1, n) == n; }

  // Usually in [first, last], sometimes any integer.
  int roughly(int first, int last) { return one_in(32) ? ConsumeIntegral<int>() : between(first, last); }

  // An enumerator, sometimes one that doesn't exist.
  template <class Enum>
  Enum any_of(Enum last) {
    return static_cast<Enum>(roughly(0, static_cast<int>(last)));
  }

  // A boundary, a number of some magnitude, or any bits, NaN and infinity included.
  double number() {
    static constexpr double kEdges[] = {0, -0.0, 1, -1, 2, 0.5, 32, 1e-6, 1e6, 1e-30, 1e30, 1e300, 5e-324, 0x1p24, 0x1p31, -0x1p31, 0x1p53};
    switch (between(0, 5)) {
      case 0: return kEdges[between(0, static_cast<int>(std::size(kEdges)) - 1)];
      case 1: return ConsumeIntegral<std::int32_t>();
      case 2: return std::bit_cast<double>(ConsumeIntegral<std::uint64_t>());
      default: return magnitude(-20, 31);
    }
  }

  // A positive number between 2^low and 2^high.
  double magnitude(int low, int high) { return std::ldexp(1 + between(0, 1 << 20) / 1048576.0, between(low, high - 1)); }

  // A float of ordinary size.
  float ordinary() { return static_cast<float>(between(-(1 << 20), 1 << 20)) / (1 << 18); }

  std::vector<float> ordinaries(std::size_t count) {
    std::vector<float> values(count);
    std::uint32_t state = ConsumeIntegral<std::uint32_t>();
    for (float& value : values) {
      state = state * 1664525 + 1013904223;
      value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-30f;
    }
    return values;
  }
};

// A config with the memory of its lists.
struct FuzzedConfig {
  explicit FuzzedConfig(FuzzInput& input, int largest_head = 64) {
    config.rotary_dim = input.flag() ? (input.one_in(32) ? input.ConsumeIntegral<int>() : 2 * input.between(0, largest_head / 2)) : 0;
    config.rotary_offset = input.one_in(4) ? input.roughly(0, 8) : 0;
    config.head_dim = input.one_in(16)                                             ? input.roughly(0, largest_head)
                      : config.rotary_dim > 0 && config.rotary_dim <= largest_head ? config.rotary_dim + input.between(0, 16)
                                                                                   : 2 * input.between(1, largest_head / 2);
    if (input.one_in(8)) config.frequency_dim = input.roughly(0, 2 * largest_head);
    config.reversed = input.flag();
    config.pairing = input.any_of(Pairing::interleaved_to_half);
    config.rope_type = input.any_of(RopeType{kRopeTypes - 1});
    config.compat = input.any_of(Compat::vllm);
    config.precision = input.any_of(Precision::hf);
    config.family = input.any_of(Family::grok);
    config.ramp = input.any_of(Ramp::two_ramps);
    config.mrope_layout = input.any_of(MropeLayout::vision);
    config.axes_layout = input.any_of(AxesLayout::shared);
    config.truncate = input.flag();
    config.finetuned = input.flag();
    config.rope_theta = input.one_in(4) ? input.number() : input.magnitude(1, 24);
    // what scaling types need, mostly within its range
    config.original_max_position_embeddings = usually(input, 1, 20);
    config.max_position_embeddings = usually(input, 1, 30);
    config.factor = usually(input, 0, 8);
    config.low_freq_factor = usually(input, -3, 2);
    config.high_freq_factor = usually(input, 2, 6);
    config.alpha = usually(input, 0, 10);
    config.mixed_b = usually(input, -4, 3);
    for (std::optional<double>* key :
         {&config.context_length, &config.attention_factor, &config.attn_factor, &config.beta_fast, &config.beta_slow, &config.mscale,
          &config.mscale_all_dim, &config.extrapolation_factor, &config.short_mscale, &config.long_mscale, &config.partial_rotary_factor,
          &config.softmax_scale, &config.xpos_scale_base, &config.query_temperature_scale}) {
      if (input.one_in(6)) *key = input.number();
    }
    if (config.xpos_scale_base) config.xpos_center = input.number();
    if (config.query_temperature_scale) {
      config.query_temperature_floor_scale = input.number();
      config.query_temperature_offset = input.number();
    }
    const int pairs = (config.rotary_dim == 0 ? config.head_dim : config.rotary_dim) / 2;
    const bool is_long = config.rope_type == RopeType::longrope;
    config.short_factor = list(input, 0, is_long ? pairs : 0);
    config.long_factor = list(input, 1, is_long ? pairs : 0);
    const bool is_custom = config.rope_type == RopeType::custom;
    if (is_custom && input.flag()) config.lengths = increasing(input);
    const std::int64_t lists = std::max<std::int64_t>(1, static_cast<std::int64_t>(config.lengths.size()));
    config.inv_freq = list(input, 2, is_custom ? pairs * lists : 0);
    config.freq_factors = list(input, 3, input.one_in(8) ? pairs : 0);
    if (input.one_in(6)) config.mrope_section = sections(input, pairs, lists_[4]);
    if (config.rope_type == RopeType::axial) {
      config.axes_dim = sections(input, pairs, lists_[5]);
      for (double& pairs_of_axis : lists_[5]) pairs_of_axis *= 2;
    }
  }
  FuzzedConfig(const FuzzedConfig&) = delete;

  RopeConfig config;

 private:
  static std::optional<double> usually(FuzzInput& input, int low, int high) {
    if (input.one_in(8)) return std::nullopt;
    if (input.one_in(8)) return input.number();
    const double value = input.magnitude(low, high);
    return input.flag() ? value : std::ceil(value);
  }

  std::span<const double> list(FuzzInput& input, int index, std::int64_t length) {
    if (input.one_in(32)) length = input.between(0, 40);
    if (length < 0 || length > 4096) length = 0;
    const double value = input.magnitude(-8, 8);
    lists_[index].assign(length, value);
    for (int changes = input.between(0, 4); changes > 0 && length > 0; --changes)
      lists_[index][input.between(0, static_cast<int>(length) - 1)] = input.number();
    return lists_[index];
  }

  std::span<const double> increasing(FuzzInput& input) {
    double length = 0;
    for (int count = input.between(1, 4); count > 0; --count) {
      length += input.one_in(8) ? input.number() : input.magnitude(0, 16);
      lists_[6].push_back(std::ceil(length));
    }
    return lists_[6];
  }

  static std::span<const double> sections(FuzzInput& input, int pairs, std::vector<double>& list) {
    int left = pairs;
    for (int axes = input.between(1, 5); axes > 1; --axes) {
      list.push_back(left > 0 ? input.between(0, left) : 0);
      left -= static_cast<int>(list.back());
    }
    list.push_back(input.one_in(16) ? input.number() : left);
    return list;
  }

  std::array<std::vector<double>, 7> lists_;
};

}  // namespace ropewalk
