// Mathematical constants of the core.
#pragma once

#include <numbers>

namespace ropewalk {

constexpr double kTwoPi = 2 * std::numbers::pi;

}  // namespace ropewalk
