// Frequency plans: the frequencies and factors that a config gives at one sequence length. Later stages need no other part of
// the config.
#pragma once

#include "base/buffer.h"
#include "rope/plans/position_map.h"

namespace ropewalk {

// Multiplies the scores of a query at position p by max(1, 1 + scale · ln((p + 1) / length))^power. With scale 1/ln(length) and power 1
// that is ln(p + 1) / ln(length): log-n scaling (Su 2021, kexue.fm/archives/8823; Qwen). 0.1 and 2 is YaRN's factor by position.
struct LognScale {
  double length = 0;  // 0: none
  double scale = 0;
  double power = 1;
};

struct FrequencyPlan {
  int head_dim = 0;
  int rotary_dim = 0;
  int rotary_offset = 0;
  Pairing pairing = Pairing::half;
  Precision precision = Precision::exact;

  Buffer<double> inv_freq;            // [rotary_dim/2] radians per position, negative for a reversed config
  Buffer<double> unscaled_inv_freq;   // [rotary_dim/2] before scaling, for analysis
  Buffer<std::uint8_t> axis_of_pair;  // [rotary_dim/2] position axis of each pair
  int axes = 1;

  double attention_factor = 1;  // multiplies cos and sin, so q and k, so logits by its square
  double softmax_scale = 1;     // multiplies logits
  QueryTemperature query_temperature;
  LognScale logn;
  PositionMap position_map;

  Buffer<double> xpos_scale;   // [rotary_dim/2] zeta of each pair; empty: no xPos
  double xpos_scale_base = 0;  // positions per power of zeta
  double xpos_center = 0;

  double valid_from = 0;  // shortest and longest sequence length that gives this plan, both inclusive;
  double valid_to = 0;    // valid_to may be infinity
  double ramp_low = 0;    // YaRN's correction range in pairs (or rotations); both 0 without YaRN
  double ramp_high = 0;
  double max_length = 0;    // longest sequence that the system of `compat` serves; 0: not defined
  double table_length = 0;  // rows of that system's cos/sin table; 0: it has no table
};

// Makes the plan of `config` for a sequence of `sequence_length` positions, from 1 to 2^31. Only length-dependent types depend on it.
// On failure returns the first error of the config and leaves `plan` unchanged.
Status make_plan(const RopeConfig& config, double sequence_length, FrequencyPlan& plan);

// Returns the factor of the scores of a query at `position`, or 1 if there is none.
double logn_factor(const LognScale& logn, double position);

// Returns the factor of a query at `position` (on axis 0), or 1 if there is no temperature.
double query_temperature(const QueryTemperature& temperature, double position);
inline double query_temperature(const FrequencyPlan& plan, double position) { return query_temperature(plan.query_temperature, position); }

}  // namespace ropewalk
