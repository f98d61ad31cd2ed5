// xPos (Sun et al. 2022, arXiv:2212.10554): the scale zeta of each pair.
#include "rope/plans/families.h"

namespace ropewalk::plans {

void xpos(const RopeConfig& config, FrequencyPlan& plan) {
  const double dim = resolved_rotary_dim(config);
  for (std::size_t j = 0; j < plan.xpos_scale.size(); ++j) plan.xpos_scale[j] = (2.0 * static_cast<double>(j) + 0.4 * dim) / (1.4 * dim);
  plan.xpos_scale_base = *config.xpos_scale_base;
  plan.xpos_center = config.xpos_center;
}

}  // namespace ropewalk::plans
