// Cosines and sines of a plan's angles at given positions: what a kernel turns by, and what a caller can export.
#pragma once

#include "rope/plan.h"
#include "rope/storage.h"

namespace ropewalk {

// Where tokens stand. Positions may be negative, repeated, unordered and fractional; each on [-2^31, 2^31).
struct Positions {
  double offset = 0;            // without ids, token t stands at offset + t
  const double* ids = nullptr;  // [axes][rows][tokens]
  int axes = 1;                 // 1: every axis of the plan stands at the same position
  int rows = 1;                 // batch rows with positions of their own; 1: all share
  int tokens = 0;

  // Position of a token on an axis of the plan.
  double at(int axis, int row, int token) const {
    if (ids == nullptr) return offset + token;
    const std::size_t plane = axes == 1 ? 0 : axis;
    return ids[(plane * rows + (rows == 1 ? 0 : row)) * tokens + token];
  }
};

// Checks that `positions` fit the plan and the range of positions.
Status check_positions(const FrequencyPlan& plan, const Positions& positions);

// Largest position of any axis and row.
double largest_position(const Positions& positions);

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

// How a table is laid out: one value a pair, or one an element in either pairing.
enum class TableLayout : int {
  compact,      // [positions][rotary_dim/2]  c0 c1 …
  half,         // [positions][rotary_dim]    c0 c1 … c0 c1 …
  interleaved,  // [positions][rotary_dim]    c0 c0 c1 c1 …
};

// Writes the cos and sin of every row and token of `positions`, [rows · tokens][columns], rounded once from f64 to `dtype`.
Status write_table(CosSinRows& rows, const Positions& positions, Purpose purpose, DType dtype, TableLayout layout, void* cos, void* sin);

// Tokens [first, first + count) of one row of positions, which have been checked.
struct TokenRange {
  int row = 0;
  int first = 0;
  int count = 0;
};

// The same in f32 and compact for a range of tokens: what kernels turn by.
void write_rows(CosSinRows& rows, const Positions& positions, TokenRange range, Purpose purpose, float* cos, float* sin);

}  // namespace ropewalk
