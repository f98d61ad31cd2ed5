// Configurations shared by the tests: one of each scaling type, and released models with known numbers.
#pragma once

#include <gtest/gtest.h>

#include <list>
#include <ostream>
#include <string>
#include <vector>

#include "rope/plan.h"

namespace ropewalk {

inline void PrintTo(Status status, std::ostream* out) {
  *out << static_cast<int>(status) << " (" << describe_status(status).field << ": " << describe_status(status).requirement << ")";
}

inline RopeConfig plain_config(int head_dim, double rope_theta = 10000) {
  RopeConfig config;
  config.head_dim = head_dim;
  config.rope_theta = rope_theta;
  return config;
}

inline RopeConfig scaled_config(RopeType type, int head_dim, double rope_theta, double factor, double original) {
  RopeConfig config = plain_config(head_dim, rope_theta);
  config.rope_type = type;
  config.factor = factor;
  config.original_max_position_embeddings = original;
  return config;
}

inline RopeConfig yarn_config(int head_dim, double rope_theta, double factor, double original) {
  return scaled_config(RopeType::yarn, head_dim, rope_theta, factor, original);
}

inline RopeConfig llama3_config(int head_dim, double rope_theta, double factor, double original = 8192) {
  RopeConfig config = scaled_config(RopeType::llama3, head_dim, rope_theta, factor, original);
  config.low_freq_factor = 1;
  config.high_freq_factor = 4;
  return config;
}

inline RopeConfig dynamic_config(int head_dim, double rope_theta, double factor, double trained) {
  RopeConfig config = plain_config(head_dim, rope_theta);
  config.rope_type = RopeType::dynamic;
  config.factor = factor;
  config.max_position_embeddings = trained;
  return config;
}

// Lists of divisors similar to Phi-3's: close to 1 for short sequences, up to `last` for long ones. They have static lifetime.
inline const std::vector<double>& divisors(int pairs, double last) {
  static std::list<std::vector<double>> made;
  for (const auto& list : made) {
    if (list.size() == static_cast<std::size_t>(pairs) && list.back() == last) return list;
  }
  std::vector<double>& list = made.emplace_back(pairs, last);
  for (int j = 0; j + 1 < pairs; ++j) list[j] = 1 + (last - 1) * j * j / (static_cast<double>(pairs) * pairs);
  return list;
}

// Two axes with about half of a head each, or one if it has only one pair. Static lifetime.
inline const std::vector<double>& halves(int head_dim) {
  static std::list<std::vector<double>> made;
  const double first = head_dim / 4 * 2;
  return made.emplace_back(first == 0 ? std::vector<double>{2} : std::vector<double>{first, head_dim - first});
}

inline RopeConfig longrope_config(int head_dim, double rope_theta = 10000, double original = 4096, double maximum = 131072) {
  RopeConfig config = plain_config(head_dim, rope_theta);
  config.rope_type = RopeType::longrope;
  config.original_max_position_embeddings = original;
  config.max_position_embeddings = maximum;
  config.short_factor = divisors(head_dim / 2, 2.84);
  config.long_factor = divisors(head_dim / 2, 64.84);
  return config;
}

inline RopeConfig xpos_config(int head_dim, double scale_base = 512, double center = 0) {
  RopeConfig config = plain_config(head_dim);
  config.xpos_scale_base = scale_base;
  config.xpos_center = center;
  return config;
}

inline RopeConfig mrope_config(int head_dim, double rope_theta, const std::vector<double>& sections, MropeLayout layout) {
  RopeConfig config = plain_config(head_dim, rope_theta);
  config.mrope_section = sections;
  config.mrope_layout = layout;
  return config;
}

struct NamedConfig {
  std::string name;
  RopeConfig config;
  double length;  // sequence length to plan for
};

// One config of each scaling type, with the given head_dim.
inline std::vector<NamedConfig> every_type(int head_dim) {
  RopeConfig proportional = plain_config(head_dim, 1e6);
  proportional.rope_type = RopeType::proportional;
  proportional.partial_rotary_factor = 0.25;
  proportional.factor = 2;

  RopeConfig ntk_mix = scaled_config(RopeType::ntk_mix, head_dim, 10000, 8, 4096);
  ntk_mix.mixed_b = 0.625;

  RopeConfig ntk_alpha = plain_config(head_dim);
  ntk_alpha.rope_type = RopeType::ntk_alpha;
  ntk_alpha.alpha = 1000;

  RopeConfig by_rotations = yarn_config(head_dim, 10000, 8, 4096);
  by_rotations.ramp = Ramp::rotations;

  RopeConfig two_ramps = scaled_config(RopeType::ntk_by_parts, head_dim, 10000, 8, 4096);
  two_ramps.ramp = Ramp::two_ramps;

  RopeConfig custom = plain_config(head_dim);
  custom.rope_type = RopeType::custom;
  custom.inv_freq = divisors(head_dim / 2, 1e-3);

  RopeConfig axial = plain_config(head_dim);
  axial.rope_type = RopeType::axial;
  axial.axes_dim = halves(head_dim);

  return {
      {"default", plain_config(head_dim), 1},
      {"linear", scaled_config(RopeType::linear, head_dim, 10000, 4, 4096), 1},
      {"dynamic_below", dynamic_config(head_dim, 10000, 2, 4096), 100},
      {"dynamic_5000", dynamic_config(head_dim, 10000, 2, 4096), 5000},
      {"dynamic_65536", dynamic_config(head_dim, 10000, 2, 4096), 65536},
      {"yarn", yarn_config(head_dim, 1e6, 4, 32768), 1},
      {"yarn_rotations", by_rotations, 1},
      {"longrope_short", longrope_config(head_dim), 4096},
      {"longrope_long", longrope_config(head_dim), 4097},
      {"llama3", llama3_config(head_dim, 5e5, 8), 1},
      {"proportional", proportional, 1},
      {"ntk", scaled_config(RopeType::ntk, head_dim, 10000, 8, 4096), 1},
      {"ntk_mix", ntk_mix, 1},
      {"ntk_alpha", ntk_alpha, 1},
      {"ntk_by_parts", scaled_config(RopeType::ntk_by_parts, head_dim, 10000, 8, 4096), 1},
      {"two_ramps", two_ramps, 1},
      {"dynamic_yarn", scaled_config(RopeType::dynamic_yarn, head_dim, 10000, 32, 4096), 9000},
      {"custom", custom, 1},
      {"axial", axial, 1},
  };
}

// Returns the plan of a valid config.
inline FrequencyPlan plan_of(const RopeConfig& config, double length = 1) {
  FrequencyPlan plan;
  EXPECT_EQ(make_plan(config, length, plan), Status::ok);
  return plan;
}

}  // namespace ropewalk
