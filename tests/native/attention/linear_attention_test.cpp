// Linear attention compared with the double sum of RoFormer (arXiv:2104.09864), equation 19, in long double.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "native/attention/linear_sequence.h"

namespace ropewalk {
namespace linear_attention_test {

using nlohmann::json;
using oracle::Real;

// Outputs are averages of values on [-2, 2). f32 adds errors of 6e-8 in each of the sums over head_dim products, most of which cancel: at
// most 8.4e-7 below.
constexpr Real kTolerance = 2e-6L;

std::vector<Real> phi(std::vector<Real> head) {
  for (Real& x : head) x = x > 0 ? x + 1 : std::exp(x);
  return head;
}

// Rotates the rotated span of a head by `config`.
std::vector<Real> rotated(const RopeConfig& config, std::vector<Real> head, const Positions& positions, int token, Role role) {
  const oracle::Plan plan = oracle::plan(config, 1);
  const std::vector<int> axes = oracle::axes(config);
  const int pairs = resolved_rotary_dim(config) / 2;
  const auto begin = head.begin() + config.rotary_offset;
  std::vector<Real> span(begin, begin + 2 * pairs), scaled = span;
  const Pairing read = config.pairing == Pairing::half ? Pairing::half : Pairing::interleaved;
  const Pairing write = config.pairing == Pairing::interleaved ? Pairing::interleaved : Pairing::half;
  std::vector<Real> angles;
  for (int j = 0; j < pairs; ++j) {
    const Real position = positions.at(axes.empty() ? 0 : axes[j], 0, token);
    angles.push_back(position * plan.inv_freq[j]);
    if (!config.xpos_scale_base.has_value()) continue;
    const Real power = (position - config.xpos_center) / *config.xpos_scale_base * (role == Role::query ? 1 : -1);
    const Real scale = std::pow(oracle::xpos_zeta(j, 2 * pairs), power);
    span[oracle::index_of_x(read, j, pairs)] *= scale;
    span[oracle::index_of_y(read, j, pairs)] *= scale;
  }
  const std::vector<Real> result = oracle::rotate_by(span, angles, plan.attention_factor, read, write);
  std::copy(result.begin(), result.end(), begin);
  return head;
}

Real dot(const std::vector<Real>& a, const std::vector<Real>& b) { return std::inner_product(a.begin(), a.end(), b.begin(), Real{0}); }

// Equation 19 directly: T² terms.
void expect_answers(const Sequence& sequence, const RopeConfig* config, const Positions& positions, bool causal) {
  const Shapes& shapes = sequence.shapes;
  for (int head = 0; head < shapes.heads; ++head) {
    const int kv_head = head / (shapes.heads / shapes.kv_heads);
    std::vector<std::vector<Real>> keys, rotated_keys, values;
    for (int token = 0; token < shapes.tokens; ++token) {
      keys.push_back(phi(sequence.head_of(sequence.keys, shapes.kv_heads, token, kv_head)));
      rotated_keys.push_back(config == nullptr ? keys.back() : rotated(*config, keys.back(), positions, token, Role::key));
      values.push_back(sequence.head_of(sequence.values, shapes.kv_heads, token, kv_head));
    }
    for (int token = 0; token < shapes.tokens; ++token) {
      const std::vector<Real> query = phi(sequence.head_of(sequence.queries, shapes.heads, token, head));
      const std::vector<Real> rotated_query = config == nullptr ? query : rotated(*config, query, positions, token, Role::query);
      std::vector<Real> sum(shapes.dim);
      Real divisor = 0;
      for (int n = 0; n < (causal ? token + 1 : shapes.tokens); ++n) {
        const Real weight = dot(rotated_query, rotated_keys[n]);
        divisor += dot(query, keys[n]);
        for (int i = 0; i < shapes.dim; ++i) sum[i] += weight * values[n][i];
      }
      const std::vector<Real> out = sequence.head_of(sequence.out, shapes.heads, token, head);
      for (int i = 0; i < shapes.dim; ++i) {
        const Real expected = sum[i] / divisor;
        ASSERT_NEAR(out[i], expected, kTolerance * std::fmax(1, std::fabs(expected))) << "head " << head << " token " << token << " " << i;
      }
    }
  }
}

// Compares both forms with the sums. `in_place`: outputs overwrite queries.
void check(const Shapes& shapes, const RopeConfig* config, const Positions& positions, bool in_place = false) {
  SCOPED_TRACE(testing::Message() << shapes.heads << "/" << shapes.kv_heads << " heads of " << shapes.dim << ", " << shapes.tokens
                                  << " tokens, layout " << static_cast<int>(shapes.layout) << ", in place: " << in_place);
  ConfiguredRope rope(config == nullptr ? plain_config(2) : *config);
  for (const bool causal : {true, false}) {
    ConfiguredAttention attention(shapes);
    Sequence sequence(shapes);
    const Sequence given = sequence;
    LinearTokens tokens = sequence.tokens();
    if (in_place) tokens.out = sequence.queries.data();
    Rope* rotating = config == nullptr ? nullptr : &rope;
    if (causal) {
      ASSERT_EQ(attention.append(rotating, positions, tokens), Status::ok);
    } else {
      ASSERT_EQ(attention.absorb(rotating, positions, tokens), Status::ok);
      ASSERT_EQ(attention.query(rotating, positions, tokens), Status::ok);
    }
    EXPECT_EQ(attention.tokens(), shapes.tokens);
    if (in_place) std::swap(sequence.queries, sequence.out);
    if (in_place) sequence.queries = given.queries;
    EXPECT_TRUE(sequence.queries == given.queries && sequence.keys == given.keys && sequence.values == given.values);
    ASSERT_NO_FATAL_FAILURE(expect_answers(sequence, config, positions, causal));
  }
}

TEST(LinearAttention, WithoutRope) {
  for (const int dim : {1, 2, 3, 4, 5, 7, 8, 15, 20, 64, 128}) {
    for (const auto& [heads, kv_heads] : {std::pair{1, 1}, std::pair{4, 1}, std::pair{6, 2}, std::pair{5, 1}}) {
      for (const Layout layout : kLayouts) {
        ASSERT_NO_FATAL_FAILURE(check({heads, kv_heads, dim, 35, layout}, nullptr, {}));
      }
    }
  }
}

TEST(LinearAttention, WithRope) {
  for (const int dim : {2, 7, 20, 64, 128}) {
    for (const Pairing pairing : {Pairing::half, Pairing::interleaved, Pairing::interleaved_to_half}) {
      RopeConfig whole = with_pairing(plain_config(dim), pairing), partial = whole;
      whole.rotary_dim = dim / 2 * 2;
      partial.rotary_dim = dim / 4 * 2;
      partial.rotary_offset = dim - partial.rotary_dim;
      for (const RopeConfig& config : {whole, partial}) {
        if (dim == 2 && config.rotary_dim == 0) continue;
        for (const Layout layout : kLayouts) {
          ASSERT_NO_FATAL_FAILURE(check({6, 2, dim, 35, layout}, &config, from(100, 35), layout == Layout::bhtd));
          ASSERT_NO_FATAL_FAILURE(check({1, 1, dim, 35, layout}, &config, from(0, 35), layout == Layout::thd));
        }
      }
    }
  }
}

TEST(LinearAttention, BlocksOfEverySize) {
  const RopeConfig config = plain_config(20);
  for (const int tokens : {1, 2, 31, 32, 33, 64, 65, 100}) {
    for (const Layout layout : kLayouts) {
      ASSERT_NO_FATAL_FAILURE(check({4, 2, 20, tokens, layout}, &config, from(7, tokens)));
      ASSERT_NO_FATAL_FAILURE(check({4, 2, 20, tokens, layout}, nullptr, {}, true));
    }
  }
}

TEST(LinearAttention, EveryRopeWithFixedFrequencies) {
  int refused = 0;
  for (const NamedConfig& named : every_type(16)) {
    SCOPED_TRACE(named.name);
    const FrequencyPlan plan = plan_of(named.config, named.length);
    if (plan.valid_from > 1 || std::isfinite(plan.valid_to)) {
      refused += 1;
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(check({2, 1, 16, 40}, &named.config, from(3000, 40)));
  }
  EXPECT_EQ(refused, 6);  // three of dynamic, two of longrope, dynamic YaRN
  for (const double center : {0.0, 300.0}) {
    const RopeConfig xpos = xpos_config(16, 64, center);
    ASSERT_NO_FATAL_FAILURE(check({2, 1, 16, 40}, &xpos, from(290, 40)));
  }
}

// Repeated, descending and fractional ids, on one axis and on three: each block uses its own.
TEST(LinearAttention, PositionsOfEveryKind) {
  const std::vector<double> sections = {2, 3, 3};
  std::vector<double> ids, planes;
  for (int token = 0; token < 70; ++token) ids.push_back(token * 3 % 17 + token / 8.0);
  for (int axis = 0; axis < 3; ++axis) {
    for (int token = 0; token < 70; ++token) planes.push_back(axis == 0 ? token : token * (axis + 1) % 13);
  }
  const RopeConfig plain = plain_config(16), mrope = mrope_config(16, 1e4, sections, MropeLayout::chunked);
  ASSERT_NO_FATAL_FAILURE(check({2, 2, 16, 70}, &plain, positions_of(ids, 70)));
  ASSERT_NO_FATAL_FAILURE(check({2, 2, 16, 70}, &mrope, positions_of(planes, 70, 1, 3)));
  ASSERT_NO_FATAL_FAILURE(check({2, 2, 16, 70}, &mrope, positions_of(ids, 70)));
}

TEST(LinearAttention, AgreesWithPyTorch) {
  std::ifstream file(std::string(ROPEWALK_GOLDEN) + "/linear_attention.json");
  ASSERT_TRUE(file.good());
  for (const json& entry : json::parse(file)) {
    SCOPED_TRACE(entry.at("name").get<std::string>());
    const std::vector<int> q = entry.at("q_shape"), kv = entry.at("kv_shape");
    const Shapes shapes = {q[1], kv[1], q[3], q[2], Layout::bhtd};
    Sequence sequence(shapes);
    sequence.queries = entry.at("q").get<std::vector<float>>();
    sequence.keys = entry.at("k").get<std::vector<float>>();
    sequence.values = entry.at("v").get<std::vector<float>>();
    ASSERT_EQ(entry.at("rope").at("pairing"), "half");
    RopeConfig config = plain_config(shapes.dim, entry.at("rope").at("rope_theta"));
    config.rotary_dim = entry.at("rope").at("rotary_dim");
    ConfiguredRope rope(config);
    EXPECT_EQ(entry.at("outs").size(), 4u);
    for (const json& expected : entry.at("outs")) {
      ConfiguredAttention attention(shapes);
      Rope* rotating = expected.at("rope") ? &rope : nullptr;
      const Positions positions = from(0, shapes.tokens);
      if (expected.at("causal")) {
        ASSERT_EQ(attention.append(rotating, positions, sequence.tokens()), Status::ok);
      } else {
        ASSERT_EQ(attention.absorb(rotating, positions, sequence.tokens()), Status::ok);
        ASSERT_EQ(attention.query(rotating, positions, sequence.tokens()), Status::ok);
      }
      const std::vector<double> out = expected.at("out");
      ASSERT_EQ(out.size(), sequence.out.size());
      for (std::size_t i = 0; i < out.size(); ++i)
        EXPECT_NEAR(sequence.out[i], out[i], 1e-6) << expected.at("causal") << expected.at("rope");
    }
  }
}

}  // namespace linear_attention_test
}  // namespace ropewalk
