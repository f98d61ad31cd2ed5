// Recurrences with a matrix for each head compared with their definitions in double, in pieces and on threads.
#include "recurrence/state_scan.h"

#include "native/recurrence/pieces.h"

namespace ropewalk {
namespace {

// Each token adds some roundings of 2^-24 in f32, and those of earlier tokens decay. Measured over 60,000 cases: MEASURED.
constexpr double kTolerance = 4e-6;

struct Sizes {
  int tokens, heads, key_heads, keys, values, stride;
  bool is_delta, is_tiled;
};

Sizes draw_sizes(RandomCase& random) {
  Sizes s;
  s.key_heads = random.whole(1, 3), s.heads = s.key_heads * random.whole(1, 3);
  s.tokens = random.size(12, 60), s.keys = random.size(20, 140), s.values = random.size(11, 70);
  s.is_delta = random.one_in(2), s.is_tiled = random.one_in(2);
  s.stride = s.heads * s.values + (random.one_in(2) ? random.whole(1, 30) : 0);
  return s;
}

// The numbers of all tokens, in the order of StateScan. Keys have a length of about 1, as those of the delta rule.
struct Numbers {
  Numbers(RandomCase& random, const Sizes& s)
      : k(padded_rows(random, s)),
        q(padded_rows(random, s)),
        v(random_numbers(random, static_cast<std::size_t>(s.tokens - 1) * s.stride + s.heads * s.values, -2, 2)),
        a(random_numbers(random, s.tokens * s.heads, random.one_in(4) ? 0 : 0.7, 1)),
        b(random_numbers(random, s.tokens * s.heads, 0, 1)) {}

  static std::vector<float> padded_rows(RandomCase& random, const Sizes& s) {
    std::vector<float> rows;
    const double scale = std::sqrt(3.0 / s.keys);
    for (int row = 0; row < s.tokens * s.key_heads; ++row) {
      for (int i = 0; i < padded_keys(s.keys); ++i) rows.push_back(static_cast<float>(i < s.keys ? random.between(-scale, scale) : 0));
    }
    return rows;
  }

  std::vector<float> k, q, v, a, b;
};

// The rows of a state as they are in memory, without the zeros after each.
std::vector<double> without_zeros(const std::vector<float>& state, int keys) {
  std::vector<double> rows;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (static_cast<int>(i) % padded_keys(keys) < keys) {
      rows.push_back(state[i]);
    } else {
      EXPECT_EQ(state[i], 0);
    }
  }
  return rows;
}

// Follows the definition token by token. Changes the state.
std::vector<double> scanned_in_double(const Sizes& s, const Numbers& numbers, std::vector<double>& state) {
  std::vector<double> out;
  for (int t = 0; t < s.tokens; ++t) {
    for (int head = 0; head < s.heads; ++head) {
      const int key_head = s.is_tiled ? head % s.key_heads : head * s.key_heads / s.heads;
      const float* k = &numbers.k[(t * s.key_heads + key_head) * padded_keys(s.keys)];
      const float* q = &numbers.q[(t * s.key_heads + key_head) * padded_keys(s.keys)];
      const double a = numbers.a[t * s.heads + head], b = numbers.b[t * s.heads + head];
      for (int r = 0; r < s.values; ++r) {
        double* row = &state[(head * s.values + r) * s.keys];
        double change = numbers.v[static_cast<std::size_t>(t) * s.stride + head * s.values + r];
        for (int i = 0; i < s.keys && s.is_delta; ++i) change -= a * row[i] * k[i];
        double sum = 0;
        for (int i = 0; i < s.keys; ++i) sum += (row[i] = a * row[i] + b * change * k[i]) * q[i];
        out.push_back(sum);
      }
    }
  }
  return out;
}

void expect_definition(RandomCase& random, const Sizes& s) {
  const Numbers numbers(random, s);
  std::vector<float> state = random_numbers(random, scan_state(s.heads, s.keys, s.values), -1, 1);
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (static_cast<int>(i) % padded_keys(s.keys) >= s.keys) state[i] = 0;
  }
  const int key_row = s.key_heads * padded_keys(s.keys);
  const Scanned scanned =
      in_every_way(random, state, s.heads * s.values, s.tokens, [&](int first, int count, const float* from, float* to, float* out) {
        const StateScan scan = {count,
                                s.heads,
                                s.key_heads,
                                s.keys,
                                s.values,
                                s.is_delta,
                                s.is_tiled,
                                &numbers.k[first * key_row],
                                &numbers.q[first * key_row],
                                &numbers.v[static_cast<std::size_t>(first) * s.stride],
                                s.stride,
                                &numbers.a[first * s.heads],
                                &numbers.b[first * s.heads]};
        scan_states(scan, from, to, out);
      });
  std::vector<double> exact_state = without_zeros(state, s.keys);
  const std::vector<double> exact = scanned_in_double(s, numbers, exact_state), last = without_zeros(scanned.state, s.keys);
  EXPECT_LE(relative_error(scanned.out, exact), kTolerance);
  EXPECT_LE(relative_error({last.begin(), last.end()}, exact_state), kTolerance);
}

TEST(StateScan, IsItsDefinition) {
  for_each_case(150, [](RandomCase& random) { expect_definition(random, draw_sizes(random)); });
}

TEST(StateScan, TheSmallestSizes) {
  for_each_case(20, [](RandomCase& random) {
    for (const bool is_delta : {false, true}) {
      expect_definition(random, {random.whole(1, 3), 1, 1, 1, 1, 1, is_delta, false});
      expect_definition(random, {random.whole(1, 3), 1, 1, random.whole(1, 9), 1, 5, is_delta, true});
      expect_definition(random, {1, random.whole(1, 4), 1, 4, random.whole(1, 9), 40, is_delta, false});
    }
  });
}

// With keys of length 1 and b = 1, the delta rule stores a value that its key reads again, whatever was there.
TEST(StateScan, TheDeltaRuleReplacesAValue) {
  const std::vector<float> state = {3, -1, 2, 0, 1, 5, -2, 0}, key = {0.6f, 0, 0.8f, 0}, value = {7, -9};
  const float one = 1;
  const StateScan scan = {1, 1, 1, 3, 2, true, false, key.data(), key.data(), value.data(), 2, &one, &one};
  std::vector<float> to(8), out(2);
  scan_states(scan, state.data(), to.data(), out.data());
  EXPECT_NEAR(out[0], 7, 1e-5);
  EXPECT_NEAR(out[1], -9, 1e-5);
  EXPECT_EQ(to[1], -1) << "other directions keep theirs";
  EXPECT_EQ(to[5], 5);
}

}  // namespace
}  // namespace ropewalk
