// exp, log and pow in f64 from +, -, *, / and sqrt alone, so that every compiler and engine gives the same bits.
// Two C libraries may differ in the last bit, and then a plan would depend on the machine.
#pragma once

#include <numbers>

namespace ropewalk {

constexpr double kTwoPi = 2 * std::numbers::pi;

// Relative error below 2^-52 for x in [-700, 700]. Below that 0, above infinity, and NaN for NaN.
double reproducible_exp(double x);

// Relative error below 2^-52 for normal x > 0. Exactly 0 at x = 1.
double reproducible_log(double x);

// x^y with relative error below 2^-51 for normal x > 0 and |y · ln x| < 700, beyond that 0 or infinity. Exactly 1 at y = 0.
double reproducible_pow(double x, double y);

}  // namespace ropewalk
