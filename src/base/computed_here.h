// Keeps compilers from moving or rewriting vector operations. Nothing of it is left in the module.
#pragma once

#include <wasm_simd128.h>

namespace ropewalk {

// Compilers compute `value` here, and don't use what they know about it afterwards.
inline void computed_here(v128_t& value) {
#ifdef __wasm__
  asm("" : "+r"(value));
#else
  static_cast<void>(value);
#endif
}

// Compilers compute both values here, neither before the other's next use.
inline void computed_here(v128_t& a, v128_t& b) {
#ifdef __wasm__
  asm("" : "+r"(a), "+r"(b));
#else
  static_cast<void>(a), static_cast<void>(b);
#endif
}

// Compilers don't know that this address is the one of before, so they load from there again what they would keep on the stack.
template <class T>
inline void loaded_again(T*& address) {
#ifdef __wasm__
  asm("" : "+r"(address));
#else
  static_cast<void>(address);
#endif
}

}  // namespace ropewalk
