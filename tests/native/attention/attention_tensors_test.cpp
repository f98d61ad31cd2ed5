// attend_tensors(): each batch row equals Attention of that row, in all layouts; the rope's plan follows the positions.
#include <gtest/gtest.h>

#include "attention/attend_tensors.h"
#include "native/rope/fast_config.h"
#include "native/rope/ropes.h"

namespace ropewalk {
namespace {

constexpr float kUnwritten = -777;

// Keys and values of `kv_shape`, and queries with the same number of batch rows, in one layout.
struct Tensors {
  Tensors(Layout layout, DType dtype, const Shape& q_shape, const Shape& kv_shape)
      : queries(DType::f32, layout, q_shape),
        out(DType::f32, layout, q_shape),
        keys(dtype, layout, kv_shape),
        values(dtype, layout, kv_shape) {
    queries.fill(1);
    keys.fill(2);
    values.fill(3);
    for (std::size_t i = 0; i < out.count(); ++i) out.set_bits(i, std::bit_cast<std::uint32_t>(kUnwritten));
    query_positions = {static_cast<double>(kv_shape.tokens - q_shape.tokens), nullptr, 1, 1, q_shape.tokens};
    key_positions = {0, nullptr, 1, 1, kv_shape.tokens};
  }

  AttentionTensors view() { return {queries.into(out), keys.in_place(), values.in_place(), query_positions, key_positions}; }
  float at(int batch, int token, int head, int i) const { return std::bit_cast<float>(out.bits(out.index(batch, token, head, i))); }
  bool is_untouched() const {
    for (std::size_t i = 0; i < out.count(); ++i) {
      if (std::bit_cast<float>(out.bits(i)) != kUnwritten) return false;
    }
    return true;
  }
  bool guards_are_intact() {
    return queries.guards_are_intact() && out.guards_are_intact() && keys.guards_are_intact() && values.guards_are_intact();
  }

  GuardedTensor queries, out, keys, values;
  Positions query_positions, key_positions;
  AttentionOptions options;
};

// Attends one batch row alone, copied to [tokens][heads][head_dim].
std::vector<float> one_batch(const Tensors& t, int batch, const Positions& query_positions, const Positions& key_positions) {
  const auto rows_of = [batch](const GuardedTensor& tensor) {
    const Shape& shape = tensor.shape();
    std::vector<float> rows;
    for (int token = 0; token < shape.tokens; ++token) {
      for (int head = 0; head < shape.heads; ++head) {
        for (int i = 0; i < shape.head_dim; ++i) rows.push_back(static_cast<float>(tensor.value(tensor.index(batch, token, head, i))));
      }
    }
    return rows;
  };
  std::vector<float> queries = rows_of(t.queries), keys = rows_of(t.keys), values = rows_of(t.values);
  const Shape &q = t.queries.shape(), &k = t.keys.shape();
  KeyValues kv;
  kv.heads = k.heads;
  kv.head_dim = k.head_dim;
  kv.tokens = k.tokens;
  kv.head_stride = k.head_dim * sizeof(float);
  kv.token_stride = k.heads * kv.head_stride;
  kv.keys = reinterpret_cast<const char*>(keys.data());
  kv.values = reinterpret_cast<const char*>(values.data());
  kv.positions = key_positions;
  Attention attention;
  EXPECT_EQ(attention.attend(kv, {queries.data(), queries.data(), q.heads * q.head_dim, q.head_dim, q.tokens, q.heads}, query_positions,
                             t.options),
            Status::ok);
  return queries;
}

void expect_batch(const Tensors& t, int batch, const std::vector<float>& expected) {
  const Shape& shape = t.queries.shape();
  int different = 0, at = 0;
  for (int token = 0; token < shape.tokens; ++token) {
    for (int head = 0; head < shape.heads; ++head) {
      for (int i = 0; i < shape.head_dim; ++i) different += t.at(batch, token, head, i) != expected[at++];
    }
  }
  EXPECT_EQ(different, 0) << "batch " << batch;
}

TEST(AttendTensors, EveryLayoutAndElementType) {
  for (const Layout layout : {Layout::bthd, Layout::bhtd, Layout::thd}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      for (const int head_dim : {8, 13}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(layout) << ", " << static_cast<int>(dtype) << ", " << head_dim);
        const int batches = layout == Layout::thd ? 1 : 3;
        Tensors t(layout, dtype, {batches, 7, 6, head_dim}, {batches, 40, 3, head_dim});
        Attention attention;
        ASSERT_EQ(attend_tensors(attention, t.view(), t.options), Status::ok);
        for (int batch = 0; batch < batches; ++batch) expect_batch(t, batch, one_batch(t, batch, t.query_positions, t.key_positions));
        EXPECT_TRUE(t.guards_are_intact());
      }
    }
  }
}

TEST(AttendTensors, OutputsMayOverwriteQueries) {
  Tensors t(Layout::bthd, DType::f32, {2, 70, 4, 8}, {2, 70, 2, 8});
  Attention attention;
  ASSERT_EQ(attend_tensors(attention, t.view(), t.options), Status::ok);
  AttentionTensors in_place = t.view();
  in_place.queries = t.queries.in_place();
  ASSERT_EQ(attend_tensors(attention, in_place, t.options), Status::ok);
  EXPECT_TRUE(t.queries.same_bits(t.out));
}

// Positions of each batch row, on one axis and on three.
TEST(AttendTensors, PositionsOfEachBatch) {
  const std::vector<double> sections = {1, 2, 1};
  for (const int axes : {1, 3}) {
    ConfiguredRope rope(axes == 1 ? plain_config(8) : mrope_config(8, 10000, sections, MropeLayout::chunked));
    Tensors t(Layout::bhtd, DType::f32, {2, 5, 2, 8}, {2, 9, 1, 8});
    std::vector<double> query_ids(axes * 2 * 5), key_ids(axes * 2 * 9);
    Random random(4);
    for (double& id : query_ids) id = std::floor(random.between(0, 50));
    for (double& id : key_ids) id = std::floor(random.between(0, 50));
    t.query_positions = positions_of(query_ids, 5, 2, axes);
    t.key_positions = positions_of(key_ids, 9, 2, axes);
    t.options.position.scheme = PositionScheme::rope;
    t.options.position.rope = &rope;
    Attention attention;
    ASSERT_EQ(attend_tensors(attention, t.view(), t.options), Status::ok);
    for (int batch = 0; batch < 2; ++batch) {
      std::vector<double> queries, keys;
      for (int axis = 0; axis < axes; ++axis) {
        for (int token = 0; token < 5; ++token) queries.push_back(query_ids[(axis * 2 + batch) * 5 + token]);
        for (int token = 0; token < 9; ++token) keys.push_back(key_ids[(axis * 2 + batch) * 9 + token]);
      }
      expect_batch(t, batch, one_batch(t, batch, positions_of(queries, 5, 1, axes), positions_of(keys, 9, 1, axes)));
    }
  }
}

// The plan is for the largest position of queries and keys.
TEST(AttendTensors, ThePlanIsForTheLargestPosition) {
  const std::vector<double> low = {1, 2, 3}, high = {1, 99, 3};
  for (const bool in_keys : {false, true}) {
    ConfiguredRope rope(dynamic_config(8, 10000, 2, 50)), planned(dynamic_config(8, 10000, 2, 50));
    ASSERT_EQ(planned.use_length(100), Status::ok);
    Tensors t(Layout::thd, DType::f32, {1, 3, 2, 8}, {1, 3, 1, 8});
    t.query_positions = positions_of(in_keys ? low : high, 3);
    t.key_positions = positions_of(in_keys ? high : low, 3);
    t.options.position.scheme = PositionScheme::rope;
    t.options.position.rope = &rope;
    Attention attention;
    ASSERT_EQ(attend_tensors(attention, t.view(), t.options), Status::ok);
    t.options.position.rope = &planned;
    expect_batch(t, 0, one_batch(t, 0, t.query_positions, t.key_positions));
  }
}

// ---- Errors, with nothing written.

void expect_refused(Status status, Tensors& t, const AttentionTensors& view) {
  Attention attention;
  EXPECT_EQ(attend_tensors(attention, view, t.options), status);
  EXPECT_TRUE(t.is_untouched());
}

class AttendTensorsErrors : public testing::Test {
 protected:
  Tensors t{Layout::bthd, DType::f32, {2, 4, 4, 8}, {2, 6, 2, 8}};
  AttentionTensors view = t.view();
};

TEST_F(AttendTensorsErrors, ElementTypes) {
  for (HeadTensor* tensor : {&view.queries, &view.keys, &view.values}) {
    AttentionTensors before = view;
    tensor->dtype = static_cast<DType>(3);
    expect_refused(Status::dtype_unknown, t, view);
    view = before;
  }
  view.queries.dtype = DType::f16;
  expect_refused(Status::dtype_unknown, t, view);
}

TEST_F(AttendTensorsErrors, Layouts) {
  for (HeadTensor* tensor : {&view.queries, &view.keys, &view.values}) {
    AttentionTensors before = view;
    tensor->layout = static_cast<Layout>(3);
    expect_refused(Status::layout_unknown, t, view);
    tensor->layout = Layout::thd;  // of two batches
    expect_refused(Status::shape_out_of_range, t, view);
    view = before;
  }
}

TEST_F(AttendTensorsErrors, EmptyShapes) {
  for (HeadTensor* tensor : {&view.queries, &view.keys, &view.values}) {
    for (int Shape::*extent : {&Shape::batches, &Shape::tokens, &Shape::heads, &Shape::head_dim}) {
      AttentionTensors before = view;
      tensor->shape.*extent = 0;
      expect_refused(Status::shape_out_of_range, t, view);
      view = before;
    }
  }
}

TEST_F(AttendTensorsErrors, ValuesUnlikeKeys) {
  for (int Shape::*extent : {&Shape::batches, &Shape::tokens, &Shape::heads, &Shape::head_dim}) {
    AttentionTensors before = view;
    view.values.shape.*extent = 1;
    expect_refused(Status::key_value_shapes_differ, t, view);
    view = before;
  }
  view.values.dtype = DType::f16;
  expect_refused(Status::key_value_shapes_differ, t, view);
  view = t.view();
  view.values.layout = Layout::bhtd;
  expect_refused(Status::key_value_shapes_differ, t, view);
}

TEST_F(AttendTensorsErrors, QueriesUnlikeKeys) {
  view.queries.shape.batches = 1;
  expect_refused(Status::batch_mismatch, t, view);
  view = t.view();
  view.queries.shape.head_dim = 7;
  expect_refused(Status::query_shape_out_of_range, t, view);
}

TEST_F(AttendTensorsErrors, PositionsOfOtherTokensOrBatches) {
  for (Positions* positions : {&view.query_positions, &view.key_positions}) {
    AttentionTensors before = view;
    positions->tokens -= 1;
    expect_refused(Status::shape_out_of_range, t, view);
    view = before;
    positions->rows = 3;
    expect_refused(Status::shape_out_of_range, t, view);
    view = before;
  }
}

TEST_F(AttendTensorsErrors, ErrorsOfAttention) {
  t.options.window = 0;
  expect_refused(Status::window_out_of_range, t, view);
}

// If only the second batch row is invalid, the first isn't written either.
TEST_F(AttendTensorsErrors, AnErrorInALaterBatch) {
  const std::vector<float> table = random_floats(10 * 8, 5);
  const std::vector<double> ids = {0, 1, 2, 3, 0, 1, 2, 10};
  t.options.position.scheme = PositionScheme::learned;
  t.options.position.table = table.data();
  t.options.position.table_rows = 10;
  view.query_positions = positions_of(ids, 4, 2);
  expect_refused(Status::position_table_too_short, t, view);
}

TEST_F(AttendTensorsErrors, RopePositions) {
  ConfiguredRope rope(plain_config(8));
  const std::vector<double> bad = {0, 1, 2, 3, 4, NAN}, planes(24, 1);
  t.options.position.scheme = PositionScheme::rope;
  t.options.position.rope = &rope;
  view.key_positions = positions_of(bad, 6);
  expect_refused(Status::position_out_of_range, t, view);
  view = t.view();
  view.query_positions = positions_of(planes, 4, 2, 3);
  expect_refused(Status::positions_axes, t, view);
}

// The plan is that of the largest position of queries and keys; the one of the previous call may accept other positions.
TEST_F(AttendTensorsErrors, PositionsUnderThePlanOfTheCall) {
  const std::vector<double> far = {-100000, 1, 2, 3, 4, 30};
  for (const bool is_long : {true, false}) {
    ConfiguredRope rope(fast_longrope_config(24, is_long));
    t.options.position.scheme = PositionScheme::rope;
    t.options.position.rope = &rope;
    for (const double previous : {1.0, 100.0}) {
      ASSERT_EQ(rope.use_length(previous), Status::ok);
      view = t.view();
      view.key_positions = positions_of(far, 6);
      if (is_long) {
        expect_refused(Status::position_out_of_range, t, view);
        continue;
      }
      Attention attention;
      EXPECT_EQ(attend_tensors(attention, view, t.options), Status::ok) << previous;
    }
  }
}

TEST_F(AttendTensorsErrors, RopeOfAnotherHeadDim) {
  ConfiguredRope rope(plain_config(16));
  t.options.position.scheme = PositionScheme::rope;
  t.options.position.rope = &rope;
  expect_refused(Status::head_dim_mismatch, t, view);
}

}  // namespace
}  // namespace ropewalk
