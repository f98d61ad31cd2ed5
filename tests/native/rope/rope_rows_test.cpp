// The row cache of a rope: results must not depend on previous calls.
#include <gtest/gtest.h>

#include <tuple>

#include "native/rope/ropes.h"

namespace ropewalk {
namespace {

// After any calls, a rope gives the results of a new rope.
TEST(RopeRows, AreTheRightOnes) {
  RopeConfig config = longrope_config(32, 10000, 100, 3200);
  config.xpos_scale_base = 64;
  ConfiguredRope rope(config);
  const std::vector<float> values = random_floats(4 * 2 * 32, 5);
  std::vector<double> ids = {3, 1, 4, 1};
  const auto expect_fresh = [&](const Positions& positions, Purpose purpose, double length, const char* what) {
    std::vector<float> rotated = values;
    ASSERT_EQ(rope.rotate(tensor_of(rotated, Layout::bthd, {1, 4, 2, 32}), positions, length, purpose), Status::ok) << what;
    EXPECT_EQ(rotated, fresh(config, values, positions, purpose, length)) << what;
  };
  const Positions by_ids = positions_of(ids, 4), range = {10, nullptr, 1, 1, 4};
  for (int round = 0; round < 2; ++round) {
    expect_fresh(by_ids, {}, 0, "ids");
    expect_fresh(by_ids, {}, 0, "the same again");
    ids[2] = 5;
    expect_fresh(by_ids, {}, 0, "an id changed in place");
    expect_fresh(by_ids, {Role::key, false}, 0, "role");
    expect_fresh(by_ids, {Role::key, true}, 0, "inverse key");
    expect_fresh(by_ids, {Role::query, true}, 0, "inverse query");
    expect_fresh(by_ids, {Role::query, true}, 200, "long plan");
    expect_fresh(by_ids, {Role::query, true}, 0, "short plan");
    expect_fresh(range, {Role::query, true}, 0, "range");
    expect_fresh({11, nullptr, 1, 1, 4}, {Role::query, true}, 0, "another offset");
    expect_fresh({100, nullptr, 1, 1, 4}, {Role::query, true}, 0, "a range past the original length");
    expect_fresh({0, nullptr, 1, 1, 4}, {Role::query, true}, 0, "a range from 0");
    expect_fresh(by_ids, {Role::query, true}, 0, "ids after a range from 0");
    expect_fresh({0, nullptr, 1, 1, 4}, {Role::query, true}, 0, "a range from 0 after ids");
    ids[2] = 4;
  }
}

TEST(RopeRows, BelongToTheConfig) {
  const std::vector<float> values = random_floats(3 * 16, 6);
  const Positions range = {5, nullptr, 1, 1, 3};
  ConfiguredRope rope(plain_config(16));
  for (const RopeConfig& config :
       {plain_config(16), plain_config(16, 5e5), with_pairing(plain_config(16), Pairing::interleaved), plain_config(16)}) {
    ASSERT_EQ(rope.configure(config), Status::ok);
    std::vector<float> rotated = values;
    ASSERT_EQ(rope.rotate(tensor_of(rotated, Layout::thd, {1, 3, 1, 16}), range, 0, {}), Status::ok);
    EXPECT_EQ(rotated, fresh(config, values, range));
  }
}

TEST(RopeRows, KeepTheirShape) {
  // the same 12 ids as 12 tokens, as 2 rows of 6, and as 2 axes of 6
  std::vector<double> ids;
  for (int i = 0; i < 12; ++i) ids.push_back(i * i);
  const std::vector<double> sections = {4, 4};
  const RopeConfig config = mrope_config(16, 10000, sections, MropeLayout::chunked);
  ConfiguredRope rope(config);
  const std::vector<float> values = random_floats(12 * 16, 7);
  for (const auto& [rows, axes, tokens] : {std::tuple{1, 1, 12}, std::tuple{2, 1, 6}, std::tuple{1, 2, 6}, std::tuple{1, 1, 6},
                                           std::tuple{1, 2, 6}, std::tuple{1, 1, 6}, std::tuple{2, 1, 6}, std::tuple{1, 1, 12}}) {
    std::vector<float> rotated = values, expected = values;
    const Shape shape = {12 / tokens, tokens, 1, 16};
    ConfiguredRope other(config);
    ASSERT_EQ(rope.rotate(tensor_of(rotated, Layout::bthd, shape), positions_of(ids, tokens, rows, axes), 0, {}), Status::ok);
    ASSERT_EQ(other.rotate(tensor_of(expected, Layout::bthd, shape), positions_of(ids, tokens, rows, axes), 0, {}), Status::ok);
    EXPECT_EQ(rotated, expected) << rows << ", " << axes;
  }
}

// A range without ids may be given once for all batch rows, or once per row.
TEST(RopeRows, OfARangeKeepTheirNumber) {
  ConfiguredRope rope(plain_config(16));
  const std::vector<float> values = random_floats(2 * 3 * 16, 18);
  std::vector<float> last;
  for (const int rows : {1, 2, 1}) {
    std::vector<float> rotated = values;
    ASSERT_EQ(rope.rotate(tensor_of(rotated, Layout::bthd, {2, 3, 1, 16}), {10, nullptr, 1, rows, 3}, 0, {}), Status::ok);
    EXPECT_TRUE(last.empty() || rotated == last) << rows;
    last = rotated;
  }
}

TEST(RopeRows, OfEveryBatchRowAreCompared) {
  std::vector<double> ids = {1, 2, 3, 4, 5, 6};
  ConfiguredRope rope(plain_config(16));
  for (const int changed : {0, 5, 3, 2}) {  // the first call, then a change of one id in either row
    ids[changed] += 10;
    std::vector<float> rotated = random_floats(2 * 3 * 16, 17), expected = rotated;
    ConfiguredRope other(plain_config(16));
    ASSERT_EQ(rope.rotate(tensor_of(rotated, Layout::bthd, {2, 3, 1, 16}), positions_of(ids, 3, 2), 0, {}), Status::ok);
    ASSERT_EQ(other.rotate(tensor_of(expected, Layout::bthd, {2, 3, 1, 16}), positions_of(ids, 3, 2), 0, {}), Status::ok);
    EXPECT_EQ(rotated, expected) << changed;
  }
}

// Requests larger than the cache are computed in blocks. They give the same bits in every layout, and never use rows cached before.
TEST(RopeRows, OfLongRequestsAreComputedInBlocks) {
  const int dim = 128, tokens = 20000;
  ConfiguredRope rope(plain_config(dim, 1e6));
  const std::vector<float> few = random_floats(2 * dim, 16);
  const std::vector<double> ids = {3, 9};
  const auto expect_few = [&] {
    std::vector<float> rotated = few;
    ASSERT_EQ(rope.rotate(tensor_of(rotated, Layout::bthd, {1, 2, 1, dim}), positions_of(ids, 2), 0, {}), Status::ok);
    EXPECT_EQ(rotated, fresh(plain_config(dim, 1e6), few, positions_of(ids, 2)));
  };
  expect_few();  // these rows are cached, and the blocks overwrite them
  const std::vector<float> values = random_floats(static_cast<std::size_t>(tokens) * dim, 8);
  std::vector<float> whole = values, parts = values;
  ASSERT_EQ(rope.rotate(tensor_of(whole, Layout::bthd, {1, tokens, 1, dim}), {7, nullptr, 1, 1, tokens}, 0, {}), Status::ok);
  expect_few();
  for (int first = 0; first < tokens; first += 1000) {
    const HeadTensor part = {&parts[first * dim], &parts[first * dim], DType::f32, Layout::bthd, {1, 1000, 1, dim}};
    ASSERT_EQ(rope.rotate(part, {7.0 + first, nullptr, 1, 1, 1000}, 0, {}), Status::ok);
  }
  EXPECT_TRUE(whole == parts);

  std::vector<float> again = values;
  ASSERT_EQ(rope.rotate(tensor_of(again, Layout::bthd, {1, tokens, 1, dim}), {7, nullptr, 1, 1, tokens}, 0, {}), Status::ok);
  EXPECT_TRUE(again == whole);
}

TEST(RopeRows, OfBlocksServeSeveralBatchRowsAndLayouts) {
  const int dim = 64, tokens = 18000, batches = 2;
  const std::vector<float> values = random_floats(static_cast<std::size_t>(batches) * tokens * dim, 9);
  std::vector<double> ids;
  for (int i = 0; i < batches * tokens; ++i) ids.push_back((i * 7919) % 100003);
  for (const Layout layout : {Layout::bthd, Layout::bhtd}) {
    ConfiguredRope rope(plain_config(dim));
    std::vector<float> whole = values, parts = values;
    ASSERT_EQ(rope.rotate(tensor_of(whole, layout, {batches, tokens, 1, dim}), positions_of(ids, tokens, batches), 0, {}), Status::ok);
    for (int batch = 0; batch < batches; ++batch) {
      for (int first = 0; first < tokens; first += 6000) {
        float* at = &parts[(static_cast<std::size_t>(batch) * tokens + first) * dim];
        ASSERT_EQ(rope.rotate({at, at, DType::f32, layout, {1, 6000, 1, dim}}, {0, &ids[batch * tokens + first], 1, 1, 6000}, 0, {}),
                  Status::ok);
      }
    }
    EXPECT_TRUE(whole == parts);
  }
}

}  // namespace
}  // namespace ropewalk
