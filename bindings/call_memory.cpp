// Memory for the structs of a call. Embind makes a C++ object for each struct that a function takes or returns, with `new`, and deletes it
// before the call returns. Without exceptions, `new` aborts when memory runs out. So these objects come from a static reserve then, and the
// function itself reports that there is no memory. The core only uses `new (std::nothrow)`, which returns null.
#include <cstdlib>
#include <new>

#include "rope/config.h"

namespace {

constexpr std::size_t kBlockBytes = 1024;
constexpr int kBlocks = 8;  // a call has at most five structs
static_assert(sizeof(ropewalk::RopeConfig) <= kBlockBytes, "the largest struct of any call");

alignas(std::max_align_t) char reserve[kBlocks][kBlockBytes];
bool is_taken[kBlocks];

void* take_reserve(std::size_t size) {
  for (int i = 0; i < kBlocks && size <= kBlockBytes; ++i) {
    if (is_taken[i]) continue;
    is_taken[i] = true;
    return reserve[i];
  }
  __builtin_trap();
}

void release(void* memory) noexcept {
  for (int i = 0; i < kBlocks; ++i) {
    if (memory != reserve[i]) continue;
    is_taken[i] = false;
    return;
  }
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  return memory != nullptr ? memory : take_reserve(size);
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
