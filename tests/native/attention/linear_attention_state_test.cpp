// The running sums of linear attention: appending in pieces, saving, errors.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "native/attention/linear_sequence.h"

namespace ropewalk {
namespace {

// Appends a sequence in pieces of these sizes.
void append_in_pieces(LinearAttention& attention, Rope* rope, double offset, Sequence& sequence, const std::vector<int>& sizes) {
  int first = 0;
  for (const int size : sizes) {
    Sequence piece = sequence.piece(first, size);
    ASSERT_EQ(attention.append(rope, from(offset + first, size), piece.tokens()), Status::ok);
    sequence.put_back(piece, first);
    first += size;
  }
  ASSERT_EQ(first, sequence.shapes.tokens);
}

TEST(LinearSums, PiecesGiveTheSameBits) {
  for (const int dim : {6, 64}) {
    for (const Layout layout : kLayouts) {
      ConfiguredRope rope(with_pairing(plain_config(dim), Pairing::interleaved));
      const Shapes shapes = {6, 2, dim, 70, layout};
      Sequence whole(shapes);
      ConfiguredAttention attention(shapes);
      ASSERT_EQ(attention.append(&rope, from(9, 70), whole.tokens()), Status::ok);
      for (const std::vector<int>& sizes : {std::vector<int>(70, 1), std::vector<int>{33, 1, 36}, std::vector<int>{1, 64, 5}}) {
        Sequence pieces(shapes);
        ConfiguredAttention pieced(shapes);
        ASSERT_NO_FATAL_FAILURE(append_in_pieces(pieced, &rope, 9, pieces, sizes));
        EXPECT_TRUE(pieces.out == whole.out);
        EXPECT_TRUE(pieced.saved() == attention.saved());
        EXPECT_EQ(pieced.tokens(), 70);
      }
    }
  }
}

TEST(LinearSums, AbsorbAndQueryAreTheHalvesOfAppend) {
  const Shapes shapes = {6, 2, 20, 40, Layout::bhtd};
  ConfiguredRope rope(plain_config(20));
  Sequence appended(shapes), absorbed(shapes);
  ConfiguredAttention both(shapes), halves(shapes);
  ASSERT_EQ(both.append(&rope, from(0, 40), appended.tokens()), Status::ok);
  LinearTokens keys_alone = absorbed.tokens(), last = absorbed.tokens();
  keys_alone.queries = keys_alone.out = nullptr;
  ASSERT_EQ(halves.absorb(&rope, from(0, 40), keys_alone), Status::ok);
  EXPECT_TRUE(halves.saved() == both.saved());
  last.keys = last.values = nullptr;
  ASSERT_EQ(halves.query(&rope, from(0, 40), last), Status::ok);
  EXPECT_TRUE(halves.saved() == both.saved());
  EXPECT_EQ(halves.tokens(), 40);
  for (int head = 0; head < 6; ++head) EXPECT_EQ(absorbed.head_of(absorbed.out, 6, 39, head), appended.head_of(appended.out, 6, 39, head));
}

TEST(LinearSums, ARestoredStateContinuesWithTheSameBits) {
  const Shapes shapes = {4, 2, 18, 50};
  ConfiguredRope rope(plain_config(18));
  Sequence whole(shapes);
  Sequence first = whole.piece(0, 23), second = whole.piece(23, 27), again = second;
  ConfiguredAttention attention(shapes), restored(shapes);
  EXPECT_EQ(attention.state_size(), 2u * 2 * 19 * 18);
  ASSERT_EQ(attention.append(&rope, from(0, 23), first.tokens()), Status::ok);
  const std::vector<float> saved = attention.saved();
  ASSERT_EQ(attention.append(&rope, from(23, 27), second.tokens()), Status::ok);
  ASSERT_EQ(restored.set_state(saved.data(), 23), Status::ok);
  ASSERT_EQ(restored.append(&rope, from(23, 27), again.tokens()), Status::ok);
  EXPECT_TRUE(again.out == second.out);
  EXPECT_TRUE(restored.saved() == attention.saved());
  EXPECT_EQ(restored.tokens(), 50);

  for (const float impossible : {NAN, INFINITY, -INFINITY}) {
    for (const std::size_t at : {std::size_t{0}, saved.size() / 2, saved.size() - 1}) {
      std::vector<float> damaged = saved;
      damaged[at] = impossible;
      EXPECT_EQ(restored.set_state(damaged.data(), 23), Status::image_content);
    }
  }
  for (const double tokens : {-1.0, 0.5, 1e300, static_cast<double>(NAN)})
    EXPECT_EQ(restored.set_state(saved.data(), tokens), Status::image_content);
  EXPECT_TRUE(restored.saved() == attention.saved());
  EXPECT_EQ(restored.tokens(), 50);
}

TEST(LinearSums, KernelsDoNotMatter) {
  const Shapes shapes = {4, 2, 36, 40};
  ConfiguredRope rope(with_pairing(plain_config(36), Pairing::interleaved_to_half));
  Sequence simd(shapes), scalar(shapes);
  ConfiguredAttention with_simd(shapes), with_scalar(shapes);
  with_scalar.use_kernels(kScalarRotateKernels);
  ASSERT_EQ(with_simd.append(&rope, from(5, 40), simd.tokens()), Status::ok);
  ASSERT_EQ(with_scalar.append(&rope, from(5, 40), scalar.tokens()), Status::ok);
  EXPECT_TRUE(simd.out == scalar.out);
}

// Only differences of positions matter.
TEST(LinearSums, PositionsMayBeMovedTogether) {
  const Shapes shapes = {2, 1, 64, 40};
  ConfiguredRope rope(plain_config(64));
  Sequence near(shapes), far(shapes);
  ConfiguredAttention attention(shapes);
  ASSERT_EQ(attention.append(&rope, from(0, 40), near.tokens()), Status::ok);
  attention.reset();
  ASSERT_EQ(attention.append(&rope, from(1e6, 40), far.tokens()), Status::ok);
  for (std::size_t i = 0; i < near.out.size(); ++i)
    EXPECT_NEAR(near.out[i], far.out[i], 4e-6);  // linear_attention_test.cpp allows each 2e-6
}

TEST(LinearSums, EmptySumsGiveZeros) {
  const Shapes shapes = {2, 1, 7, 5};
  ConfiguredAttention attention(shapes);
  Sequence sequence(shapes);
  ASSERT_EQ(attention.query(nullptr, {}, sequence.tokens()), Status::ok);
  EXPECT_EQ(sequence.out, std::vector<float>(sequence.out.size()));
  ASSERT_EQ(attention.append(nullptr, {}, sequence.tokens()), Status::ok);
  attention.reset();
  EXPECT_EQ(attention.tokens(), 0);
  EXPECT_EQ(attention.saved(), std::vector<float>(attention.state_size()));
}

// phi of -100 is 0 in f32: such a query gives zeros, not NaN. A query of NaN gives NaN, and only its own output.
TEST(LinearSums, QueriesOfEveryKind) {
  const Shapes shapes = {1, 1, 6, 3};
  ConfiguredAttention attention(shapes);
  Sequence sequence(shapes);
  std::fill_n(sequence.queries.begin(), 6, -100.0f);
  sequence.queries[6] = NAN;
  ASSERT_EQ(attention.append(nullptr, {}, sequence.tokens()), Status::ok);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(sequence.out[i], 0);
    EXPECT_TRUE(std::isnan(sequence.out[6 + i]));
    EXPECT_TRUE(std::isfinite(sequence.out[12 + i]));
  }
}

// Repeating the same token is the worst case for a running sum, because all additions err in the same direction. Plain f32 sums are off by
// 5e-3.
TEST(LinearSums, SumsDoNotDrift) {
  const Shapes shapes = {1, 1, 4, 1000};
  ConfiguredAttention attention(shapes);
  Sequence sequence(shapes);
  for (std::size_t i = 0; i < sequence.keys.size(); ++i) {
    sequence.keys[i] = 0.1f;
    sequence.values[i] = i % 4 == 0 ? 1.3f : 0.7f;
  }
  for (int i = 0; i < 200; ++i) ASSERT_EQ(attention.append(nullptr, {}, sequence.tokens()), Status::ok);
  EXPECT_EQ(attention.tokens(), 200000);
  for (std::size_t i = 0; i < sequence.out.size(); ++i) ASSERT_NEAR(sequence.out[i], sequence.values[i], 5e-7);  // four roundings of 1.3
}

TEST(LinearSums, ImpossibleShapesAreRefused) {
  LinearAttention attention;
  Sequence sequence({2, 1, 8, 3});
  EXPECT_EQ(attention.append(nullptr, {}, sequence.tokens()), Status::query_shape_out_of_range) << "not configured";
  ASSERT_EQ(attention.configure(2, 1, 8), Status::ok);
  ASSERT_EQ(attention.append(nullptr, {}, sequence.tokens()), Status::ok);
  const std::vector<float> state(attention.state(), attention.state() + attention.state_size());
  EXPECT_EQ(attention.configure(2, 1, 0), Status::head_dim_out_of_range);
  EXPECT_EQ(attention.configure(2, 1, kMaxHeadDim + 1), Status::head_dim_out_of_range);
  EXPECT_EQ(attention.configure(0, 1, 8), Status::query_shape_out_of_range);
  EXPECT_EQ(attention.configure(2, 0, 8), Status::heads_not_grouped);
  EXPECT_EQ(attention.configure(3, 2, 8), Status::heads_not_grouped);
  EXPECT_EQ(attention.configure(1, 2, 8), Status::heads_not_grouped);
  EXPECT_EQ(attention.heads(), 2);
  EXPECT_EQ(attention.kv_heads(), 1);
  EXPECT_EQ(attention.head_dim(), 8);
  EXPECT_EQ(attention.tokens(), 3);
  EXPECT_TRUE(std::equal(state.begin(), state.end(), attention.state()));
}

TEST(LinearSums, ErrorsLeaveEverythingAsItWas) {
  const Shapes shapes = {2, 1, 8, 40};
  ConfiguredAttention attention(shapes);
  ConfiguredRope rope(plain_config(8)), other(plain_config(16)), dynamic(dynamic_config(8, 10000, 2, 64)), longrope(longrope_config(8));
  Sequence sequence(shapes);
  ASSERT_EQ(attention.append(&rope, from(0, 40), sequence.tokens()), Status::ok);
  const std::vector<float> state = attention.saved();
  const Sequence before = sequence;

  const auto expect_all = [&](Rope* turning, const Positions& positions, const LinearTokens& tokens, Status status, Status query_status) {
    EXPECT_EQ(attention.append(turning, positions, tokens), status);
    EXPECT_EQ(attention.absorb(turning, positions, tokens), status);
    if (query_status != Status::ok) {
      EXPECT_EQ(attention.query(turning, positions, tokens), query_status);
    }
    EXPECT_TRUE(sequence.out == before.out && attention.saved() == state && attention.tokens() == 40);
  };
  const auto expect_refused = [&](Rope* turning, const Positions& positions, const LinearTokens& tokens, Status status) {
    expect_all(turning, positions, tokens, status, status);
  };
  LinearTokens tokens = sequence.tokens();
  expect_refused(&other, from(0, 40), tokens, Status::head_dim_mismatch);
  expect_refused(&dynamic, from(0, 40), tokens, Status::linear_rope_changes);
  expect_refused(&longrope, from(0, 40), tokens, Status::linear_rope_changes);
  ASSERT_EQ(dynamic.use_length(100), Status::ok);
  ASSERT_EQ(longrope.use_length(5000), Status::ok);
  expect_refused(&dynamic, from(0, 40), tokens, Status::linear_rope_changes);
  expect_refused(&longrope, from(0, 40), tokens, Status::linear_rope_changes);
  expect_refused(&rope, from(0, 39), tokens, Status::shape_out_of_range);
  expect_refused(&rope, {0, nullptr, 1, 2, 40}, tokens, Status::shape_out_of_range);
  expect_refused(&rope, from(kPositionLimit, 40), tokens, Status::position_out_of_range);
  expect_refused(&rope, from(NAN, 40), tokens, Status::position_out_of_range);
  tokens.layout = Layout{3};
  expect_refused(&rope, from(0, 40), tokens, Status::layout_unknown);
  tokens = sequence.tokens();
  tokens.tokens = 0;
  expect_refused(&rope, from(0, 0), tokens, Status::query_shape_out_of_range);

  // the last element of the last block: everything is checked before the first block is added
  for (const float impossible : {NAN, INFINITY, -INFINITY, 2 * kLargestLinearElement}) {
    for (const auto& [tensor, status] :
         {std::pair{&sequence.keys, Status::key_not_finite}, std::pair{&sequence.values, Status::value_not_finite}}) {
      const float kept = std::exchange(tensor->back(), impossible);
      expect_all(&rope, from(40, 40), sequence.tokens(), status, Status::ok);
      tensor->back() = kept;
    }
  }
}

// With the largest allowed elements, the sums can still be saved and restored.
TEST(LinearSums, LargestElementsLeaveFiniteSums) {
  const Shapes shapes = {1, 1, 4, 100};
  ConfiguredAttention attention(shapes);
  Sequence sequence(shapes);
  std::fill(sequence.keys.begin(), sequence.keys.end(), kLargestLinearElement);
  std::fill(sequence.values.begin(), sequence.values.end(), -kLargestLinearElement);
  ASSERT_EQ(attention.append(nullptr, {}, sequence.tokens()), Status::ok);
  EXPECT_EQ(attention.set_state(attention.saved().data(), 100), Status::ok);
  for (const float out : sequence.out) EXPECT_NEAR(out / kLargestLinearElement, -1, 1e-6);
}

}  // namespace
}  // namespace ropewalk
