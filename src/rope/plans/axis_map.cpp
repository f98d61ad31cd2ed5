#include "rope/plans/axis_map.h"

namespace ropewalk {
namespace {

// The axial type: pairs per axis are half its elements.
void map_axial(const RopeConfig& config, std::uint8_t* axis_of_pair) {
  const std::size_t axes = config.axes_dim.size();
  for (std::size_t axis = 0, first = 0; axis < axes; ++axis) {
    const std::size_t pairs = static_cast<std::size_t>(config.axes_dim[axis]) / 2;
    for (std::size_t j = 0; j < pairs; ++j) {
      axis_of_pair[config.axes_layout == AxesLayout::interleaved ? j * axes + axis : first + j] = static_cast<std::uint8_t>(axis);
    }
    first += pairs;
  }
}

// t…t h…h w…w
void map_chunked(std::span<const double> sections, std::uint8_t* axis_of_pair) {
  for (std::size_t axis = 0; axis < sections.size(); ++axis) {
    for (int count = static_cast<int>(sections[axis]); count > 0; --count) *axis_of_pair++ = static_cast<std::uint8_t>(axis);
  }
}

// t h w t h w …, until h and w have all their pairs. The rest are t. (llama.cpp assigns the rest to a fourth axis.)
void map_interleaved(std::span<const double> sections, int pairs, std::uint8_t* axis_of_pair) {
  for (int j = 0; j < pairs; ++j) {
    const int axis = j % 3;
    axis_of_pair[j] = static_cast<std::uint8_t>(j < 3 * sections[axis] ? axis : 0);
  }
}

// h w h w …, then t. Sections are in the order [h, w, t], positions in the order [t, h, w].
void map_ernie(std::span<const double> sections, int pairs, std::uint8_t* axis_of_pair) {
  const int height_and_width = static_cast<int>(sections[0] + sections[1]);
  for (int j = 0; j < pairs; ++j) axis_of_pair[j] = static_cast<std::uint8_t>(j < height_and_width ? 1 + j % 2 : 0);
}

}  // namespace

int map_axes(const RopeConfig& config, std::uint8_t* axis_of_pair) {
  const int pairs = resolved_rotary_dim(config) / 2;
  if (config.rope_type == RopeType::axial) {
    map_axial(config, axis_of_pair);
    return static_cast<int>(config.axes_dim.size());
  }
  if (config.mrope_section.empty()) {
    for (int j = 0; j < pairs; ++j) axis_of_pair[j] = 0;
    return 1;
  }
  switch (config.mrope_layout) {
    case MropeLayout::chunked:
    case MropeLayout::vision: map_chunked(config.mrope_section, axis_of_pair); break;
    case MropeLayout::interleaved: map_interleaved(config.mrope_section, pairs, axis_of_pair); break;
    case MropeLayout::ernie: map_ernie(config.mrope_section, pairs, axis_of_pair); break;
  }
  return static_cast<int>(config.mrope_section.size());
}

}  // namespace ropewalk
