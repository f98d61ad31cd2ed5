// Assigns a position axis (time, height, width, …) to each pair of a head.
#pragma once

#include "rope/config.h"

namespace ropewalk {

// Writes the axis of each of the rotary_dim/2 pairs, from config.mrope_section and config.mrope_layout, or axes_dim and axes_layout of the
// axial type. Returns the number of axes. Without sections every pair is on axis 0.
int map_axes(const RopeConfig& config, std::uint8_t* axis_of_pair);

}  // namespace ropewalk
