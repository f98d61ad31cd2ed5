// exp, log and pow built from +, -, *, / and sqrt alone, so that every compiler and every engine gives the same bits.
// A libm may differ from another in the last bit, which would change a plan from one machine to the next.
#pragma once

namespace ropewalk {

// Relative error below 2^-52 for finite x in [-700, 700].
double reproducible_exp(double x);

// Relative error below 2^-52 for normal x > 0, and exactly 0 at 1.
double reproducible_log(double x);

// x^y with relative error below 2^-51 for normal x > 0 and |y · ln x| < 700; exactly 1 at y = 0.
double reproducible_pow(double x, double y);

}  // namespace ropewalk
