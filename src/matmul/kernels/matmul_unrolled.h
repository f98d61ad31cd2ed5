// Loops that are unrolled at compile time, or not at all. An array of sums stays in registers only if all loops over it are unrolled, and
// what a step needs stays there only if the steps are not.
#pragma once

#include <utility>

#include "base/add_product.h"

namespace ropewalk {

#ifdef _MSC_VER
#define ROPEWALK_INLINE [[msvc::forceinline]]
#else
#define ROPEWALK_INLINE __attribute__((always_inline))
#endif

// Calls step.operator()<0>() to step.operator()<Count - 1>().
template <int Count, class Step>
ROPEWALK_INLINE inline void unrolled(Step&& step) {
  [&]<int... I>(std::integer_sequence<int, I...>) ROPEWALK_INLINE { (step.template operator()<I>(), ...); }
  (std::make_integer_sequence<int, Count>());
}

}  // namespace ropewalk
