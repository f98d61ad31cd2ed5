// Clocks that WalkChoice (rope/walk.h) compares walks with, in tests.
#pragma once

#include "rope/walk.h"

namespace ropewalk {

// Sets a clock for as long as it lives.
struct ClockGuard {
  explicit ClockGuard(Clock clock) { WalkChoice::clock = clock; }
  ~ClockGuard() { WalkChoice::clock = nullptr; }
};

inline int* readings = nullptr;  // of the choice that is being made

// A clock for which the walk that isn't the usual one is always the faster one. Three readings are a trial, and it goes first in every
// second one.
inline double clock_for_the_other_walk() {
  const int trial = *readings / 3, reading = *readings % 3;
  ++*readings;
  return reading == 0 ? 0 : reading == 1 ? (trial % 2 == 0 ? 2 : 1) : 3;
}

}  // namespace ropewalk
