// Passes over logits, at every place of a vector of four and around the ends of chunks, compared with plain loops.
#include "sampling/logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "native/rope/ropes.h"
#include "sampling/candidates.h"
#include "sampling/softmax.h"

namespace ropewalk {
namespace {

const std::vector<int> kSizes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1000, kLogitChunk - 1, kLogitChunk, kLogitChunk + 1, 3 * kLogitChunk + 2};

// Places near both ends and between chunks.
std::vector<int> places(int size) {
  std::vector<int> all;
  for (const int place : {0, 1, 2, 3, 4, 5, 6, 7, kLogitChunk - 1, kLogitChunk, size - 4, size - 3, size - 2, size - 1}) {
    if (place >= 0 && place < size) all.push_back(place);
  }
  return all;
}

TEST(Logits, CopiesOnlyFiniteOnes) {
  for (const int size : kSizes) {
    std::vector<float> logits = random_floats(size, size), copy(size + 1, 7);
    logits[size / 2] = std::numeric_limits<float>::max();
    logits[size - 1] = -std::numeric_limits<float>::max();
    EXPECT_TRUE(copy_finite_logits(logits.data(), size, copy.data()));
    EXPECT_EQ(copy.back(), 7) << "written beyond the end";
    copy.pop_back();
    EXPECT_EQ(copy, logits);
    for (const int place : places(size)) {
      for (const float bad : {INFINITY, -INFINITY, NAN, -NAN}) {
        std::vector<float> damaged = logits;
        damaged[place] = bad;
        EXPECT_FALSE(copy_finite_logits(damaged.data(), size, copy.data())) << bad << " at " << place << " of " << size;
      }
    }
  }
}

TEST(Logits, FindsTheFirstOfTheLargest) {
  for (const int size : kSizes) {
    for (const int place : places(size)) {
      std::vector<float> logits(size, -2);
      logits[place] = logits[size - 1] = -1;
      EXPECT_EQ(largest_logit(logits.data(), size), -1) << place << " of " << size;
      EXPECT_EQ(largest_token(logits.data(), size), place) << "of " << size;
    }
  }
}

TEST(Logits, AreReachedByAsManyAsWanted) {
  for (const int size : {1, 2, 5, 1000, 1024, 1025, 1031, 2048, 5000, 32003}) {
    for (const bool has_ties : {false, true}) {
      std::vector<float> logits = random_floats(size, size);
      for (float& logit : logits) logit = has_ties ? std::round(8 * logit) : logit;
      for (int i = 0; i < size; i += 3) logits[i] = i % 2 == 0 ? -INFINITY : logits[i];
      std::vector<float> sorted = logits;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      for (const int count : {1, 2, 3, 40, 500, 1000, 1024, 1025, size, size + 1}) {
        const float found = logit_of_many(logits.data(), size, count);
        if (count > size) {
          EXPECT_EQ(found, -INFINITY) << count << " of " << size;
        } else {
          EXPECT_LE(found, sorted[count - 1]) << "fewer than " << count << " of " << size << " have it";
          if (size <= 1024) {
            EXPECT_EQ(found, sorted[count - 1]) << count << " of " << size;
          }
        }
      }
      // tokens in random order: 40 of 32,003 are found among a few
      if (size > 10000 && !has_ties) {
        const float found = logit_of_many(logits.data(), size, 40);
        EXPECT_LE(std::count_if(logits.begin(), logits.end(), [&](float logit) { return logit >= found; }), 80);
      }
    }
  }
}

// Weights are compared with e^x of the scaled logits, which are exact to the last bit. exp_f32() is within 1.5 ulp, a relative error below
// 2^-22.
TEST(Logits, SumsTheirWeights) {
  for (const int size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 1000, kLogitChunk}) {
    std::vector<float> logits = random_floats(size, size + 1);
    if (size > 2) logits[size - 2] = -INFINITY;
    const float largest = largest_logit(logits.data(), size);
    for (const double temperature : {0.3, 1.0}) {
      std::vector<float> scaled = logits, weights(size + 1, 7);
      const double sum = weigh_logits(scaled.data(), size, largest, temperature, weights.data());
      EXPECT_EQ(weights.back(), 7) << "written beyond the end";
      double expected = 0;
      for (int i = 0; i < size; ++i) {
        ASSERT_EQ(scaled[i], static_cast<float>((logits[i] - static_cast<double>(largest)) / temperature)) << i << " of " << size;
        const double weight = std::exp(static_cast<double>(scaled[i]));
        ASSERT_NEAR(weights[i], weight, weight * 0x1p-22) << i << " of " << size;
        expected += weight;
      }
      EXPECT_NEAR(sum, expected, expected * 0x1p-22);
      if (temperature == 1) {
        EXPECT_EQ(sum_of_weights(logits.data(), size, largest), sum);
      }
    }
  }
}

TEST(Logits, BecomeCandidatesFromTheirLimitsUp) {
  for (const int size : {1, 2, 3, 4, 5, 6, 7, 1001}) {
    std::vector<float> logits = random_floats(size, size + 2), weights(size);
    for (float& logit : logits) logit -= 4;
    if (size > 2) logits[1] = -INFINITY;
    for (int i = 0; i < size; ++i) weights[i] = std::exp(logits[i]);
    const float lowest = -std::numeric_limits<float>::max();
    const float middle = logits[size / 2];
    for (const float least_logit : {-INFINITY, lowest, middle}) {
      // a weight itself, and values next to it that only f64 has
      for (const double least_weight : {0.0, double{weights[0]}, weights[0] * (1 + 1e-12), weights[0] * (1 - 1e-12)}) {
        double total = 0;
        std::vector<int> tokens;
        for (int i = 0; i < size; ++i) {
          if (logits[i] == -INFINITY || logits[i] < least_logit) continue;
          total += weights[i];
          if (weights[i] >= least_weight) tokens.push_back(i);
        }
        Candidates candidates;
        ASSERT_TRUE(candidates.resize(size));
        candidates.fill(logits, weights.data(), least_logit, least_weight);
        std::vector<int> found;
        for (const Candidate& candidate : candidates.all()) {
          found.push_back(candidate.token);
          EXPECT_EQ(candidate.logit, logits[candidate.token]);
        }
        EXPECT_EQ(found, tokens) << size << " logits from " << least_logit << " and " << least_weight;
        const double probability = candidates.probability({0, 0});  // of a weight of 1
        EXPECT_NEAR(total == 0 ? 1 : probability * total, 1, 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace ropewalk
