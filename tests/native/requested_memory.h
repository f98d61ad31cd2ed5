// What the library has asked the allocator for, counted where kv_memory_test.cpp stands between them.
#pragma once

#include <cstddef>

namespace ropewalk {

// Bytes of all aligned requests so far; whether they were given back since is not counted.
extern std::size_t requested_bytes;

}  // namespace ropewalk
