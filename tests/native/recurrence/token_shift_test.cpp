// The token shift compared with its definition in double, in pieces and on threads.
#include "recurrence/token_shift.h"

#include "native/recurrence/pieces.h"

namespace ropewalk {
namespace token_shift_test {

constexpr double kTolerance = 3e-7;  // three roundings of 2^-24, of numbers up to 3

TEST(TokenShift, IsItsDefinition) {
  for_each_case(100, [](RandomCase& random) {
    const int tokens = random.size(12, 60), size = random.size(20, 140);
    const std::vector<float> x = random_numbers(random, tokens * size, -1, 1), share = random_numbers(random, size, -0.5, 1.5);
    const std::vector<float> before = random_numbers(random, size, -1, 1);
    const Scanned shifted = in_every_way(random, before, size, tokens, [&](int first, int count, const float* from, float* to, float* out) {
      shift_tokens(&x[first * size], count, size, share.data(), from, out);
      std::copy_n(&x[(first + count - 1) * size], size, to);
    });
    std::vector<double> exact;
    for (int i = 0; i < tokens * size; ++i) {
      const double previous = i < size ? before[i] : x[i - size];
      exact.push_back(x[i] + share[i % size] * (previous - x[i]));
    }
    EXPECT_LE(relative_error(shifted.out, exact), kTolerance);
  });
}

}  // namespace token_shift_test
}  // namespace ropewalk
