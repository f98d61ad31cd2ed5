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

// One config of each scaling type, with the given head_dim (scaling_types.cpp).
std::vector<NamedConfig> every_type(int head_dim);

// Returns the plan of a valid config.
inline FrequencyPlan plan_of(const RopeConfig& config, double length = 1) {
  FrequencyPlan plan;
  EXPECT_EQ(make_plan(config, length, plan), Status::ok);
  return plan;
}

}  // namespace ropewalk
