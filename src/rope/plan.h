// The end of all scaling knowledge: what a kernel and an attention need to know of a config at one sequence length.
#pragma once

#include "base/buffer.h"
#include "rope/config.h"

namespace ropewalk {

// q · (1 + scale · ln(1 + floor((position + offset) / floor_scale))): Llama 4, Ministral 3. scale 0: none.
struct QueryTemperature {
  double scale = 0;
  double floor_scale = 1;
  double offset = 0;
};

struct FrequencyPlan {
  int head_dim = 0;
  int rotary_dim = 0;
  int rotary_offset = 0;
  Pairing pairing = Pairing::half;
  Precision precision = Precision::exact;

  Buffer<double> inv_freq;            // [rotary_dim/2] radians a position
  Buffer<double> unscaled_inv_freq;   // [rotary_dim/2] the same without scaling, for analysis
  Buffer<std::uint8_t> axis_of_pair;  // [rotary_dim/2] position axis that turns each pair
  int axes = 1;

  double attention_factor = 1;  // multiplies cos and sin, hence q and k, hence logits by its square
  double softmax_scale = 1;     // multiplies logits
  QueryTemperature query_temperature;

  Buffer<double> xpos_scale;   // [rotary_dim/2] zeta of each pair; empty: no xPos
  double xpos_scale_base = 0;  // positions a power of zeta
  double xpos_center = 0;

  double valid_from = 0;  // shortest and longest sequence length for which this plan is the config's plan,
  double valid_to = 0;    // both inclusive; infinity where it is always so
  double ramp_low = 0;    // YaRN's correction range, in pairs (or rotations); both 0 where there is none
  double ramp_high = 0;
  double max_length = 0;    // longest sequence the system of `compat` would serve; 0: it does not say
  double table_length = 0;  // rows of that system's own cos/sin table; 0: it has none
};

// Makes the plan of `config` for a sequence of `sequence_length` positions (>= 1; matters only to length-dependent types).
// Returns the first thing wrong with the config; `plan` is then as it was.
Status make_plan(const RopeConfig& config, double sequence_length, FrequencyPlan& plan);

// The factor for a query at `position` (any axis-0 position); 1 where the plan has no temperature.
double query_temperature(const FrequencyPlan& plan, double position);

}  // namespace ropewalk
