// What the loops over rows of activations share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ropewalk {

// Operations per float of norms, sums and copies, and of activation functions (thread_pool.h).
constexpr std::int64_t kRowWork = 4, kActivationWork = 32;

// Elements of `rows` rows of `size` floats.
inline std::ptrdiff_t elements(int rows, int size) { return static_cast<std::ptrdiff_t>(rows) * size; }

}  // namespace ropewalk
