// Pairs of their own for each position axis. The frequencies without scaling (default.cpp) restart on each of them, so nothing changes
// them.
#include <cmath>

#include "rope/plans/checks.h"
#include "rope/plans/families.h"

namespace ropewalk::plans {

Status check_axial(const RopeConfig& config) {
  if (!is_enumerator(config.axes_layout, AxesLayout::shared)) return Status::axes_layout_unknown;
  if (config.axes_dim.empty() || config.axes_dim.size() > kMaxAxes) return Status::axes_dim_length;
  double sum = 0;
  for (const double dim : config.axes_dim) {
    if (!within(dim, 2, kMaxHeadDim) || dim / 2 != std::floor(dim / 2)) return Status::axes_dim_out_of_range;
    if (config.axes_layout != AxesLayout::chunked && dim != config.axes_dim[0]) return Status::axes_dim_equal;
    sum += dim;
  }
  if (sum != resolved_rotary_dim(config)) return Status::axes_dim_sum;
  return config.mrope_section.empty() ? Status::ok : Status::mrope_section_length;
}

void axial(const RopeConfig&, double, FrequencyPlan&) {}

}  // namespace ropewalk::plans
