// Positions of tokens.
#pragma once

#include "rope/plan.h"

namespace ropewalk {

// Positions may be negative, repeated, unordered and fractional. Each is in [-2^31, 2^31).
struct Positions {
  double offset = 0;            // without ids, token t is at offset + t
  const double* ids = nullptr;  // [axes][rows][tokens]
  int axes = 1;                 // 1: the plan's axes all have the same position
  int rows = 1;                 // batch rows with their own positions; 1: all batches share them
  int tokens = 0;

  // Returns the number of positions, if they have ids.
  std::size_t id_count() const { return static_cast<std::size_t>(axes) * rows * tokens; }

  // Returns the position of a token on an axis of the plan.
  double at(int axis, int row, int token) const {
    if (ids == nullptr) return offset + token;
    const std::size_t plane = axes == 1 ? 0 : axis;
    return ids[(plane * rows + (rows == 1 ? 0 : row)) * tokens + token];
  }

  // Writes the positions of a token on all axes of the plan.
  void on_axes(const FrequencyPlan& plan, int row, int token, double position[kMaxAxes]) const {
    for (int axis = 0; axis < plan.axes; ++axis) position[axis] = at(axis, row, token);
  }
};

// Checks that `positions` are finite and within ±2^31, whatever the plan.
Status check_range(const Positions& positions);

// Whether the positions of a row are `start`, which must be an integer, and the integers after it, on all axes.
bool run_from(double start, const Positions& positions, int row);

// Checks that `positions` fit the plan and the range of positions. Plans of other lengths may accept other positions.
Status check_positions(const FrequencyPlan& plan, const Positions& positions);

// Returns the largest position on any axis and row, or -1 if there is none.
double largest_position(const Positions& positions);

// Returns the sequence length to plan for if this is the largest position: that position + 1, as in transformers.
double length_up_to(double largest_position);
inline double length_up_to(const Positions& positions) { return length_up_to(largest_position(positions)); }

}  // namespace ropewalk
