// Which position axis (time, height, width, …) turns each pair of a head.
#pragma once

#include "rope/config.h"

namespace ropewalk {

// Writes the axis of each of rotary_dim/2 pairs by config.mrope_section and config.mrope_layout, and returns the number of axes.
// Without sections every pair belongs to axis 0.
int map_axes(const RopeConfig& config, std::uint8_t* axis_of_pair);

}  // namespace ropewalk
