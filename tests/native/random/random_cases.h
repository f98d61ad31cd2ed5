// Cases of random shapes, the same in every run. ROPEWALK_SEED sets another seed, ROPEWALK_CASES multiplies their number.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "native/attention/attention_guarded.h"

namespace ropewalk {

class RandomCase : public Random {
 public:
  using Random::Random;

  // A whole number in [first, last].
  int whole(int first, int last) { return first + static_cast<int>(next_bits() % static_cast<std::uint32_t>(last - first + 1)); }
  bool one_in(int n) { return whole(1, n) == 1; }
  template <class Enum>
  Enum any(int count) {
    return static_cast<Enum>(whole(0, count - 1));
  }
  // Usually up to `usual`, sometimes up to `most`.
  int size(int usual, int most) { return one_in(8) ? whole(1, most) : whole(1, usual); }
  float number() { return static_cast<float>(next()); }
};

inline std::uint32_t number_of_environment(const char* name, std::uint32_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

// Calls check(random) for each case, and names the seed of one that fails.
template <class Check>
void for_each_case(int count, Check&& check) {
  const std::uint32_t seed = number_of_environment("ROPEWALK_SEED", 1);
  const std::uint32_t cases = static_cast<std::uint32_t>(count) * number_of_environment("ROPEWALK_CASES", 1);
  for (std::uint32_t i = 0; i < cases && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(testing::Message() << "case " << i << " of seed " << seed);
    RandomCase random(seed * 1000003u + i);
    check(random);
  }
}

// `count` elements that begin `offset` elements after an aligned address. What is around them may not change.
template <class T>
class Unaligned {
 public:
  Unaligned(std::size_t count, int offset) : offset_(offset), count_(count), memory_(count + offset) {
    std::fill_n(memory_.data(), memory_.size(), T{});
  }
  Unaligned(Unaligned&&) = default;
  T* data() { return memory_.data() + offset_; }
  T& operator[](std::size_t i) { return data()[i]; }
  std::size_t size() const { return count_; }
  bool guards_are_intact() { return memory_.guards_are_intact(); }
  bool same_bits(const Unaligned& other) const { return memory_.same_bits(other.memory_); }
  void copy_from(const Unaligned& other) { std::memcpy(memory_.data(), other.memory_.data(), memory_.size() * sizeof(T)); }

 private:
  int offset_;
  std::size_t count_;
  Guarded<T> memory_;
};

inline void fill(Unaligned<float>& floats, RandomCase& random, float scale = 1) {
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = scale * random.number();
}

}  // namespace ropewalk
