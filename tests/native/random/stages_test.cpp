// Whole stages on random shapes: attention and caches with SIMD kernels compared with scalar ones bit for bit; normalization, activations
// and the sampler, which have one implementation, compared with their definitions in double.
#include <cmath>
#include <set>

#include "native/attention/attention_call.h"
#include "native/cache/kv_tokens.h"
#include "native/random/random_cases.h"
#include "sampling/sampler.h"
#include "vectors/activation.h"
#include "vectors/normalize.h"

namespace ropewalk {
namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(RandomStages, Attention) {
  for_each_case(400, [](RandomCase& random) {
    const int kv_heads = random.whole(1, 3), queries = random.size(6, 40);
    const CallShape shape = {queries, queries + random.size(70, 200), kv_heads * random.whole(1, 4), kv_heads, random.size(70, 140)};
    AttentionCall call(shape, random.next_bits(), random.any<RowType>(kRowTypes), random.any<Place>(3));
    AttentionOptions& options = call.options;
    options.causal = !random.one_in(3);
    if (random.one_in(2)) options.window = random.whole(1, 100);
    if (random.one_in(3)) options.sink_tokens = random.whole(0, 5);
    if (random.one_in(3)) options.soft_cap = random.between(1, 50);
    std::vector<float> sinks(shape.heads), temperatures(queries);
    for (float& sink : sinks) sink = random.number();
    for (float& temperature : temperatures) temperature = 1 + std::fabs(random.number());
    if (random.one_in(3)) options.sinks = sinks.data();
    if (random.one_in(3)) options.temperatures = temperatures.data();
    if (random.one_in(3)) options.position.scheme = random.one_in(2) ? PositionScheme::alibi : PositionScheme::sinusoidal;
    RopeConfig config;
    config.head_dim = shape.head_dim;
    config.rotary_dim = std::max(2, shape.head_dim / 2 * 2);
    config.pairing = random.any<Pairing>(3);
    Rope scalar_rope, simd_rope;
    const bool has_rope = random.one_in(3) && shape.head_dim >= 2;
    if (has_rope) {
      ASSERT_EQ(scalar_rope.configure(config), Status::ok);
      ASSERT_EQ(simd_rope.configure(config), Status::ok);
      scalar_rope.use_kernels(kScalarRotateKernels), simd_rope.use_kernels(kWasmSimdRotateKernels);
      options.position.scheme = PositionScheme::rope;
    }
    options.position.rope = has_rope ? &scalar_rope : nullptr;
    const std::vector<float> scalar = call.attend(kScalarAttentionKernels, kScalarRotateKernels);
    options.position.rope = has_rope ? &simd_rope : nullptr;
    EXPECT_TRUE(same_bits(call.attend(kWasmSimdAttentionKernels, kWasmSimdRotateKernels), scalar))
        << shape.queries << " of " << shape.keys << " tokens, " << shape.heads << " heads of " << shape.head_dim;
  });
}

// The same operations on two caches, with the kernels of each kind.
TEST(RandomStages, Caches) {
  for_each_case(150, [](RandomCase& random) {
    const int head_dim = 2 * random.size(40, 100);
    RopeConfig config;
    config.head_dim = head_dim;
    config.rotary_dim = 2 * random.whole(1, head_dim / 2);
    config.rotary_offset = random.whole(0, head_dim - config.rotary_dim);
    config.pairing = random.any<Pairing>(3);
    if (random.one_in(3)) {
      config.rope_type = RopeType::dynamic;
      config.factor = 2;
      config.max_position_embeddings = random.whole(2, 60);
      if (config.rotary_dim < 4) config.rope_type = RopeType::linear;
    }
    if (random.one_in(4)) config.xpos_scale_base = random.whole(64, 512);
    const CacheSetup setup = simple_setup(config, kTestedRowTypes[random.whole(0, kRowTypes - 1)], kKeyModes[random.whole(0, 1)]);
    ConfiguredCache scalar(setup), simd(setup);
    scalar.use_kernels(kScalarAttentionKernels, kScalarRotateKernels);
    simd.use_kernels(kWasmSimdAttentionKernels, kWasmSimdRotateKernels);
    AttentionOptions options;
    options.scale = std::nan("");
    for (int step = random.whole(2, 6); step > 0; --step) {
      const int tokens = random.size(20, 90);
      const auto layout = random.any<Layout>(3);
      const auto dtype = random.any<DType>(kDTypes);
      const std::uint32_t seed = random.next_bits() | 1;
      const int left = scalar.sequence(0).tokens();
      const int keep = random.whole(0, left), discard = left - keep > 0 ? random.whole(1, left - keep) : 0;
      const int window = random.one_in(2) ? kNoWindow : random.whole(1, 50);
      const double theta = random.between(100, 1e6);
      const int change = random.whole(0, 4);
      std::vector<std::vector<float>> outputs;
      for (KvCache* cache : {static_cast<KvCache*>(&scalar), static_cast<KvCache*>(&simd)}) {
        if (change == 0 && discard > 0) {
          ASSERT_EQ(cache->shift(0, keep, discard), Status::ok);
        }
        if (change == 1) {
          RopeConfig other = cache->rope_config(0);
          other.rope_theta = theta;
          ASSERT_EQ(cache->retune(0, other), Status::ok);
        }
        Tokens given(setup.layers[0], tokens, seed, 1, dtype, layout);
        ASSERT_EQ(cache->append(0, 0, given.with_queries()), Status::ok);
        std::vector<float> q(given.q.count());
        for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(given.q.value(i));
        options.window = window;
        ASSERT_EQ(cache->attend(0, 0, {q.data(), q.data(), DType::f32, layout, given.q.shape()}, options), Status::ok);
        outputs.push_back(std::move(q));
      }
      ASSERT_TRUE(same_bits(outputs[0], outputs[1]));
      ASSERT_TRUE(snapshot_of(simd) == snapshot_of(scalar));
    }
  });
}

// Four f32 roundings, one of the sum with the bias, and the f64 rounding of the mean (normalize_test.cpp).
TEST(RandomStages, Normalization) {
  for_each_case(2000, [](RandomCase& random) {
    const bool is_layer = random.one_in(2), has_bias = random.one_in(2);
    const int size = random.size(200, 5000);
    const Norm norm = {is_layer ? NormKind::layer : NormKind::rms, std::ldexp(1.0f, random.whole(-40, 0))};
    Unaligned<float> x(size, random.whole(0, 3)), weight(size, random.whole(0, 3)), bias(size, random.whole(0, 3)), out(size, 1);
    const float scale = std::ldexp(1.0f, random.whole(-60, 60)), shift = random.one_in(3) ? 100 * scale * random.number() : 0;
    for (int i = 0; i < size; ++i) x[i] = shift + scale * random.number();
    fill(weight, random), fill(bias, random);
    normalize(norm, x.data(), size, weight.data(), has_bias ? bias.data() : nullptr, out.data());

    long double sum = 0, largest = 0, squares = 0;
    for (int i = 0; i < size; ++i) sum += x[i], largest = std::max(largest, std::fabs(static_cast<long double>(x[i])));
    const long double mean = is_layer ? sum / size : 0, mean_error = is_layer ? 0x1p-53L * size * largest : 0;
    for (int i = 0; i < size; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const long double factor = 1 / std::sqrt(squares / size + norm.epsilon);
    for (int i = 0; i < size; ++i) {
      const long double scaled = (x[i] - mean) * factor * weight[i], exact = scaled + (is_layer && has_bias ? bias[i] : 0);
      const long double tolerance =
          0x1p-24L * (4.1L * std::fabs(scaled) + std::fabs(exact)) + mean_error * factor * std::fabs(weight[i]) + 0x1p-149L;
      ASSERT_LE(std::fabs(out[i] - exact), tolerance) << "element " << i << " of " << size;
    }
    EXPECT_TRUE(out.guards_are_intact() && x.guards_are_intact());
  });
}

// An element's bits don't depend on how many others the call has, nor on its address.
TEST(RandomStages, Activations) {
  for_each_case(500, [](RandomCase& random) {
    const auto activation = random.any<Activation>(3);
    const int count = random.size(70, 900);
    Unaligned<float> together(count, random.whole(0, 3)), up(count, random.whole(0, 3)), gate(count, random.whole(0, 3));
    fill(together, random, std::ldexp(1.0f, random.whole(-20, 8))), fill(up, random);
    for (int i = 0; i < count; ++i) gate[i] = together[i];
    std::vector<float> x(together.data(), together.data() + count), products(up.data(), up.data() + count);
    activate(activation, together.data(), count);
    activate_gated(activation, gate.data(), up.data(), count);
    for (int i = 0; i < count; ++i) {
      const double value = x[i], squared = value * value;
      const double exact = activation == Activation::silu ? value / (1 + std::exp(-value))
                           : activation == Activation::gelu
                               ? value * std::erfc(-value * std::sqrt(0.5)) / 2
                               : value / (1 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * value * (1 + 0.044715 * squared)));
      ASSERT_NEAR(together[i], exact, 3e-7 * std::fabs(value) + 0x1p-149);
      float alone = x[i];
      activate(activation, &alone, 1);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(alone), std::bit_cast<std::uint32_t>(together[i])) << i << " of " << count;
      ASSERT_EQ(up[i], together[i] * products[i]);
    }
    EXPECT_TRUE(together.guards_are_intact() && up.guards_are_intact() && gate.guards_are_intact());
  });
}

// A draw is one of the tokens that the definitions keep. Tokens whose probability is within 1e-5 of a bound may be kept or not: exp_f32 and
// the division by the temperature round to f32.
TEST(RandomStages, Sampler) {
  for_each_case(1500, [](RandomCase& random) {
    const int vocabulary = random.size(60, 3000);
    SamplerOptions options;
    options.temperature = random.one_in(5) ? 0 : random.between(0.2, 3);
    if (random.one_in(2)) options.top_k = random.whole(1, vocabulary + 3);
    if (random.one_in(2)) options.top_p = random.between(0.05, 1);
    if (random.one_in(2)) options.min_p = random.between(0, 0.5);
    if (random.one_in(2)) options.penalties.repetition = random.between(0.5, 2);
    Unaligned<float> logits(vocabulary, random.whole(0, 3));
    fill(logits, random, 4);
    std::vector<int> seen(random.whole(0, 20));
    for (int& token : seen) token = random.whole(-1, vocabulary);

    std::vector<double> adjusted(logits.data(), logits.data() + vocabulary);
    for (const int token : std::set<int>(seen.begin(), seen.end())) {
      if (token < 0 || token >= vocabulary) continue;
      double& logit = adjusted[token];
      logit = static_cast<float>(logit > 0 ? logit / options.penalties.repetition : logit * options.penalties.repetition);
    }
    std::vector<int> order(vocabulary);
    for (int i = 0; i < vocabulary; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return adjusted[a] > adjusted[b]; });

    Sampler sampler;
    ASSERT_EQ(sampler.configure(options), Status::ok);
    sampler.seed(random.next_bits());
    const auto draw = [&] {
      int token = -1;
      EXPECT_EQ(sampler.sample(logits.data(), vocabulary, seen, nullptr, token), Status::ok);
      return token;
    };
    if (options.temperature == 0) {
      ASSERT_EQ(draw(), order[0]);
      return;
    }
    constexpr double kMargin = 1e-5;
    std::vector<double> shares;  // e^(logit - largest), in order
    double total = 0;
    const std::size_t kept = options.top_k > 0 ? std::min(options.top_k, vocabulary) : vocabulary;
    for (std::size_t i = 0; i < kept; ++i)
      total += shares.emplace_back(std::exp((adjusted[order[i]] - adjusted[order[0]]) / options.temperature));
    std::set<int> allowed;
    double before = 0;
    for (std::size_t i = 0; i < kept; before += shares[i++]) {
      const bool is_probable = i == 0 || before < (options.top_p + kMargin) * total,
                 is_near = shares[i] >= options.min_p * (1 - kMargin) - kMargin;
      if (is_probable && is_near) allowed.insert(order[i]);
    }
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(allowed.count(draw()) == 1);
  });
}

}  // namespace
}  // namespace ropewalk
