// Computes rows of cos and sin of a plan's angles at given positions, which kernels rotate by.
#pragma once

#include "rope/positions.h"

namespace ropewalk {

// Rows of queries and keys differ only under xPos.
enum class Role : int { query, key };

// What a row is for. An inverse row undoes a forward row, including attention factor and xPos scale.
struct Purpose {
  Role role = Role::query;
  bool inverse = false;
};

// Computes rows of cos and sin by angle addition. A position p = 64 c + f is split into a multiple of 64 and a remainder, and the
// angle's cosine and sine follow from those of the two parts: four multiplications and two additions instead of two series. All
// integer positions are computed this way, so a row doesn't depend on which other positions are requested.
class CosSinRows {
 public:
  // Sets the plan, and keeps a reference to it. Returns out_of_memory or ok.
  Status prepare(const FrequencyPlan& plan);
  // Sets the plan of other rows, and shares what prepare() computed for them. Several threads can compute rows of one plan, each with its
  // own. `other` must stay as it is meanwhile. Returns out_of_memory or ok.
  Status share(const CosSinRows& other);
  // Allocates what share() needs for a plan of so many pairs. Returns false if memory runs out.
  [[nodiscard]] bool reserve(std::uint64_t pairs);

  // Computes the row at `position` (one value per axis of the plan) in f64, with attention factor, xPos scale and purpose applied.
  // cos() and sin() then return it, [rotary_dim/2] each, until the next call.
  void compute(const double* position, Purpose purpose);
  // The same without attention factor, xPos scale and purpose: only cos and sin of the angles.
  void compute_angles(const double* position);
  // Writes the row in f32, each value rounded once. Gives the bits of compute() and a cast, in one pass if possible.
  void compute(const double* position, Purpose purpose, float* cos, float* sin);
  const FrequencyPlan& plan() const { return *plan_; }
  const double* cos() const { return cos_.data(); }
  const double* sin() const { return sin_.data(); }

 private:
  Status use_plan(const FrequencyPlan& plan);
  bool is_composable(const double* position) const;
  void use_coarse(const double* coarse);
  void compose(const double* position);
  void compute_directly(const double* position);
  void compute_in_f32(const double* position);
  void compose_floats(double position, Purpose purpose, float* cos, float* sin);
  double factor(Purpose purpose) const;
  void scale(const double* position, Purpose purpose);

  const FrequencyPlan* plan_ = nullptr;
  Buffer<double> angles_, cos_, sin_;  // [pairs]
  Buffer<double> fine_;                // both of the next, unless they are shared
  const double* fine_cos_ = nullptr;   // [64][pairs]
  const double* fine_sin_ = nullptr;
  Buffer<double> coarse_cos_, coarse_sin_;  // [pairs], at coarse_position_
  double coarse_position_[kMaxAxes] = {};
};

// Tokens [first, first + count) of one row of positions. The positions must have been checked.
struct TokenRange {
  int row = 0;
  int first = 0;
  int count = 0;
};

// Writes the rows of a range of tokens, [count][rotary_dim/2].
void write_rows(CosSinRows& rows, const Positions& positions, TokenRange range, Purpose purpose, float* cos, float* sin);

}  // namespace ropewalk
