// Arrays between guard bytes that no kernel may touch. AddressSanitizer traps reads and writes; without it, writes are detected.
#pragma once

#include <algorithm>
#include <span>

#include "native/rope/guarded_tensor.h"

namespace ropewalk {

template <class T>
class Guarded {
 public:
  explicit Guarded(std::size_t count) : size_(count), memory_(count * sizeof(T) + 2 * kGuard, kCanary) {
    ASAN_POISON_MEMORY_REGION(memory_.data(), kGuard);
    ASAN_POISON_MEMORY_REGION(memory_.data() + kGuard + count * sizeof(T), kGuard);
  }
  Guarded(std::size_t count, T value) : Guarded(count) { std::fill_n(data(), count, value); }
  explicit Guarded(const std::vector<T>& values) : Guarded(values.size()) { std::copy(values.begin(), values.end(), data()); }
  Guarded(Guarded&&) = default;  // the memory doesn't move
  ~Guarded() { unpoison(); }

  T* data() { return reinterpret_cast<T*>(memory_.data() + kGuard); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.data() + kGuard); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  std::vector<T> values() const { return {data(), data() + size_}; }

  bool same_bits(const Guarded& other) const { return size_ == other.size_ && std::memcmp(data(), other.data(), size_ * sizeof(T)) == 0; }

  bool guards_are_intact() {
    unpoison();
    const auto is_canary = [](std::uint8_t byte) { return byte == kCanary; };
    return std::all_of(memory_.begin(), memory_.begin() + kGuard, is_canary) &&
           std::all_of(memory_.end() - kGuard, memory_.end(), is_canary);
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr std::uint8_t kCanary = 0xA5;

  void unpoison() { ASAN_UNPOISON_MEMORY_REGION(memory_.data(), memory_.size()); }

  std::size_t size_;
  std::vector<std::uint8_t> memory_;
};

}  // namespace ropewalk
