// An owning array that reports a failed allocation instead of aborting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/aligned_memory.h"

namespace ropewalk {

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  ~Buffer() { free_aligned(data_); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Resizes to `size` elements with undefined contents. Returns false if memory runs out, and leaves the buffer
  // unchanged. Compute products and sums in 64 bits: size_t has 32 in wasm.
  [[nodiscard]] bool resize(std::uint64_t size) {
    if (size > capacity_) {
      if (size > kLargestAllocation / sizeof(T)) return false;
      T* data = static_cast<T*>(allocate_aligned(size * sizeof(T)));
      if (data == nullptr) return false;
      free_aligned(data_);
      data_ = data;
      capacity_ = static_cast<std::size_t>(size);
    }
    size_ = static_cast<std::size_t>(size);
    return true;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }

 private:
  void swap(Buffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace ropewalk
