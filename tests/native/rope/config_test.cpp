// Validation: every status of a config, and the nearest values that are valid.
#include "rope/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "native/rope/configs.h"

namespace ropewalk {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Change = std::function<void(RopeConfig&)>;

// Changes that make a valid config invalid, and changes of the same field to the nearest valid values.
struct Case {
  Status status;
  RopeConfig config;
  std::vector<Change> invalid;
  std::vector<Change> valid;
};

// Changes that set a field to each of `values`.
template <class Field>
std::vector<Change> each(Field RopeConfig::*field, const std::vector<double>& values) {
  std::vector<Change> changes;
  for (const double value : values) {
    changes.push_back([=](RopeConfig& config) {
      if constexpr (std::is_same_v<Field, int> || std::is_enum_v<Field>) {
        config.*field = static_cast<Field>(static_cast<int>(value));
      } else {
        config.*field = value;
      }
    });
  }
  return changes;
}

std::vector<Change> operator+(std::vector<Change> a, const std::vector<Change>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

template <class Field>
Change without(std::optional<Field> RopeConfig::*field) {
  return [=](RopeConfig& config) { (config.*field).reset(); };
}

using List = std::span<const double> RopeConfig::*;

// Changes that set a list of length 32 (for head_dim 64) with one entry replaced.
std::vector<Change> list_with(List list, const std::vector<double>& entries) {
  std::vector<Change> changes;
  for (const double entry : entries) {
    for (const int place : {0, 17, 31}) {
      changes.push_back([=](RopeConfig& config) {
        static std::vector<double> copy;
        copy.assign(32, 1.5);
        copy[place] = entry;
        config.*list = copy;
      });
    }
  }
  return changes;
}

std::vector<Change> list_of(List list, const std::vector<int>& sizes) {
  std::vector<Change> changes;
  for (const int size : sizes) {
    changes.push_back([=](RopeConfig& config) { config.*list = std::span(divisors(40, 9)).first(size); });
  }
  return changes;
}

std::vector<Change> sections(const std::vector<std::vector<double>>& lists, MropeLayout layout = MropeLayout::chunked) {
  std::vector<Change> changes;
  for (const auto& list : lists) {
    changes.push_back([=](RopeConfig& config) {
      static std::vector<double> copy;
      copy = list;
      config.mrope_section = copy;
      config.mrope_layout = layout;
    });
  }
  return changes;
}

std::vector<Change> axes_dims(const std::vector<std::vector<double>>& lists, AxesLayout layout = AxesLayout::chunked) {
  std::vector<Change> changes;
  for (const auto& list : lists) {
    changes.push_back([=](RopeConfig& config) {
      static std::vector<double> copy;
      copy = list;
      config.axes_dim = copy;
      config.axes_layout = layout;
    });
  }
  return changes;
}

// The frequencies of 32 pairs for each length.
std::vector<Change> with_lengths(const std::vector<std::vector<double>>& lists) {
  std::vector<Change> changes;
  for (const auto& list : lists) {
    changes.push_back([=](RopeConfig& config) {
      static std::vector<double> copy;
      copy = list;
      config.lengths = copy;
      config.inv_freq = divisors(static_cast<int>(32 * list.size()), 2);
    });
  }
  return changes;
}

RopeConfig of_type(RopeType type) {
  for (const auto& [name, config, length] : every_type(64)) {
    if (config.rope_type == type) return config;
  }
  return {};
}

const std::vector<double> kBadLengths = {0, -1, 0.5, 4096.5, 2147483649.0, kInfinity, kNaN};
const std::vector<double> kGoodLengths = {4096, 2147483648.0};

std::vector<Case> cases() {
  const RopeConfig plain = plain_config(64), yarn = of_type(RopeType::yarn), longrope = of_type(RopeType::longrope);
  const RopeConfig llama3 = of_type(RopeType::llama3), mix = of_type(RopeType::ntk_mix), alpha = of_type(RopeType::ntk_alpha);
  const RopeConfig dynamic = of_type(RopeType::dynamic), custom = of_type(RopeType::custom), linear = of_type(RopeType::linear);
  const RopeConfig axial = of_type(RopeType::axial);
  const RopeConfig proportional = of_type(RopeType::proportional);
  RopeConfig self_extend = plain, dual_chunk = plain, lm_infinite = plain;
  self_extend.position_map = MapType::self_extend;
  self_extend.map_group_size = 8;
  self_extend.map_window = 128;
  dual_chunk.position_map = MapType::dual_chunk;
  dual_chunk.map_chunk_size = 192;
  dual_chunk.map_local_size = 64;
  lm_infinite.position_map = MapType::lm_infinite;
  lm_infinite.map_window = 192;
  lm_infinite.map_sink_tokens = 4;
  RopeConfig partial = plain;
  partial.rotary_dim = 32;
  using C = RopeConfig;
  return {
      {Status::head_dim_out_of_range, plain, each(&C::head_dim, {0, 1, -2, 8193, 8194}), each(&C::head_dim, {2, 4, 8192})},
      {Status::rotary_dim_odd, plain, each(&C::rotary_dim, {1, 7, 63, -1}) + each(&C::head_dim, {65}), each(&C::rotary_dim, {2, 64, 0})},
      {Status::rotary_dim_out_of_range, plain, each(&C::rotary_dim, {66, -2}), each(&C::rotary_dim, {62, 64})},
      {Status::rotary_dim_out_of_range, dynamic, each(&C::rotary_dim, {2}), each(&C::rotary_dim, {4})},
      {Status::rotary_dim_out_of_range, of_type(RopeType::ntk), each(&C::rotary_dim, {2}), each(&C::rotary_dim, {4})},
      {Status::rotary_dim_out_of_range, alpha, each(&C::rotary_dim, {2}), each(&C::rotary_dim, {4})},
      {Status::rotary_span_outside_head, partial, each(&C::rotary_offset, {-1, 33, 64, 2147483647}), each(&C::rotary_offset, {0, 1, 32})},
      {Status::frequency_dim_out_of_range, partial, each(&C::frequency_dim, {-1, 1, 30, 8193}), each(&C::frequency_dim, {0, 31, 64, 8192})},
      {Status::rope_theta_out_of_range, plain, each(&C::rope_theta, {1, 0, -10000, 1.1e30, kInfinity, kNaN}),
       each(&C::rope_theta, {1.0000001, 1e30})},
      {Status::pairing_unknown, plain, {[](C& c) { c.pairing = Pairing{3}; }, [](C& c) { c.pairing = Pairing{-1}; }}, {[](C& c) {
         c.pairing = Pairing::interleaved_to_half;
       }}},
      {Status::rope_type_unknown, plain, {[](C& c) { c.rope_type = RopeType{kRopeTypes}; }, [](C& c) { c.rope_type = RopeType{-1}; }}, {}},
      {Status::factor_missing, linear, {without(&C::factor)}, {}},
      {Status::factor_missing, yarn, {without(&C::factor)}, {[](C& c) { c.factor.reset(), c.max_position_embeddings = 131072; }}},
      {Status::factor_missing, dynamic, {without(&C::factor)}, {}},
      {Status::factor_missing, llama3, {without(&C::factor)}, {}},
      {Status::factor_missing, mix, {without(&C::factor)}, {}},
      {Status::factor_missing, of_type(RopeType::ntk), {without(&C::factor)}, {}},
      {Status::factor_missing, longrope, {without(&C::max_position_embeddings)}, {without(&C::factor)}},
      {Status::factor_out_of_range, linear, each(&C::factor, {0.999, 0, -4, 1.1e30, kInfinity, kNaN}), each(&C::factor, {1, 1e30})},
      {Status::max_length_missing, dynamic, {without(&C::max_position_embeddings)}, {}},
      {Status::max_length_out_of_range, plain, each(&C::max_position_embeddings, kBadLengths),
       each(&C::max_position_embeddings, kGoodLengths)},
      {Status::max_length_out_of_range, longrope, each(&C::max_position_embeddings, {4095}), each(&C::max_position_embeddings, {4096})},
      {Status::original_length_missing, yarn, {without(&C::original_max_position_embeddings)}, {}},
      {Status::original_length_missing, of_type(RopeType::ntk_by_parts), {without(&C::original_max_position_embeddings)}, {}},
      {Status::original_length_missing, of_type(RopeType::dynamic_yarn), {without(&C::original_max_position_embeddings)}, {}},
      {Status::original_length_missing, longrope, {without(&C::original_max_position_embeddings)}, {}},
      {Status::original_length_missing, llama3, {without(&C::original_max_position_embeddings)}, {}},
      {Status::original_length_out_of_range, yarn, each(&C::original_max_position_embeddings, kBadLengths),
       each(&C::original_max_position_embeddings, kGoodLengths)},
      {Status::original_length_out_of_range, longrope, each(&C::original_max_position_embeddings, {1}),
       each(&C::original_max_position_embeddings, {2})},
      {Status::context_length_out_of_range, plain, each(&C::context_length, kBadLengths), each(&C::context_length, kGoodLengths)},
      {Status::attention_factor_out_of_range, yarn, each(&C::attention_factor, {0, -1, 1.1e6, kNaN}),
       each(&C::attention_factor, {1e-6, 1e6})},
      {Status::attn_factor_out_of_range, yarn, each(&C::attn_factor, {0, -1, 1.1e6, kNaN}), each(&C::attn_factor, {1e-6, 1e6})},
      {Status::beta_out_of_range, yarn, each(&C::beta_fast, {-1, 1.1e30, kNaN}) + each(&C::beta_slow, {-1, kNaN}),
       each(&C::beta_slow, {0, 32})},
      {Status::beta_order, yarn, each(&C::beta_fast, {0.5}) + each(&C::beta_slow, {32.5}),
       each(&C::beta_fast, {1}) + each(&C::beta_slow, {32})},
      {Status::mscale_out_of_range, yarn, each(&C::mscale, {-1, 1.1e6, kNaN}) + each(&C::mscale_all_dim, {-1, 1.1e6, kNaN}),
       each(&C::mscale, {0, 1e6}) + each(&C::mscale_all_dim, {0, 1e6})},
      {Status::extrapolation_factor_out_of_range, yarn, each(&C::extrapolation_factor, {-0.1, 1.1, kNaN}),
       each(&C::extrapolation_factor, {0, 1})},
      {Status::ramp_unknown,
       yarn,
       {[](C& c) { c.ramp = Ramp::two_ramps; }, [](C& c) { c.ramp = Ramp{-1}; }, [](C& c) { c.ramp = Ramp{3}; }},
       {[](C& c) { c.ramp = Ramp::rotations; }}},
      {Status::ramp_unknown, of_type(RopeType::dynamic_yarn), {[](C& c) { c.ramp = Ramp::two_ramps; }}, {}},
      {Status::ramp_unknown, of_type(RopeType::ntk_by_parts), {[](C& c) { c.ramp = Ramp{3}; }}, {[](C& c) { c.ramp = Ramp::two_ramps; }}},
      {Status::rotary_dim_out_of_range,
       of_type(RopeType::ntk_by_parts),
       {[](C& c) { c.ramp = Ramp::two_ramps, c.rotary_dim = 2; }},
       {[](C& c) { c.ramp = Ramp::two_ramps, c.rotary_dim = 4; }, [](C& c) { c.rotary_dim = 2; }}},
      {Status::short_factor_length, longrope, list_of(&C::short_factor, {0, 31, 33}), list_of(&C::short_factor, {32})},
      {Status::short_factor_out_of_range, longrope, list_with(&C::short_factor, {0, -1, 1.1e30, kNaN}),
       list_with(&C::short_factor, {1e-9, 1e30})},
      {Status::long_factor_length, longrope, list_of(&C::long_factor, {0, 31, 33}), list_of(&C::long_factor, {32})},
      {Status::long_factor_out_of_range, longrope, list_with(&C::long_factor, {0, -1, kInfinity, kNaN}),
       list_with(&C::long_factor, {1e-9, 1e30})},
      {Status::long_mscale_out_of_range, longrope, each(&C::short_mscale, {0, kNaN}) + each(&C::long_mscale, {0, 1.1e6}),
       each(&C::short_mscale, {1e-6}) + each(&C::long_mscale, {1e6})},
      {Status::low_freq_factor_missing, llama3, {without(&C::low_freq_factor)}, {}},
      {Status::low_freq_factor_out_of_range, llama3, each(&C::low_freq_factor, {0, -1, kNaN}), each(&C::low_freq_factor, {1e-9, 4})},
      {Status::high_freq_factor_missing, llama3, {without(&C::high_freq_factor)}, {}},
      {Status::high_freq_factor_order, llama3, each(&C::high_freq_factor, {0.9, -4, kNaN}), each(&C::high_freq_factor, {1})},
      {Status::alpha_missing, alpha, {without(&C::alpha)}, {}},
      {Status::alpha_out_of_range, alpha, each(&C::alpha, {0.9, 0, 1.1e30, kNaN}), each(&C::alpha, {1, 1e30})},
      {Status::mixed_b_missing, mix, {without(&C::mixed_b)}, {}},
      {Status::mixed_b_out_of_range, mix, each(&C::mixed_b, {-0.1, 10.1, kNaN}), each(&C::mixed_b, {0, 10})},
      {Status::partial_rotary_factor_out_of_range, proportional, each(&C::partial_rotary_factor, {0, -0.5, 1.1, kNaN}),
       each(&C::partial_rotary_factor, {1e-6, 1})},
      {Status::inv_freq_length, custom, list_of(&C::inv_freq, {0, 31, 33}), list_of(&C::inv_freq, {32})},
      {Status::inv_freq_out_of_range, custom, list_with(&C::inv_freq, {-1.1e6, 1.1e30, kInfinity, kNaN}),
       list_with(&C::inv_freq, {-1e6, 0, 1e6})},
      {Status::inv_freq_length,
       custom,
       {[](C& c) {
         static const std::vector<double> lengths = {4096, 8192};
         c.lengths = lengths;
       }},
       with_lengths({{4096}, {4096, 8192}})},
      {Status::lengths_out_of_range, custom, with_lengths({{0, 2}, {-1}, {4096.5}, {2147483649.0}, {kNaN}}),
       with_lengths({{1, 2147483648.0}})},
      {Status::lengths_order, custom, with_lengths({{4096, 4096}, {4096, 8192, 8191}}), with_lengths({{4096, 4097, 5001}})},
      {Status::axes_dim_length, axial, axes_dims({{}, {16, 16, 16, 8, 8}}), axes_dims({{64}, {32, 32}, {16, 16, 16, 16}})},
      {Status::axes_dim_out_of_range, axial, axes_dims({{0, 64}, {-2, 66}, {31, 33}, {32, kNaN}, {31.5, 32.5}, {2, 1e9}}),
       axes_dims({{2, 62}, {8, 28, 28}})},
      {Status::axes_dim_equal, axial, axes_dims({{16, 48}}, AxesLayout::interleaved) + axes_dims({{16, 48}}, AxesLayout::shared),
       axes_dims({{32, 32}, {16, 16, 16, 16}}, AxesLayout::interleaved) + axes_dims({{32, 32}}, AxesLayout::shared)},
      {Status::axes_dim_sum, axial, axes_dims({{32, 30}, {32, 34}, {64, 64}}), axes_dims({{30, 34}})},
      {Status::axes_layout_unknown, axial, axes_dims({{32, 32}}, AxesLayout{3}) + axes_dims({{32, 32}}, AxesLayout{-1}), {}},
      {Status::mrope_section_length, axial, sections({{16, 16}}), {}},
      {Status::freq_factors_length, plain, list_of(&C::freq_factors, {1, 31, 33}), list_of(&C::freq_factors, {0, 32})},
      {Status::freq_factors_out_of_range, plain, list_with(&C::freq_factors, {0, -1, kInfinity, kNaN}),
       list_with(&C::freq_factors, {1e-9, 1e30})},
      {Status::mrope_section_length, plain, sections({{32}, {8, 8, 8, 4, 4}}), sections({{16, 16}, {8, 12, 12}, {8, 8, 8, 8}})},
      {Status::mrope_section_length, plain, sections({{16, 16}, {8, 8, 8, 8}}, MropeLayout::interleaved),
       sections({{12, 10, 10}}, MropeLayout::interleaved)},
      {Status::mrope_section_length, plain, sections({{16, 16}, {8, 8, 8, 8}}, MropeLayout::ernie),
       sections({{11, 11, 10}}, MropeLayout::ernie)},
      {Status::mrope_section_length, plain, sections({{16, 16}}, MropeLayout{4}), sections({{16, 16}}, MropeLayout::vision)},
      {Status::mrope_section_sum, plain, sections({{8, 12, 11}, {8, 12, 13}, {-8, 20, 20}, {8.5, 11.5, 12}, {8, kNaN, 12}}),
       sections({{0, 16, 16}})},
      {Status::softmax_scale_out_of_range, plain, each(&C::softmax_scale, {0, -1, 1.1e9, kNaN}), each(&C::softmax_scale, {1e-9, 1e9})},
      {Status::xpos_scale_base_out_of_range, plain, each(&C::xpos_scale_base, {0, -512, 1.1e30, kNaN}),
       each(&C::xpos_scale_base, {1e-3, 1e30})},
      {Status::xpos_center_out_of_range, plain, each(&C::xpos_center, {2147483649.0, -2147483649.0, kNaN}),
       each(&C::xpos_center, {2147483648.0})},
      {Status::query_temperature_out_of_range, plain,
       each(&C::query_temperature_scale, {-0.1, 1.1e6, kNaN}) + each(&C::query_temperature_floor_scale, {0, -1, kNaN}) +
           each(&C::query_temperature_offset, {kInfinity, kNaN}),
       each(&C::query_temperature_scale, {0, 1e6}) + each(&C::query_temperature_floor_scale, {1e-3})},
      {Status::position_map_unknown, plain, each(&C::position_map, {5, -1}), {}},
      {Status::map_group_size_out_of_range, self_extend,
       each(&C::map_group_size, kBadLengths) + std::vector<Change>{without(&C::map_group_size)}, each(&C::map_group_size, kGoodLengths)},
      {Status::map_window_out_of_range, self_extend, each(&C::map_window, kBadLengths) + std::vector<Change>{without(&C::map_window)},
       each(&C::map_window, kGoodLengths)},
      {Status::map_window_out_of_range, lm_infinite, each(&C::map_window, kBadLengths) + std::vector<Change>{without(&C::map_window)},
       each(&C::map_window, kGoodLengths)},
      {Status::map_chunk_size_out_of_range, dual_chunk,
       each(&C::map_chunk_size, kBadLengths) + std::vector<Change>{without(&C::map_chunk_size)}, each(&C::map_chunk_size, kGoodLengths)},
      {Status::map_local_size_out_of_range, dual_chunk,
       each(&C::map_local_size, {-1, 0.5, 192, 193, kNaN}) + std::vector<Change>{without(&C::map_local_size)},
       each(&C::map_local_size, {0, 191})},
      {Status::map_sink_tokens_out_of_range, lm_infinite,
       each(&C::map_sink_tokens, {-1, 0.5, 2147483649.0, kNaN}) + std::vector<Change>{without(&C::map_sink_tokens)},
       each(&C::map_sink_tokens, {0, 2147483648.0})},
      {Status::position_map_axes, axial, each(&C::position_map, {2}), {}},
  };
}

TEST(Config, EveryFaultIsReportedAndTheNearestValidValuesPass) {
  for (const Case& test : cases()) {
    const std::string name = describe_status(test.status).field + std::string(": ") + describe_status(test.status).requirement;
    EXPECT_EQ(validate(test.config), Status::ok) << name;
    for (std::size_t i = 0; i < test.invalid.size(); ++i) {
      RopeConfig config = test.config;
      test.invalid[i](config);
      EXPECT_EQ(validate(config), test.status) << name << ", invalid value " << i;
    }
    for (std::size_t i = 0; i < test.valid.size(); ++i) {
      RopeConfig config = test.config;
      test.valid[i](config);
      EXPECT_EQ(validate(config), Status::ok) << name << ", valid value " << i;
      for (const Precision precision : {Precision::exact, Precision::hf}) {
        config.precision = precision;
        FrequencyPlan plan;
        ASSERT_EQ(make_plan(config, 5000, plan), Status::ok) << name << ", valid value " << i;
        for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) {
          ASSERT_TRUE(std::isfinite(plan.inv_freq[j])) << name << ", valid value " << i << ", pair " << j;
        }
        EXPECT_TRUE(std::isfinite(plan.attention_factor) && std::isfinite(plan.softmax_scale)) << name << ", valid value " << i;
      }
    }
  }
}

// The statuses of a value outside each range of config_fields.def, whose ends are valid.
std::set<Status> statuses_of_ranges() {
  std::set<Status> statuses;
#define ROPEWALK_NUMBER(member, lowest, highest, status)                                   \
  for (const double value : {lowest - 0.01 * std::fmax(lowest, 1), highest * 1.1, kNaN}) { \
    RopeConfig config = plain_config(64);                                                  \
    config.member = value;                                                                 \
    EXPECT_EQ(validate(config), Status::status) << #member << " " << value;                \
    for (const double valid : {double{lowest}, double{highest}}) {                         \
      config.member = valid;                                                               \
      EXPECT_EQ(validate(config), Status::ok) << #member << " " << valid;                  \
    }                                                                                      \
    statuses.insert(Status::status);                                                       \
  }
#include "rope/config_fields.def"
  return statuses;
}

// The statuses of a config of each type without one of the keys that its row says it needs.
std::set<Status> statuses_of_missing_keys() {
  static const std::map<RopeType, std::string> needed_keys = {
#define ROPEWALK_SCALING_TYPE(name, systems, needed, optional, traits) {RopeType::name, #needed},
#include "rope/config_fields.def"
  };
  static const std::map<std::string, Change> removals = {
#define ROPEWALK_NUMBER(member, lowest, highest, status) {#member, without(&RopeConfig::member)},
#define ROPEWALK_LENGTH(member, status) {#member, without(&RopeConfig::member)},
#define ROPEWALK_LIST(member) {#member, [](RopeConfig& config) { config.member = {}; }},
#include "rope/config_fields.def"
  };
  std::set<Status> statuses;
  for (const auto& [type, keys] : needed_keys) {
    std::istringstream names(keys.substr(1, keys.size() - 2));
    for (std::string name; std::getline(names >> std::ws, name, ',');) {
      RopeConfig config = of_type(type);
      removals.at(name)(config);
      const Status status = validate(config);
      EXPECT_EQ(describe_status(status).field, "rope_scaling." + name) << static_cast<int>(type);
      statuses.insert(status);
    }
  }
  return statuses;
}

TEST(Config, EveryStatusOfAConfigIsProduced) {
  std::set<Status> produced = statuses_of_ranges();
  produced.merge(statuses_of_missing_keys());
  for (const Case& test : cases()) produced.insert(test.status);
  for (int i = static_cast<int>(Status::head_dim_out_of_range); i < static_cast<int>(Status::sequence_length_out_of_range); ++i) {
    EXPECT_TRUE(produced.count(Status{i})) << i << ": " << describe_status(Status{i}).requirement;
  }
}

TEST(Config, FailureLeavesThePlanAsItWas) {
  FrequencyPlan plan = plan_of(yarn_config(128, 1e6, 4, 32768));
  const double* inv_freq = plan.inv_freq.data();
  const double last = plan.inv_freq[63];
  for (const Case& test : cases()) {
    for (const Change& change : test.invalid) {
      RopeConfig config = test.config;
      change(config);
      ASSERT_EQ(make_plan(config, 1, plan), test.status);
      ASSERT_EQ(plan.inv_freq.data(), inv_freq);
    }
  }
  EXPECT_EQ(make_plan(plain_config(64), 0, plan), Status::sequence_length_out_of_range);
  EXPECT_EQ(plan.head_dim, 128);
  EXPECT_EQ(plan.inv_freq.size(), 64u);
  EXPECT_EQ(plan.inv_freq[63], last);
  EXPECT_NEAR(plan.attention_factor, 1.1386294361, 1e-10);
}

TEST(Config, EveryTypeIsValid) {
  for (const auto& [name, config, length] : every_type(64)) EXPECT_EQ(validate(config), Status::ok) << name;
}

TEST(Config, RotaryDimDefaultsToTheHead) {
  RopeConfig config = plain_config(96);
  EXPECT_EQ(resolved_rotary_dim(config), 96);
  config.rotary_dim = 24;
  EXPECT_EQ(resolved_rotary_dim(config), 24);
}

}  // namespace
}  // namespace ropewalk
