// Causal convolutions compared with their definition in double, in pieces and on threads.
#include "recurrence/causal_convolution.h"

#include "native/recurrence/pieces.h"

namespace ropewalk {
namespace causal_convolution_test {

// At most 64 products and sums in f32, each of which rounds by 2^-24 of a partial sum. Measured over 1500 cases: 4.2e-7.
constexpr double kTolerance = 1e-6;

TEST(CausalConvolution, IsItsDefinition) {
  for_each_case(150, [](RandomCase& random) {
    const int kernel = random.one_in(8) ? random.whole(1, 64) : random.whole(1, 5);
    const int channels = random.size(70, 200), tokens = random.size(12, 80), before = kernel - 1;
    const std::vector<float> weights = random_numbers(random, static_cast<std::size_t>(kernel) * channels, -1, 1);
    const std::vector<float> bias = random_numbers(random, channels, -1, 1);
    const bool has_bias = random.one_in(2);
    const std::vector<float> x = random_numbers(random, static_cast<std::size_t>(tokens) * channels, -2, 2);
    const std::vector<float> state = random_numbers(random, convolution_state(kernel, channels), -2, 2);
    const Convolution convolution = {kernel, channels, weights.data(), has_bias ? bias.data() : nullptr};

    const Scanned scanned =
        in_every_way(random, state, channels, tokens, [&](int first, int count, const float* from, float* to, float* out) {
          convolve(convolution, x.data() + static_cast<std::ptrdiff_t>(first) * channels, count, from, to, out);
        });

    std::vector<float> inputs = state;  // the earlier ones, then x
    inputs.insert(inputs.end(), x.begin(), x.end());
    std::vector<double> exact;
    for (int t = 0; t < tokens; ++t) {
      for (int c = 0; c < channels; ++c) {
        double sum = has_bias ? bias[c] : 0;
        for (int j = 0; j < kernel; ++j) sum += static_cast<double>(weights[j * channels + c]) * inputs[(t + j) * channels + c];
        exact.push_back(sum);
      }
    }
    EXPECT_LE(relative_error(scanned.out, exact), kTolerance);
    expect_same_bits(scanned.state, {inputs.end() - before * channels, inputs.end()});
  });
}

}  // namespace causal_convolution_test
}  // namespace ropewalk
