// Sinusoidal rows, ALiBi slopes and T5 buckets, compared with the papers' formulas in long double and with transformers.
#include "attention/position_scheme.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/sin_cos.h"
#include "native/oracle.h"
#include "native/rope/configs.h"

namespace ropewalk {
namespace {

using nlohmann::json;
using oracle::Real;

// The golden cases of a kind (tests/golden/README.md).
std::vector<json> golden(const std::string& kind) {
  std::ifstream file(std::string(ROPEWALK_GOLDEN) + "/position_schemes.json");
  EXPECT_TRUE(file.good());
  std::vector<json> cases;
  for (const json& entry : json::parse(file)) {
    if (entry.at("kind") == kind) cases.push_back(entry);
  }
  EXPECT_FALSE(cases.empty()) << kind;
  return cases;
}

std::vector<float> sinusoidal(double position, double base, int dim) {
  std::vector<float> row(dim);
  EXPECT_EQ(sinusoidal_row(position, base, dim, row.data()), Status::ok);
  return row;
}

// Vaswani et al., section 3.5.
Real sinusoidal_value(Real position, Real base, int dim, int i) {
  const Real angle = position / std::pow(base, static_cast<Real>(i / 2 * 2) / dim);
  return i % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

TEST(Sinusoidal, IsWithinItsBound) {
  for (const double position : {0.0, 1.0, 2.5, -1.0, -7.25, 511.0, 4095.0, 131071.0, 0x1p24, 0x1p25, -0x1p25, 0x1p31, kAngleLimit}) {
    const Real bound = 0x1p-24L + (std::fabs(position) > 0x1p25 ? 0x1p-50L * std::fabs(position) : 0);
    for (const double base : {10000.0, 1.5, 500000.0, 1e30}) {
      for (const int dim : {1, 2, 3, 4, 5, 6, 7, 8, 64, 101}) {
        const std::vector<float> row = sinusoidal(position, base, dim);
        for (int i = 0; i < dim; ++i)
          EXPECT_NEAR(row[i], sinusoidal_value(position, base, dim, i), bound) << position << " " << base << " " << dim << " " << i;
      }
    }
  }
}

TEST(Sinusoidal, WritesNoMoreThanTheRow) {
  for (int dim = 1; dim < 10; ++dim) {
    std::vector<float> row(dim + 4, -7.0f);
    EXPECT_EQ(sinusoidal_row(3, 10000, dim, row.data()), Status::ok);
    for (int i = dim; i < dim + 4; ++i) EXPECT_EQ(row[i], -7.0f) << dim;
  }
}

// The checksum of the first run, with GCC 12 on x86-64; every compiler must give the same.
TEST(Sinusoidal, HasTheSameBitsFromEveryCompiler) {
  Checksum checksum;
  for (int position = -1000; position < 1000; ++position) {
    const std::vector<float> row = sinusoidal(position + (position % 3) / 4.0, 10000, 67);
    checksum.add(row.data(), row.size() * sizeof(float));
  }
  EXPECT_EQ(checksum.value(), 0x12B2BDC3u);
}

TEST(Sinusoidal, RefusesPositionsWithoutExactAngles) {
  float row[2] = {-7, -7};
  for (const double base : {1.0, 0.5, 0.0, -10000.0, 1.1e30, static_cast<double>(NAN), static_cast<double>(INFINITY)})
    EXPECT_EQ(sinusoidal_row(1, base, 2, row), Status::sinusoidal_base_out_of_range) << base;
  for (const double position : {1.001 * kAngleLimit, -1.001 * kAngleLimit, static_cast<double>(NAN), static_cast<double>(INFINITY)})
    EXPECT_EQ(sinusoidal_row(position, 10000, 2, row), Status::position_out_of_range) << position;
  EXPECT_EQ(row[0], -7);
  EXPECT_EQ(row[1], -7);
}

// XLM computes in f64 and rounds once, so both are within 2^-25 of the exact value, and ours 2^-52 more.
TEST(Sinusoidal, AgreesWithTransformers) {
  for (const json& entry : golden("sinusoidal")) {
    const std::vector<float> table = entry.at("table");
    const int rows = entry.at("table_shape")[0], dim = entry.at("table_shape")[1];
    for (int position = 0; position < rows; ++position) {
      const std::vector<float> row = sinusoidal(position, 10000, dim);
      for (int i = 0; i < dim; ++i) EXPECT_NEAR(row[i], table[position * dim + i], 0x1.01p-24) << position << " " << i;
    }
  }
}

std::vector<float> slopes_of(int heads) {
  std::vector<float> slopes(heads + 1, -7.0f);
  alibi_slopes(heads, slopes.data());
  EXPECT_EQ(slopes.back(), -7.0f);
  slopes.pop_back();
  return slopes;
}

// Press et al., section 3, and the authors' get_slopes for other numbers of heads: the slopes of the next smaller power of two, then the
// 1st, 3rd, 5th … of twice that power.
std::vector<Real> alibi_formula(int heads) {
  int power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<Real> slopes;
  for (int i = 1; i <= power; ++i) slopes.push_back(std::exp2(-8 * static_cast<Real>(i) / power));
  for (int i = 1; static_cast<int>(slopes.size()) < heads; i += 2) slopes.push_back(std::exp2(-8 * static_cast<Real>(i) / (2 * power)));
  return slopes;
}

TEST(Alibi, SlopesAreExactToTheLastBit) {
  for (const int heads : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 20, 31, 32, 40, 63, 64, 71, 96, 112, 127, 128, 1000}) {
    const std::vector<float> slopes = slopes_of(heads);
    const std::vector<Real> exact = alibi_formula(heads);
    for (int head = 0; head < heads; ++head) EXPECT_EQ(slopes[head], static_cast<float>(exact[head])) << heads << " " << head;
  }
  EXPECT_EQ(slopes_of(8), (std::vector<float>{0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f, 0.015625f, 0.0078125f, 0.00390625f}));
}

// BLOOM raises an f32 base to a power: off by 3e-7 (tests/golden/README.md), and exact if the base is a power of two.
TEST(Alibi, AgreesWithTransformers) {
  for (const json& entry : golden("alibi_slopes")) {
    const int heads = entry.at("heads"), keys = entry.at("bias_shape")[2];
    const std::vector<float> slopes = slopes_of(heads), theirs = entry.at("slopes"), bias = entry.at("bias");
    for (int head = 0; head < heads; ++head) {
      EXPECT_NEAR(slopes[head], theirs[head], heads <= 8 ? 0 : 3e-7 * slopes[head]) << heads << " " << head;
      for (int key = 0; key < keys; ++key) {
        const float expected = bias[head * keys + key];
        EXPECT_NEAR(-slopes[head] * (keys - 1 - key), expected, 2e-7 * std::fabs(expected)) << heads << " " << head << " " << key;
      }
    }
  }
}

// T5Attention._relative_position_bucket line by line, also with f32 logarithms.
int t5_transcribed(const T5Buckets& rule, int relative) {
  int buckets = rule.buckets, bucket = 0;
  if (rule.bidirectional) {
    buckets /= 2;
    bucket += relative > 0 ? buckets : 0;
    relative = std::abs(relative);
  } else {
    relative = -std::min(relative, 0);
  }
  const int max_exact = buckets / 2;
  if (relative < max_exact) return bucket + relative;
  const float range = static_cast<float>(std::log(static_cast<double>(rule.max_distance) / max_exact));
  const float part = std::log(static_cast<float>(relative) / static_cast<float>(max_exact)) / range;
  const int large = max_exact + static_cast<int>(part * static_cast<float>(buckets - max_exact));
  return bucket + std::min(large, buckets - 1);
}

TEST(T5, BucketsAgreeWithTransformersCode) {
  for (const bool bidirectional : {false, true}) {
    for (const int buckets : {2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 32, 64, 100, 256}) {
      for (const int max_distance : {2, 3, 8, 16, 20, 50, 100, 128, 129, 256, 1000, 2048}) {
        const T5Buckets rule = {buckets, max_distance, bidirectional};
        if (check_t5(rule) != Status::ok) continue;
        for (int relative = -3000; relative <= 3000; ++relative) {
          const int bucket = t5_bucket(rule, relative);
          ASSERT_EQ(bucket, t5_transcribed(rule, relative)) << buckets << " " << max_distance << " " << bidirectional << " " << relative;
          ASSERT_TRUE(bucket >= 0 && bucket < buckets);
        }
      }
    }
  }
}

TEST(T5, AgreesWithTransformers) {
  for (const json& entry : golden("t5_buckets")) {
    const T5Buckets rule = {entry.at("num_buckets"), entry.at("max_distance"), entry.at("bidirectional")};
    ASSERT_EQ(check_t5(rule), Status::ok);
    const std::vector<int> relative = entry.at("relative_positions"), buckets = entry.at("buckets");
    for (std::size_t i = 0; i < relative.size(); ++i)
      EXPECT_EQ(t5_bucket(rule, relative[i]), buckets[i]) << entry.at("name") << relative[i];
  }
}

TEST(T5, FractionsAreTruncated) {
  for (const bool bidirectional : {false, true}) {
    const T5Buckets rule = {32, 128, bidirectional};
    for (int relative = 0; relative < 200; ++relative) {
      for (const double part : {0.0, 0.25, 0.999}) {
        EXPECT_EQ(t5_bucket(rule, relative + part), t5_bucket(rule, relative));
        EXPECT_EQ(t5_bucket(rule, -relative - part), t5_bucket(rule, -relative));
      }
    }
  }
}

TEST(T5, FarthestPositionsAreInTheLastBuckets) {
  EXPECT_EQ(t5_bucket({32, 128, false}, -0x1p32), 31);
  EXPECT_EQ(t5_bucket({32, 128, false}, 0x1p32), 0);
  EXPECT_EQ(t5_bucket({32, 128, true}, -0x1p32), 15);
  EXPECT_EQ(t5_bucket({32, 128, true}, 0x1p32), 31);
}

TEST(T5, ImpossibleRulesAreRefused) {
  EXPECT_EQ(check_t5({32, 128, true}), Status::ok);
  EXPECT_EQ(check_t5({2, 2, false}), Status::ok);
  EXPECT_EQ(check_t5({4, 2, true}), Status::ok);
  for (const T5Buckets& rule : {T5Buckets{1, 128, false}, T5Buckets{0, 128, false}, T5Buckets{-4, 128, true}, T5Buckets{3, 128, true},
                                T5Buckets{32, 16, false}, T5Buckets{32, 8, true}, T5Buckets{32, -1, true}}) {
    EXPECT_EQ(check_t5(rule), Status::position_bias_out_of_range) << rule.buckets << " " << rule.max_distance;
  }
}

}  // namespace
}  // namespace ropewalk
