// How large tensors are walked: the choice by a clock, and that every walk gives the same bits.
#include "rope/walk.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "native/rope/guarded_tensor.h"
#include "native/rope/walk_clock.h"
#include "rope/rotate.h"

namespace ropewalk {
namespace {

constexpr int kWalks = 4;

double now = 0;
double read_clock() { return now; }

// Runs `pieces` pieces, each of which must be covered once and in order. `duration(walk)` is how long one of its elements takes. Returns
// the number of elements that went each way.
std::vector<int> run_pieces(WalkChoice& choice, int pieces, int count, const std::function<double(Walk)>& duration) {
  std::vector<int> elements(kWalks);
  for (int piece = 0; piece < pieces; ++piece) {
    int covered = 0;
    choice.run(count, true, [&](int first, int last, Walk walk) {
      EXPECT_EQ(first, covered);
      EXPECT_LT(first, last);
      covered = last;
      elements[static_cast<int>(walk)] += last - first;
      now += duration(walk) * (last - first);
    });
    EXPECT_EQ(covered, count);
  }
  return elements;
}

constexpr int kReadAhead = static_cast<int>(Walk::read_ahead), kInOrder = static_cast<int>(Walk::in_order);

TEST(WalkChoice, ReadsAheadWithoutAClock) {
  WalkChoice choice;
  EXPECT_EQ(run_pieces(choice, 100, 7, [](Walk) { return 1.0; }), (std::vector<int>{0, 700, 0, 0}));
}

TEST(WalkChoice, TakesTheFasterWalk) {
  const ClockGuard guard(read_clock);
  for (const int faster : {kReadAhead, kInOrder}) {
    for (const int count : {2, 7, 32}) {
      WalkChoice choice;
      const auto duration = [&](Walk walk) { return static_cast<int>(walk) == faster ? 1.0 : 1.5; };
      run_pieces(choice, 32, count, duration);  // eight trials of four pieces
      EXPECT_EQ(run_pieces(choice, 10, count, duration)[faster], 10 * count);
    }
  }
}

TEST(WalkChoice, TakesTheFastestOfThree) {
  const ClockGuard guard(read_clock);
  const Walk walks[] = {Walk::read_ahead, Walk::in_order, Walk::in_steps};
  for (const Walk fastest : walks) {
    for (const Walk slowest : walks) {
      if (slowest == fastest) continue;
      WalkChoice choice(walks[0], walks[1], walks[2]);
      const auto duration = [&](Walk walk) { return walk == fastest ? 1.0 : walk == slowest ? 2.0 : 1.5; };
      run_pieces(choice, 4 * 32, 8, duration);
      EXPECT_EQ(run_pieces(choice, 10, 8, duration)[static_cast<int>(fastest)], 80);
      run_pieces(choice, 40 * 64, 8, [&](Walk walk) { return walk == slowest ? 1.0 : 2.0; });
      EXPECT_EQ(run_pieces(choice, 10, 8, [](Walk) { return 1.0; })[static_cast<int>(slowest)], 80);
    }
  }
}

// A trial of four pieces in each of two pairs of walks: half of one goes the other way.
TEST(WalkChoice, TrialsOfThreeTakeASmallPart) {
  const ClockGuard guard(read_clock);
  WalkChoice choice(Walk::read_ahead, Walk::in_order, Walk::in_steps);
  const std::vector<int> elements = run_pieces(choice, 192, 32, [](Walk walk) { return walk == Walk::read_ahead ? 1.0 : 9.0; });
  EXPECT_EQ(elements[kInOrder] + elements[static_cast<int>(Walk::in_steps)], 2 * 8 * 16 + 2 * 16);
}

TEST(WalkChoice, TrialsTakeASmallPart) {
  const ClockGuard guard(read_clock);
  WalkChoice choice;
  const std::vector<int> elements = run_pieces(choice, 128, 32, [](Walk walk) { return walk == Walk::read_ahead ? 1.0 : 9.0; });
  EXPECT_EQ(elements[kInOrder], 8 * 16 + 2 * 16);  // until the choice is made, and two later trials
}

// Engines run the first calls in code that isn't optimized yet.
TEST(WalkChoice, ChangesWhenTheOtherWalkBecomesFaster) {
  const ClockGuard guard(read_clock);
  for (const Walk faster : {Walk::read_ahead, Walk::in_order}) {
    WalkChoice choice;
    run_pieces(choice, 48, 8, [&](Walk walk) { return walk == faster ? 2.0 : 1.0; });
    const auto duration = [&](Walk walk) { return walk == faster ? 1.0 : 2.0; };
    run_pieces(choice, 20 * 64, 8, duration);
    EXPECT_EQ(run_pieces(choice, 10, 8, duration)[static_cast<int>(faster)], 80);
  }
}

TEST(WalkChoice, APauseDoesNotDecide) {
  const ClockGuard guard(read_clock);
  WalkChoice choice;
  int calls = 0;
  const auto duration = [&](Walk walk) { return ++calls % 12 == 0 ? 1e6 : walk == Walk::in_order ? 1.0 : 2.0; };
  run_pieces(choice, 100, 8, duration);
  EXPECT_EQ(run_pieces(choice, 10, 8, duration)[kInOrder], 80);
}

TEST(WalkChoice, DrawsLeaveItOpen) {
  const ClockGuard guard(read_clock);
  WalkChoice choice;
  const std::vector<int> elements = run_pieces(choice, 400, 8, [](Walk) { return 0.0; });
  EXPECT_EQ(elements[kInOrder], 100 * 4);
  run_pieces(choice, 32, 8, [](Walk walk) { return walk == Walk::in_order ? 1.0 : 2.0; });
  EXPECT_EQ(run_pieces(choice, 10, 8, [](Walk) { return 1.0; })[kInOrder], 80);
}

// Browsers without cross-origin isolation round times to 100 µs or 1 ms.
TEST(WalkChoice, ACoarseClockTakesLonger) {
  const ClockGuard guard([] { return std::floor(now / 100) * 100; });
  for (const Walk faster : {Walk::read_ahead, Walk::in_order}) {
    WalkChoice choice;
    Random random(1);
    const auto duration = [&](Walk walk) { return (walk == faster ? 1.0 : 1.8) * random.between(0.8, 1.2); };
    run_pieces(choice, 4000, 16, duration);
    EXPECT_EQ(run_pieces(choice, 10, 16, duration)[static_cast<int>(faster)], 160);
  }
}

TEST(WalkChoice, PiecesOfOneElementAreNoTrials) {
  const ClockGuard guard(read_clock);
  WalkChoice choice;
  EXPECT_EQ(run_pieces(choice, 100, 1, [](Walk) { return 1.0; })[kReadAhead], 100);
}

TEST(Walk, EveryWalkGivesTheSameBits) {
  const int tokens = 1100, heads = 9, dim = 512;
  for (const Layout layout : {Layout::thd, Layout::bhtd}) {
    int readings_of[kRotations] = {};
    for (const int pairs : {64, 40, 96, 256}) {
      std::vector<float> cos(static_cast<std::size_t>(tokens) * pairs), sin(cos.size());
      Random random(static_cast<std::uint32_t>(pairs));
      for (std::size_t i = 0; i < cos.size(); ++i) {
        cos[i] = static_cast<float>(random.next());
        sin[i] = static_cast<float>(random.next());
      }
      std::vector<float> read_ahead(static_cast<std::size_t>(tokens) * heads * dim);
      for (float& value : read_ahead) value = static_cast<float>(random.next());
      std::vector<float> in_order = read_ahead, scalar = read_ahead;
      const auto run = [&](const RotateKernels& kernels, std::vector<float>& x) {
        const HeadTensor tensor = {x.data(), x.data(), DType::f32, layout, {1, tokens, heads, dim}};
        for (const Rotation rotation : {Rotation::half, Rotation::interleaved, Rotation::interleaved_to_half}) {
          readings = &readings_of[static_cast<int>(rotation)];
          rotate(kernels, rotation, tensor, {0, 2 * pairs}, {cos.data(), sin.data()}, {0, 1, 0, tokens});
        }
      };
      run(kScalarRotateKernels, scalar);
      run(kWasmSimdRotateKernels, read_ahead);
      EXPECT_TRUE(read_ahead == scalar);
      const ClockGuard guard(clock_for_the_other_walk);
      run(kWasmSimdRotateKernels, in_order);
      EXPECT_TRUE(in_order == scalar);
    }
    if (layout == Layout::thd) {
      EXPECT_GE(readings_of[0], 8 * 3);  // as many trials as decide
    } else {
      EXPECT_EQ(readings_of[0], 0);
    }
  }
}

TEST(Walk, KernelsGiveTheSameBitsInEveryOrder) {
  for (const int pairs : {1, 8, 31, 32, 40, 64, 72, 96, 128, 160, 192}) {
    const int heads = 21;  // groups of eight and of two, and one more
    for (const std::ptrdiff_t stride : {2 * pairs, 2 * pairs + 3}) {
      std::vector<float> rows(static_cast<std::size_t>(heads) * pairs * 2), source(static_cast<std::size_t>(heads) * stride);
      Random random(static_cast<std::uint32_t>(pairs));
      for (float& value : rows) value = static_cast<float>(random.next());
      for (float& value : source) value = static_cast<float>(random.next());
      for (int rotation = 0; rotation < kRotations; ++rotation) {
        for (const std::ptrdiff_t row_stride : {0, pairs}) {
          for (const HeadOrder order : {HeadOrder::steps, HeadOrder::whole}) {
            for (const bool in_place : {true, false}) {
              std::vector<float> scalar = source, simd = source;
              const auto run = [&](const RotateKernels& kernels, std::vector<float>& x, HeadOrder taken) {
                kernels.rotate[rotation][0]({in_place ? x.data() : source.data(), x.data(), stride, stride, row_stride, rows.data(),
                                             rows.data() + heads * pairs, pairs, heads, taken});
              };
              run(kScalarRotateKernels, scalar, HeadOrder::steps);
              run(kWasmSimdRotateKernels, simd, order);
              EXPECT_EQ(simd, scalar) << pairs << " pairs, rotation " << rotation << ", order " << static_cast<int>(order);
            }
          }
        }
      }
    }
  }
}

// Tensors between 1 MB and 16 MB go in steps or in order.
TEST(Walk, EveryWalkInACacheGivesTheSameBits) {
  const int tokens = 600, heads = 11, dim = 128, pairs = 64;
  std::vector<float> cos(static_cast<std::size_t>(tokens) * pairs), sin(cos.size()), x(static_cast<std::size_t>(tokens) * heads * dim);
  Random random(7);
  for (std::size_t i = 0; i < cos.size(); ++i) {
    cos[i] = static_cast<float>(random.next());
    sin[i] = static_cast<float>(random.next());
  }
  for (float& value : x) value = static_cast<float>(random.next());
  for (const Rotation rotation : {Rotation::half, Rotation::interleaved}) {
    const auto rotated = [&](const RotateKernels& kernels) {
      std::vector<float> result = x;
      const HeadTensor tensor = {result.data(), result.data(), DType::f32, Layout::thd, {1, tokens, heads, dim}};
      rotate(kernels, rotation, tensor, {0, dim}, {cos.data(), sin.data()}, {0, 1, 0, tokens});
      return result;
    };
    int count = 0;
    readings = &count;
    const std::vector<float> scalar = rotated(kScalarRotateKernels);
    EXPECT_TRUE(rotated(kWasmSimdRotateKernels) == scalar);
    const ClockGuard guard(clock_for_the_other_walk);
    for (int time = 0; time < 10; ++time) EXPECT_TRUE(rotated(kWasmSimdRotateKernels) == scalar);  // until the choice is made
    EXPECT_GE(count, 8 * 3);
  }
}

}  // namespace
}  // namespace ropewalk
