// Runs a recurrence over tokens in pieces, between guard bytes.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "base/native_threads.h"
#include "native/random/random_cases.h"

namespace ropewalk {

// What a recurrence leaves: the state after the last token, and the outputs of all.
struct Scanned {
  std::vector<float> state, out;
};

inline void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// Calls compute(first, count, from, to, out) for each piece, beginning with a state. Outputs have `row` floats for each token. Nothing but
// `to` and `out` may change, and all of both must be written.
template <class Compute>
Scanned in_pieces(const std::vector<float>& state, int row, const std::vector<int>& pieces, Compute&& compute) {
  Scanned result = {state, {}};
  int first = 0;
  for (const int count : pieces) {
    Guarded<float> from(result.state), to(state.size(), NAN), out(static_cast<std::size_t>(count) * row, NAN);
    compute(first, count, from.data(), to.data(), out.data());
    expect_same_bits(from.values(), result.state);
    result.state = to.values();
    result.out.insert(result.out.end(), out.data(), out.data() + out.size());
    EXPECT_TRUE(from.guards_are_intact() && to.guards_are_intact() && out.guards_are_intact());
    first += count;
  }
  return result;
}

// One call for all tokens, after checking that pieces and threads give the same bits.
template <class Compute>
Scanned in_every_way(RandomCase& random, const std::vector<float>& state, int row, int tokens, Compute&& compute) {
  const Scanned whole = in_pieces(state, row, {tokens}, compute);
  const auto expect_same = [&](const std::vector<int>& pieces, const std::string& way) {
    SCOPED_TRACE(way);
    const Scanned other = in_pieces(state, row, pieces, compute);
    expect_same_bits(other.state, whole.state);
    expect_same_bits(other.out, whole.out);
  };
  expect_same(std::vector<int>(tokens, 1), "token by token");
  const int first = random.whole(1, tokens);
  if (first < tokens) expect_same({first, tokens - first}, "in two pieces");
  for (const int threads : {1, 2, 3, 5}) {
    NativeThreads helpers(threads, 1);
    expect_same({tokens}, std::to_string(threads) + " threads");
  }
  return whole;
}

inline std::vector<float> random_numbers(RandomCase& random, std::size_t count, double low, double high) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.between(low, high));
  return values;
}

// The largest difference, relative to the largest of the exact numbers, or to 1 if they are smaller because inputs of about 1 cancel.
// Infinity if a number is NaN.
inline double relative_error(const std::vector<float>& computed, const std::vector<double>& exact) {
  EXPECT_EQ(computed.size(), exact.size());
  double largest = 1, worst = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    largest = std::max(largest, std::fabs(exact[i]));
    worst = std::max(worst, std::isnan(computed[i]) ? INFINITY : std::fabs(computed[i] - exact[i]));
  }
  return worst / largest;
}

}  // namespace ropewalk
