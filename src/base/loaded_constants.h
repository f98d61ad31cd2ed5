// Constants of loops, in memory instead of in their code.
//
// V8 keeps no constant vector in a register: it builds each one anew in each turn of a loop, with three instructions. Loading one from
// memory takes one.
#pragma once

#include <wasm_simd128.h>

namespace ropewalk {

// Elements of 32 or 64 bits, each as a vector that repeats it. Compilers don't see that they are constants.
template <class T, int Count>
class LoadedConstants {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);

 public:
  explicit LoadedConstants(const T (&values)[Count]) : values_(values) {
#ifdef __wasm__
    asm("" : "+r"(values_));  // hides what is there
#endif
  }
  v128_t operator[](int i) const {
    if constexpr (sizeof(T) == 4)
      return wasm_v128_load32_splat(values_ + i);
    else
      return wasm_v128_load64_splat(values_ + i);
  }

 private:
  const T* values_;
};

}  // namespace ropewalk
