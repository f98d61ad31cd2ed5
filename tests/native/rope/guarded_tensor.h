// A tensor of any element type with guard bytes on both sides that no kernel may change. It indexes the three layouts on its own,
// independently of src/.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "native/oracle.h"
#include "rope/rotate.h"

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace ropewalk {

// Uniform on [-2, 2), with the same numbers in every standard library.
class Random {
 public:
  explicit Random(std::uint32_t seed) : bits_(seed) {}
  double next() { return static_cast<double>(bits_()) * 0x1p-30 - 2; }
  double between(double low, double high) { return low + (high - low) * (next() + 2) / 4; }
  std::uint32_t next_bits() { return static_cast<std::uint32_t>(bits_()); }

 private:
  std::mt19937 bits_;
};

class GuardedTensor {
 public:
  GuardedTensor(DType dtype, Layout layout, const Shape& shape)
      : dtype_(dtype), layout_(layout), shape_(shape), size_(count() * size_of(dtype)), memory_(size_ + 2 * kGuard, kCanary) {
    ASAN_POISON_MEMORY_REGION(memory_.data(), kGuard);
    ASAN_POISON_MEMORY_REGION(data() + size_, kGuard);
  }
  ~GuardedTensor() { unpoison(); }
  GuardedTensor(const GuardedTensor&) = delete;
  GuardedTensor& operator=(const GuardedTensor&) = delete;

  GuardedTensor& fill(std::uint32_t seed) {
    Random random(seed);
    for (std::size_t i = 0; i < count(); ++i) set_bits(i, oracle::encode(static_cast<float>(random.next()), dtype_));
    return *this;
  }

  std::size_t count() const { return static_cast<std::size_t>(shape_.batches) * shape_.tokens * shape_.heads * shape_.head_dim; }
  std::size_t index(int batch, int token, int head, int element) const {
    const std::size_t row = layout_ == Layout::bhtd ? (static_cast<std::size_t>(batch) * shape_.heads + head) * shape_.tokens + token
                                                    : (static_cast<std::size_t>(batch) * shape_.tokens + token) * shape_.heads + head;
    return row * shape_.head_dim + element;
  }

  std::uint32_t bits(std::size_t i) const {
    std::uint32_t bits = 0;
    std::memcpy(&bits, data() + i * size_of(dtype_), size_of(dtype_));
    return bits;
  }
  void set_bits(std::size_t i, std::uint32_t bits) { std::memcpy(data() + i * size_of(dtype_), &bits, size_of(dtype_)); }
  oracle::Real value(std::size_t i) const { return oracle::decode(bits(i), dtype_); }

  // The rotated span of a head.
  std::vector<oracle::Real> span_of(int batch, int token, int head, Span span) const {
    std::vector<oracle::Real> values;
    for (int i = 0; i < span.size; ++i) values.push_back(value(index(batch, token, head, span.offset + i)));
    return values;
  }

  bool same_bits(const GuardedTensor& other) const { return size_ == other.size_ && std::memcmp(data(), other.data(), size_) == 0; }
  void copy_from(const GuardedTensor& other) { std::memcpy(data(), other.data(), size_); }
  std::vector<std::uint8_t> bytes() const { return {data(), data() + size_}; }

  bool guards_are_intact() {
    unpoison();
    bool intact = true;
    for (std::size_t i = 0; i < kGuard; ++i) intact = intact && memory_[i] == kCanary && memory_[kGuard + size_ + i] == kCanary;
    return intact;
  }

  HeadTensor in_place() { return {data(), data(), dtype_, layout_, shape_}; }
  HeadTensor into(GuardedTensor& target) const { return {data(), target.data(), dtype_, layout_, shape_}; }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::uint8_t* data() { return memory_.data() + kGuard; }
  const std::uint8_t* data() const { return memory_.data() + kGuard; }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr std::uint8_t kCanary = 0xA5;

  void unpoison() { ASAN_UNPOISON_MEMORY_REGION(memory_.data(), memory_.size()); }

  DType dtype_;
  Layout layout_;
  Shape shape_;
  std::size_t size_;
  std::vector<std::uint8_t> memory_;
};

}  // namespace ropewalk
