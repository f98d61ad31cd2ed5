// The recurrence of RWKV-7 compared with its definition in double, in pieces and on threads.
#include "recurrence/wkv_scan.h"

#include "native/recurrence/pieces.h"

namespace ropewalk {
namespace wkv_scan_test {

// Each token adds some roundings of 2^-24 in f32, and those of earlier tokens decay. Measured over 1500 cases: 2.6e-7.
constexpr double kTolerance = 1e-6;

struct Sizes {
  int tokens, heads, keys, values;
};

// A number for each token, head and element of a key, with zeros after each key.
std::vector<float> padded_rows(RandomCase& random, const Sizes& s, double low, double high) {
  std::vector<float> rows;
  for (int row = 0; row < s.tokens * s.heads; ++row) {
    for (int i = 0; i < padded_keys(s.keys); ++i) rows.push_back(static_cast<float>(i < s.keys ? random.between(low, high) : 0));
  }
  return rows;
}

// The numbers of all tokens, in the order of WkvScan. Keys have a length of about 1.
struct Numbers {
  Numbers(RandomCase& random, const Sizes& s) : Numbers(random, s, std::sqrt(3.0 / s.keys)) {}
  Numbers(RandomCase& random, const Sizes& s, double scale)
      : q(padded_rows(random, s, -scale, scale)),
        w(padded_rows(random, s, 0.55, 1)),
        k(padded_rows(random, s, -scale, scale)),
        removed(padded_rows(random, s, -scale, scale)),
        b(removed),
        v(random_numbers(random, s.tokens * s.heads * s.values, -2, 2)) {
    for (float& element : b) element *= static_cast<float>(random.between(0, 1));
    const int padded = padded_keys(s.keys);
    for (std::size_t i = 0; i < w.size(); ++i) {  // the removed key has a length of 1
      if (i % padded != 0) continue;
      double squares = 0;
      for (int j = 0; j < padded; ++j) squares += removed[i + j] * removed[i + j];
      for (int j = 0; j < padded; ++j) {
        removed[i + j] /= static_cast<float>(std::sqrt(squares));
        b[i + j] /= static_cast<float>(std::sqrt(squares));
      }
    }
  }

  std::vector<float> q, w, k, removed, b, v;
};

// Follows the definition token by token. Changes the state, [heads][values][keys].
std::vector<double> scanned_in_double(const Sizes& s, const Numbers& n, std::vector<double>& state) {
  std::vector<double> out;
  for (int t = 0; t < s.tokens; ++t) {
    for (int head = 0; head < s.heads; ++head) {
      const int at = (t * s.heads + head) * padded_keys(s.keys);
      for (int r = 0; r < s.values; ++r) {
        double* row = &state[(head * s.values + r) * s.keys];
        const double value = n.v[(t * s.heads + head) * s.values + r];
        double known = 0, sum = 0;
        for (int i = 0; i < s.keys; ++i) known += row[i] * n.removed[at + i];
        for (int i = 0; i < s.keys; ++i) {
          row[i] = n.w[at + i] * row[i] - known * n.b[at + i] + value * n.k[at + i];
          sum += row[i] * n.q[at + i];
        }
        out.push_back(sum);
      }
    }
  }
  return out;
}

void expect_definition(RandomCase& random, const Sizes& s) {
  const Numbers n(random, s);
  const int padded = padded_keys(s.keys), key_row = s.heads * padded, value_row = s.heads * s.values;
  std::vector<float> state = random_numbers(random, scan_state(s.heads, s.keys, s.values), -1, 1);
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (static_cast<int>(i) % padded >= s.keys) state[i] = 0;
  }
  const auto in_double = [&](const std::vector<float>& rows) {
    std::vector<double> kept;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (static_cast<int>(i) % padded < s.keys) {
        kept.push_back(rows[i]);
      } else {
        EXPECT_EQ(rows[i], 0);
      }
    }
    return kept;
  };
  const Scanned scanned =
      in_every_way(random, state, value_row, s.tokens, [&](int first, int count, const float* from, float* to, float* out) {
        const WkvScan scan = {count,
                              s.heads,
                              s.keys,
                              s.values,
                              &n.q[first * key_row],
                              &n.w[first * key_row],
                              &n.k[first * key_row],
                              &n.removed[first * key_row],
                              &n.b[first * key_row],
                              &n.v[first * value_row]};
        scan_wkv(scan, from, to, out);
      });
  std::vector<double> exact_state = in_double(state);
  const std::vector<double> exact = scanned_in_double(s, n, exact_state), last = in_double(scanned.state);
  EXPECT_LE(relative_error(scanned.out, exact), kTolerance);
  EXPECT_LE(relative_error({last.begin(), last.end()}, exact_state), kTolerance);
}

TEST(WkvScan, IsItsDefinition) {
  for_each_case(150, [](RandomCase& random) {
    expect_definition(random, {random.size(12, 60), random.whole(1, 6), random.size(20, 140), random.size(11, 70)});
  });
}

TEST(WkvScan, TheSmallestSizes) {
  for_each_case(20, [](RandomCase& random) {
    expect_definition(random, {random.whole(1, 3), 1, 1, 1});
    expect_definition(random, {random.whole(1, 3), 1, random.whole(1, 9), 1});
    expect_definition(random, {1, random.whole(1, 4), 4, random.whole(1, 9)});
  });
}

// Without decay, a key of length 1 that is removed and added again replaces the value that it reads.
TEST(WkvScan, ReplacesAValue) {
  const std::vector<float> state = {3, -1, 2, 0, 1, 5, -2, 0}, key = {0.6f, 0, 0.8f, 0}, kept = {1, 1, 1, 1}, value = {7, -9};
  const WkvScan scan = {1, 1, 3, 2, key.data(), kept.data(), key.data(), key.data(), key.data(), value.data()};
  std::vector<float> to(8), out(2);
  scan_wkv(scan, state.data(), to.data(), out.data());
  EXPECT_NEAR(out[0], 7, 1e-5);
  EXPECT_NEAR(out[1], -9, 1e-5);
  EXPECT_EQ(to[1], -1) << "other directions keep theirs";
  EXPECT_EQ(to[5], 5);
}

}  // namespace wkv_scan_test
}  // namespace ropewalk
