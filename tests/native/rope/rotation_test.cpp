// Properties of a rotation (RoFormer, arXiv:2104.09864, section 3), tested through Rope as users call it.
#include <gtest/gtest.h>

#include <cmath>

#include "native/rope/ropes.h"

namespace ropewalk {
namespace {

using oracle::Real;

const Pairing kPairings[] = {Pairing::half, Pairing::interleaved, Pairing::interleaved_to_half};

// One head at one position.
std::vector<float> rotated(const RopeConfig& config, std::vector<float> head, double position, Purpose purpose = {}) {
  ConfiguredRope rope(config);
  const HeadTensor tensor = tensor_of(head, Layout::thd, {1, 1, 1, static_cast<int>(head.size())});
  EXPECT_EQ(rope.rotate(tensor, {0, &position, 1, 1, 1}, 0, purpose), Status::ok);
  return head;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return std::sqrt(sum);
}

double norm(const std::vector<float>& a) { return std::sqrt(dot(a, a)); }

// A rotation has an error of at most 2^-22 of the norm (rotate_test.cpp), and its cos and sin of 2^-25 each.
constexpr double kOneRotation = 0x1p-22 + 0x1p-24;

TEST(Rotation, WorkedExample) {
  const std::vector<float> q = {1, 2, 3, 4};
  const std::vector<double> interleaved = {-2.234742, 0.077004, 2.919405, 4.059196}, half = {-3.144039, 1.919605, -0.339143, 4.039197};
  const std::vector<float> as_interleaved = rotated(with_pairing(plain_config(4), Pairing::interleaved), q, 2);
  const std::vector<float> as_half = rotated(with_pairing(plain_config(4), Pairing::half), q, 2);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(as_interleaved[i], interleaved[i], 1e-6);  // tolerance: half a unit of six digits, and half an ulp of f32 at 4, 2.4e-7
    EXPECT_NEAR(as_half[i], half[i], 1e-6);
  }
}

TEST(Rotation, AgreesWithTheOracleAtEveryPosition) {
  for (const Pairing pairing : kPairings) {
    const RopeConfig config = with_pairing(yarn_config(64, 1e6, 4, 32768), pairing);
    const oracle::Plan plan = oracle::plan(config, 1);
    const std::vector<float> head = random_floats(64, 1);
    const Pairing read = pairing == Pairing::half ? Pairing::half : Pairing::interleaved;
    const Pairing write = pairing == Pairing::interleaved ? Pairing::interleaved : Pairing::half;
    for (const double position : {0.0, 1.0, 1000.0, 131071.0, 1e6, 16777215.0, -3.0, 2.5}) {
      std::vector<Real> angles;
      for (const Real w : plan.inv_freq) angles.push_back(position * w);
      const std::vector<Real> expected = oracle::rotate_by({head.begin(), head.end()}, angles, plan.attention_factor, read, write);
      const std::vector<float> result = rotated(config, head, position);
      for (int i = 0; i < 64; ++i) EXPECT_NEAR(result[i], static_cast<double>(expected[i]), kOneRotation * 4) << position;  // |pair| < 3
    }
  }
}

TEST(Rotation, KeepsNorms) {
  for (const Pairing pairing : kPairings) {
    const RopeConfig config = with_pairing(plain_config(128, 1e6), pairing);
    const std::vector<float> head = random_floats(128, 2);
    for (const double position : {1.0, 77.0, 131072.0, -5.5})
      EXPECT_NEAR(norm(rotated(config, head, position)) / norm(head), 1, kOneRotation);
  }
}

TEST(Rotation, PositionsAdd) {
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    const RopeConfig config = with_pairing(plain_config(128, 1e6), pairing);
    const std::vector<float> head = random_floats(128, 3);
    for (const auto& [m, n] : {std::pair{5.0, 7.0}, std::pair{100000.0, 31072.0}, std::pair{1000.0, -1000.0}, std::pair{0.25, 0.5}}) {
      EXPECT_LT(distance(rotated(config, rotated(config, head, m), n), rotated(config, head, m + n)), 3 * kOneRotation * norm(head));
    }
  }
}

TEST(Rotation, InverseRestoresTheHead) {
  for (const Pairing pairing : kPairings) {
    for (const RopeConfig& base : {plain_config(64), yarn_config(64, 1e6, 4, 32768), xpos_config(64, 64)}) {
      const RopeConfig config = with_pairing(base, pairing);
      const std::vector<float> head = random_floats(64, 4);
      for (const double position : {0.0, 3.0, 100.0, 999.0}) {
        for (const Role role : {Role::query, Role::key}) {
          const std::vector<float> there = rotated(config, head, position, {role, false});
          const std::vector<float> back = rotated(config, there, position, {role, true});
          // the scales cancel, and so do their errors
          EXPECT_LT(distance(back, head), 2 * kOneRotation * norm(head)) << position;
        }
      }
    }
  }
}

TEST(Rotation, TransposeIsTheNegativePosition) {
  const RopeConfig config = plain_config(96, 5e5);
  const std::vector<float> head = random_floats(96, 5);
  EXPECT_EQ(rotated(config, head, 321, {Role::query, true}), rotated(config, head, -321));
}

// <R_m q, R_n k> = Re Σ (q_j conj k_j) e^(i (m-n) w_j).
TEST(Rotation, ScoresDependOnTheDistance) {
  const std::vector<float> q = random_floats(128, 6), k = random_floats(128, 7);
  for (const Pairing pairing : kPairings) {
    const RopeConfig config = with_pairing(yarn_config(128, 1e6, 4, 32768), pairing);
    const oracle::Plan plan = oracle::plan(config, 1);
    const Pairing read = pairing == Pairing::half ? Pairing::half : Pairing::interleaved;
    for (const double d : {0.0, 1.0, 100.0, 5000.0}) {
      Real expected = 0;
      for (int j = 0; j < 64; ++j) {
        const Real qx = q[oracle::index_of_x(read, j, 64)], qy = q[oracle::index_of_y(read, j, 64)];
        const Real kx = k[oracle::index_of_x(read, j, 64)], ky = k[oracle::index_of_y(read, j, 64)];
        expected += (qx * kx + qy * ky) * std::cos(d * plan.inv_freq[j]) - (qy * kx - qx * ky) * std::sin(d * plan.inv_freq[j]);
      }
      expected *= plan.attention_factor * plan.attention_factor;
      for (const double n : {0.0, 17.0, 131072.0, 1e6}) {
        const double score = dot(rotated(config, q, n + d), rotated(config, k, n));
        EXPECT_NEAR(score, static_cast<double>(expected), 4 * kOneRotation * norm(q) * norm(k)) << d << ", " << n;
      }
    }
  }
}

TEST(Rotation, XposScoresFallWithTheDistance) {
  const std::vector<float> q = random_floats(64, 8), k = random_floats(64, 9);
  const RopeConfig config = xpos_config(64, 512, 1000);
  const auto inv_freq = oracle::plain(10000, 64, 32);
  for (const double d : {0.0, 1.0, 100.0, 900.0}) {
    Real expected = 0;
    for (int j = 0; j < 32; ++j) {
      const Real same = Real{q[j]} * k[j] + Real{q[j + 32]} * k[j + 32], cross = Real{q[j + 32]} * k[j] - Real{q[j]} * k[j + 32];
      expected +=
          (same * std::cos(d * inv_freq[j]) - cross * std::sin(d * inv_freq[j])) * std::pow(oracle::xpos_zeta(j, 64), Real{d} / 512);
    }
    for (const double n : {0.0, 500.0, 1000.0}) {
      const double score = dot(rotated(config, q, n + d, {Role::query, false}), rotated(config, k, n, {Role::key, false}));
      // zeta_0^(-1000/512) is 12, so both sides may be that much larger before they cancel
      EXPECT_NEAR(score, static_cast<double>(expected), 4 * kOneRotation * norm(q) * norm(k) * 12) << d << ", " << n;
    }
  }
}

// DeepSeek-V3: the numbers of an interleaved rotation, written in pairing half.
TEST(Rotation, InterleavedToHalfIsInterleavedPermuted) {
  for (const int dim : {2, 6, 16, 18, 64, 128}) {
    const std::vector<float> head = random_floats(dim, 10);
    const std::vector<float> interleaved = rotated(with_pairing(plain_config(dim), Pairing::interleaved), head, 12345);
    const std::vector<float> permuted = rotated(with_pairing(plain_config(dim), Pairing::interleaved_to_half), head, 12345);
    for (int j = 0; j < dim / 2; ++j) {
      EXPECT_EQ(permuted[j], interleaved[2 * j]);
      EXPECT_EQ(permuted[j + dim / 2], interleaved[2 * j + 1]);
    }
  }
}

TEST(Rotation, ChangesNothingAtPositionZero) {
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    const std::vector<float> head = random_floats(64, 11);
    EXPECT_EQ(rotated(with_pairing(plain_config(64), pairing), head, 0), head);
  }
}

}  // namespace
}  // namespace ropewalk
