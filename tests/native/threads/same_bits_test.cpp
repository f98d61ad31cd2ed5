// The same bits with any number of threads, on random shapes. The `native-threads` preset runs this under ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>

#include "base/native_threads.h"
#include "native/attention/attention_call.h"
#include "native/random/random_cases.h"
#include "native/rope/ropes.h"
#include "native/transformer/model_memory.h"
#include "native/transformer/transformer_models.h"
#include "rope/rope.h"
#include "rope/walk.h"
#include "transformer/forward.h"

namespace ropewalk {
namespace {

constexpr PositionScheme kSchemes[] = {PositionScheme::rope, PositionScheme::alibi, PositionScheme::sinusoidal};

// Calls compute() alone, then with several numbers of threads, among which even the smallest job is divided.
template <class Compute>
void expect_same_bits(Compute&& compute) {
  const auto alone = compute();
  for (const int threads : {2, 3, 5}) {
    NativeThreads helpers(threads, 1);
    const auto together = compute();
    ASSERT_EQ(together.size(), alone.size());
    EXPECT_EQ(std::memcmp(together.data(), alone.data(), alone.size() * sizeof alone[0]), 0) << threads << " threads";
  }
}

std::vector<float> random_numbers(RandomCase& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = random.number();
  return values;
}

TEST(Threads, Attention) {
  for_each_case(60, [](RandomCase& random) {
    const int kv_heads = random.whole(1, 4), queries = random.size(6, 90);
    const int head_dim = 2 * random.size(35, 70);
    const CallShape shape = {queries, queries + random.size(70, 200), kv_heads * random.whole(1, 4), kv_heads, head_dim};
    AttentionCall call(shape, random.next_bits(), random.any<RowType>(kRowTypes), random.any<Place>(3));
    if (random.one_in(2)) call.options.window = random.whole(1, 100);
    if (random.one_in(3)) call.options.sink_tokens = random.whole(0, 5);
    ConfiguredRope rope(yarn_config(head_dim, 10000, 4, 64));
    call.options.position.rope = &rope;
    if (random.one_in(2)) call.options.position.scheme = kSchemes[random.whole(0, 2)];
    expect_same_bits([&] { return call.attend(fastest_attention_kernels(), fastest_rotate_kernels()); });
  });
}

// Few queries over several chunks of keys, which are divided among the threads.
TEST(Threads, AttentionOverChunks) {
  for_each_case(60, [](RandomCase& random) {
    const int kv_heads = random.whole(1, 3), queries = random.whole(1, 5);
    const int head_dim = 2 * random.size(15, 35);
    const CallShape shape = {queries, queries + random.whole(400, 2200), kv_heads * random.whole(1, 4), kv_heads, head_dim};
    AttentionCall call(shape, random.next_bits(), random.any<RowType>(kRowTypes), random.any<Place>(3));
    std::vector<float> sinks = random_numbers(random, shape.heads);
    if (random.one_in(2)) call.options.window = random.whole(1, 1300);
    if (random.one_in(3)) call.options.sink_tokens = random.whole(0, 700);
    if (random.one_in(3)) call.options.sinks = sinks.data();
    ConfiguredRope rope(yarn_config(head_dim, 10000, 4, 64));
    call.options.position.rope = &rope;
    if (random.one_in(2)) call.options.position.scheme = kSchemes[random.whole(0, 2)];
    expect_same_bits([&] { return call.attend(fastest_attention_kernels(), fastest_rotate_kernels()); });
  });
}

// More chunks than are computed at a time.
TEST(Threads, AttentionOverManyChunks) {
  AttentionCall call({1, 20000, 32, 2, 256}, 1, RowType::q8_0, Place::pages);
  expect_same_bits([&] { return call.attend(fastest_attention_kernels(), fastest_rotate_kernels()); });
}

TEST(Threads, Rotation) {
  for_each_case(60, [](RandomCase& random) {
    RopeConfig config;
    config.head_dim = 2 * random.size(32, 128);
    config.pairing = random.any<Pairing>(3);
    const Shape shape = {random.whole(1, 3), random.size(60, 700), random.whole(1, 5), config.head_dim};
    const std::vector<float> x = random_numbers(random, element_count(shape));
    const auto layout = static_cast<Layout>(random.whole(0, 1));
    const bool scalar_offset = random.one_in(2);
    std::vector<double> ids(static_cast<std::size_t>(shape.batches) * shape.tokens);
    for (double& id : ids) id = random.whole(0, 100000);
    expect_same_bits([&] {
      Rope rope;
      EXPECT_EQ(rope.configure(config), Status::ok);
      std::vector<float> rotated = x;
      const Positions positions =
          scalar_offset ? Positions{7, nullptr, 1, 1, shape.tokens} : Positions{0, ids.data(), 1, shape.batches, shape.tokens};
      EXPECT_EQ(rope.rotate({rotated.data(), rotated.data(), DType::f32, layout, shape}, positions, 0, {}), Status::ok);
      return rotated;
    });
  });
}

// The walk of a large tensor is chosen by timing (walk.h), which may differ from thread to thread and from run to run.
TEST(Threads, RotationOfALargeTensor) {
  static std::atomic<int> readings{0};
  WalkChoice::clock = [] { return static_cast<double>(readings.fetch_add(1) % 7); };
  const Shape shape = {1, 2200, 40, 128};
  std::vector<std::uint16_t> x(static_cast<std::size_t>(element_count(shape)));  // in f16: other tests let the process choose for f32
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(0x3000 + i % 1000);
  RopeConfig config;
  config.head_dim = shape.head_dim;
  expect_same_bits([&] {
    Rope rope;
    EXPECT_EQ(rope.configure(config), Status::ok);
    std::vector<std::uint16_t> rotated = x;
    EXPECT_EQ(rope.rotate({rotated.data(), rotated.data(), DType::f16, Layout::thd, shape}, {7, nullptr, 1, 1, shape.tokens}, 0, {}),
              Status::ok);
    return rotated;
  });
  WalkChoice::clock = nullptr;
  EXPECT_GT(readings, 0);
}

TEST(Threads, PackedRows) {
  for_each_case(120, [](RandomCase& random) {
    const auto format = static_cast<WeightFormat>(random.whole(0, kWeightFormats - 1));
    const int rows = random.size(9, 300), columns = 256 * random.whole(1, 3);
    std::vector<unsigned char> stored(weight_bytes(format, rows, columns));
    for (unsigned char& byte : stored) byte = static_cast<unsigned char>(random.whole(0, 40));
    // some rows start with a large f16, which lowers the exponent of the whole matrix
    for (int i = random.whole(0, 3); i > 0; --i) stored[random.whole(0, rows - 1) * (stored.size() / rows) + 1] = random.whole(0x50, 0x7A);
    const int step = random.one_in(2) ? rows : random.whole(1, rows);
    expect_same_bits([&] {
      std::vector<unsigned char> packed = stored;
      WeightMatrix matrix = {format, rows, columns, packed.data()};
      for (int arrived = step; arrived < rows + step; arrived += step) {
        EXPECT_EQ(pack_rows(matrix, packed.data(), std::min(arrived, rows)), Status::ok);
      }
      EXPECT_EQ(matrix.packed_rows, rows / kPanelRows * kPanelRows);
      packed.push_back(static_cast<unsigned char>(matrix.exponent));
      return packed;
    });
  });
}

TEST(Threads, ProductsThatShareTheirInput) {
  for_each_case(60, [](RandomCase& random) {
    const int columns = 256 * random.whole(1, 3), tokens = random.size(3, 140);
    const auto format = static_cast<WeightFormat>(random.whole(0, kWeightFormats - 1));
    std::vector<WeightMatrix> matrices;
    std::vector<std::vector<unsigned char>> stored;
    std::vector<std::vector<float>> biases;
    std::size_t outputs = 0;
    for (int i = random.whole(1, 3); i > 0; --i) {
      const int rows = random.size(40, 300);
      // small numbers in every format, whose scales are halves or floats somewhere in a block
      stored.emplace_back(weight_bytes(format, rows, columns));
      for (unsigned char& byte : stored.back()) byte = static_cast<unsigned char>(random.whole(0, 40));
      biases.push_back(random_numbers(random, rows));
      matrices.push_back({format, rows, columns, stored.back().data(), 0});
      if (random.one_in(2)) {
        EXPECT_EQ(pack_rows(matrices.back(), stored.back().data(), rows), Status::ok);
      }
      outputs += static_cast<std::size_t>(rows) * tokens;
    }
    const std::vector<float> x = random_numbers(random, static_cast<std::size_t>(tokens) * columns);
    expect_same_bits([&] {
      std::vector<float> out(outputs);
      std::vector<Product> products;
      std::size_t at = 0;
      for (std::size_t i = 0; i < matrices.size(); ++i) {
        products.push_back({&matrices[i], i % 2 == 0 ? biases[i].data() : nullptr, out.data() + at, matrices[i].rows});
        at += static_cast<std::size_t>(matrices[i].rows) * tokens;
      }
      Activations activations;
      activations.set(x.data(), columns, tokens, columns);
      EXPECT_EQ(multiply(fastest_matmul_kernels(), products, activations), Status::ok);
      return out;
    });
  });
}

TEST(Threads, EveryModel) {
  for (const Description& description : every_model()) {
    SCOPED_TRACE(description.name);
    const TestModel model(description);
    Weights weights;
    ASSERT_EQ(model.load_and_finish(weights), Status::ok);
    expect_same_bits([&] {
      ModelMemory cache(model);
      Forward forward;
      std::vector<float> logits;
      int token = 3;
      for (const int count : {17, 1, 1, 5}) {  // a prompt, single tokens, and more
        std::vector<int> tokens;
        for (int i = 0; i < count; ++i) tokens.push_back(token = (token * 7 + 3) % model.config().vocabulary_size);
        EXPECT_EQ(forward.run(weights, cache.text(), tokens.data(), count), Status::ok);
        const std::size_t before = logits.size();
        logits.resize(before + static_cast<std::size_t>(count) * model.config().vocabulary_size);
        EXPECT_EQ(forward.logits(weights, 0, count, logits.data() + before), Status::ok);
      }
      return logits;
    });
  }
}

}  // namespace
}  // namespace ropewalk
