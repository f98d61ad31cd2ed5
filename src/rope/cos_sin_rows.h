// Rows of cos and sin for a plan's angles at given positions: what a kernel turns by.
#pragma once

#include "rope/positions.h"

namespace ropewalk {

// Queries and keys differ only under xPos.
enum class Role : int { query, key };

// What a row is for. An inverse row undoes a forward one, attention factor and xPos scale included.
struct Purpose {
  Role role = Role::query;
  bool inverse = false;
};

// Computes rows of cos and sin. A position is split into a multiple of 64 and a rest, p = 64 c + f, and the angle's cosine and sine
// follow from those of the parts by addition: four multiplications and two additions instead of two series. Integer positions always
// go this way, so a row does not depend on the positions asked beside it.
class CosSinRows {
 public:
  // Keeps a reference to the plan. Returns out_of_memory or ok.
  Status prepare(const FrequencyPlan& plan);

  // The row at `position` (one for each axis of the plan): attention factor, xPos scale and purpose applied, in f64.
  // cos, sin: [rotary_dim/2], overwritten by the next call.
  void compute(const double* position, Purpose purpose);
  // The same without attention factor, xPos scale and purpose: cos and sin of the angles.
  void compute_angles(const double* position);
  // The row in f32, each value rounded once: the same as compute() and a cast, in one pass where the position allows it.
  void compute(const double* position, Purpose purpose, float* cos, float* sin);
  const FrequencyPlan& plan() const { return *plan_; }
  const double* cos() const { return cos_.data(); }
  const double* sin() const { return sin_.data(); }

 private:
  bool is_composable(const double* position) const;
  void use_coarse(const double* coarse);
  void compose(const double* position);
  void compute_directly(const double* position);
  void compute_in_f32(const double* position);
  void compose_floats(double position, Purpose purpose, float* cos, float* sin);
  double factor(Purpose purpose) const;
  void scale(const double* position, Purpose purpose);

  const FrequencyPlan* plan_ = nullptr;
  Buffer<double> angles_, cos_, sin_;       // [pairs]
  Buffer<double> fine_cos_, fine_sin_;      // [64][pairs]
  Buffer<double> coarse_cos_, coarse_sin_;  // [pairs], at coarse_position_
  double coarse_position_[kMaxAxes] = {};
};

// Tokens [first, first + count) of one row of positions, which have been checked.
struct TokenRange {
  int row = 0;
  int first = 0;
  int count = 0;
};

// Writes the rows of a range of tokens, [count][rotary_dim/2].
void write_rows(CosSinRows& rows, const Positions& positions, TokenRange range, Purpose purpose, float* cos, float* sin);

}  // namespace ropewalk
