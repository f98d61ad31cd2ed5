#include "rope/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/reproducible_math.h"
#include "rope/plans/axis_map.h"
#include "rope/plans/families.h"

namespace ropewalk {
namespace {

void scale_frequencies(const RopeConfig& config, double sequence_length, FrequencyPlan& plan) {
#define ROPEWALK_SCALING_TYPE(name, systems, needed, optional, traits) \
  if (config.rope_type == RopeType::name) return plans::name(config, sequence_length, plan);
#include "rope/config_fields.def"
}

// Sets max_length and table_length: the longest sequence that the system of config.compat serves, and the rows of its table. vLLM 0.33.0
// multiplies the length by the factor (ModelConfig in vllm/config/model.py). Types with another rule change it. The tables are those of
// vllm/model_executor/layers/rotary_embedding/.
void set_lengths(const RopeConfig& config, FrequencyPlan& plan) {
  plan.max_length = config.max_position_embeddings.value_or(0);
  if (config.compat != Compat::vllm || !is_in_system(config)) return;
  plan.table_length = plan.max_length;
  plan.max_length *= config.factor.value_or(1);
}

// llama.cpp multiplies cos and sin by rope.scaling.attn_factor under every type. YaRN and longrope have it in their own factor.
void multiply_by_attn_factor(const RopeConfig& config, FrequencyPlan& plan) {
  const bool is_in_own =
      config.rope_type == RopeType::yarn || config.rope_type == RopeType::dynamic_yarn || config.rope_type == RopeType::longrope;
  if (config.compat == Compat::llama_cpp && !is_in_own) plan.attention_factor *= config.attn_factor.value_or(1);
}

bool allocate(int pairs, bool has_xpos, FrequencyPlan& plan) {
  return plan.inv_freq.resize(pairs) && plan.unscaled_inv_freq.resize(pairs) && plan.axis_of_pair.resize(pairs) &&
         (!has_xpos || plan.xpos_scale.resize(pairs));
}

}  // namespace

Status make_plan(const RopeConfig& config, double sequence_length, FrequencyPlan& result) {
  if (const Status status = validate(config); status != Status::ok) return status;
  if (!(sequence_length >= 1 && sequence_length <= kPositionLimit)) return Status::sequence_length_out_of_range;

  const int rotary_dim = resolved_rotary_dim(config), pairs = rotary_dim / 2;
  FrequencyPlan plan;
  if (!allocate(pairs, config.xpos_scale_base.has_value(), plan)) return Status::out_of_memory;

  plan.head_dim = config.head_dim;
  plan.rotary_dim = rotary_dim;
  plan.rotary_offset = config.rotary_offset;
  plan.pairing = config.pairing;
  plan.precision = config.precision;
  plan.valid_from = 1;
  plan.valid_to = std::numeric_limits<double>::infinity();
  plan.softmax_scale = config.softmax_scale.value_or(1 / std::sqrt(static_cast<double>(config.head_dim)));
  plan.query_temperature = {config.query_temperature_scale.value_or(0), config.query_temperature_floor_scale,
                            config.query_temperature_offset};

  if (config.logn_length.has_value()) {
    plan.logn = {*config.logn_length, config.logn_scale.value_or(1 / reproducible_log(*config.logn_length)), config.logn_power.value_or(1)};
  }
  plan.position_map = PositionMap(config);

  if (config.rope_type == RopeType::proportional) {
    plans::default_frequencies(config.rope_theta, config.head_dim, pairs, config.precision, plan.unscaled_inv_freq.data());
  } else {
    plans::unscaled_frequencies(config, config.rope_theta, plan.unscaled_inv_freq.data());
  }
  for (int j = 0; j < pairs; ++j) plan.inv_freq[j] = plan.unscaled_inv_freq[j];
  set_lengths(config, plan);
  scale_frequencies(config, sequence_length, plan);
  plan.table_length *= plans::yarn_parts::position_factor(config);
  multiply_by_attn_factor(config, plan);
  for (std::size_t j = 0; j < config.freq_factors.size(); ++j) plan.inv_freq[j] /= config.freq_factors[j];
  if (config.reversed) {
    for (int j = 0; j < pairs; ++j) plan.inv_freq[j] = -plan.inv_freq[j];
  }

  plan.axes = map_axes(config, plan.axis_of_pair.data());
  if (config.xpos_scale_base.has_value()) plans::xpos(config, plan);
  result = std::move(plan);
  return Status::ok;
}

double logn_factor(const LognScale& logn, double position) {
  if (!(logn.length > 0 && position + 1 > logn.length)) return 1;
  const double factor = 1 + logn.scale * reproducible_log((position + 1) / logn.length);
  return logn.power == 1 ? factor : reproducible_pow(factor, logn.power);
}

double query_temperature(const QueryTemperature& temperature, double position) {
  if (temperature.scale == 0) return 1;
  const double steps = std::floor((position + temperature.offset) / temperature.floor_scale);
  return 1 + temperature.scale * reproducible_log(1 + std::fmax(steps, 0));
}

}  // namespace ropewalk
