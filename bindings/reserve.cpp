// Memory for what Embind copies in and out of a call, which is left when wasm memory is full: operator new would end the program there, and
// a full memory could not be reported. The core allocates with std::nothrow, and returns out_of_memory.
#include <cstdlib>
#include <new>

namespace {

// A call copies at most eight structs, and the largest has 700 bytes.
constexpr std::size_t kSlotBytes = 1024;
constexpr int kSlots = 8;

alignas(16) char slots[kSlots][kSlotBytes];
bool is_used[kSlots];

void* take_slot(std::size_t size) {
  for (int i = 0; i < kSlots && size <= kSlotBytes; ++i) {
    if (is_used[i]) continue;
    is_used[i] = true;
    return slots[i];
  }
  __builtin_trap();
}

}  // namespace

void* operator new(std::size_t size) {
  void* block = std::malloc(size);
  return block != nullptr ? block : take_slot(size);
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }

void operator delete(void* block) noexcept {
  const auto offset = static_cast<std::size_t>(static_cast<char*>(block) - slots[0]);
  if (offset < sizeof(slots)) {
    is_used[offset / kSlotBytes] = false;
  } else {
    std::free(block);
  }
}

void operator delete(void* block, std::size_t) noexcept { operator delete(block); }

void operator delete(void* block, const std::nothrow_t&) noexcept { operator delete(block); }
