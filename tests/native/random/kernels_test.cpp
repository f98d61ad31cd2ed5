// SIMD kernels compared with the scalar reference bit for bit, on random shapes, strides and addresses: rotation, rows of caches, scores,
// softmax weights, blending, and products with weights of every format.
#include <cmath>

#include "attention/kernels/attention_kernels.h"
#include "matmul/dequantize.h"
#include "matmul/matmul.h"
#include "native/random/random_cases.h"
#include "rope/kernels/rotate_kernels.h"

namespace ropewalk {
namespace {

TEST(RandomKernels, Rotation) {
  for_each_case(2000, [](RandomCase& random) {
    const int dtype = random.whole(0, kDTypes - 1), rotation = random.whole(0, kRotations - 1);
    const std::size_t bytes = size_of(static_cast<DType>(dtype));
    const int pairs = random.size(40, 300), count = random.size(6, 40);
    const bool in_place = random.one_in(2), share_rows = random.one_in(2);
    const std::ptrdiff_t source_stride = 2 * pairs + random.whole(0, 9), row_stride = share_rows ? 0 : pairs + random.whole(0, 5);
    const std::ptrdiff_t target_stride = in_place ? source_stride : 2 * pairs + random.whole(0, 9);
    const auto elements = [&](std::ptrdiff_t stride) { return static_cast<std::size_t>((count - 1) * stride + 2 * pairs); };

    Unaligned<float> cos((share_rows ? 0 : count - 1) * row_stride + pairs, random.whole(0, 3)), sin(cos.size(), random.whole(0, 3));
    for (std::size_t i = 0; i < cos.size(); ++i) {
      const double angle = 2 * random.next();
      cos[i] = static_cast<float>(std::cos(angle)), sin[i] = static_cast<float>(std::sin(angle));
    }
    const int offset = random.whole(0, 15) * static_cast<int>(bytes);
    Unaligned<std::uint8_t> source(elements(source_stride) * bytes, offset);
    for (std::size_t i = 0; i < source.size() / bytes; ++i) {
      const std::uint32_t bits = oracle::encode(random.number(), static_cast<DType>(dtype));
      std::memcpy(&source[i * bytes], &bits, bytes);
    }
    const auto rotated = [&](const RotateKernels& kernels) {
      Unaligned<std::uint8_t> out(elements(target_stride) * bytes, offset);
      if (in_place) out.copy_from(source);
      kernels.rotate[rotation][dtype]({in_place ? out.data() : source.data(), out.data(), in_place ? target_stride : source_stride,
                                       target_stride, row_stride, cos.data(), sin.data(), pairs, count});
      EXPECT_TRUE(out.guards_are_intact());
      return out;
    };
    EXPECT_TRUE(rotated(kWasmSimdRotateKernels).same_bits(rotated(kScalarRotateKernels)))
        << "rotation " << rotation << ", type " << dtype << ", " << pairs << " pairs, " << count << " heads";
    EXPECT_TRUE(source.guards_are_intact() && cos.guards_are_intact() && sin.guards_are_intact());
  });
}

TEST(RandomKernels, RowsOfCaches) {
  for_each_case(2000, [](RandomCase& random) {
    const int type = random.whole(0, kRowTypes - 1), head_dim = random.size(140, 600), count = random.whole(1, kBlockTokens);
    const std::size_t bytes = row_bytes(static_cast<RowType>(type), head_dim);
    const std::ptrdiff_t alignment = type == 0 ? 4 : 2;
    const StoredRows rows = {(static_cast<std::ptrdiff_t>(bytes) + alignment - 1) / alignment * alignment + alignment * random.whole(0, 5),
                             padded_dim(head_dim) + random.whole(0, 7), count, head_dim};
    const std::size_t stored_size = (count - 1) * rows.row_stride + bytes,
                      float_size = (count - 1) * rows.float_stride + padded_dim(head_dim);
    const int stored_offset = static_cast<int>(alignment) * random.whole(0, 7), float_offset = random.whole(0, 3);

    Unaligned<float> given(float_size, float_offset);
    fill(given, random, std::ldexp(1.0f, random.whole(-140, 13)));
    if (random.one_in(4)) given[random.whole(0, static_cast<int>(float_size) - 1)] = 0;
    const auto stored_by = [&](const AttentionKernels& kernels) {
      Unaligned<std::uint8_t> stored(stored_size, stored_offset);
      kernels.store[type](rows, given.data(), stored.data());
      EXPECT_TRUE(stored.guards_are_intact());
      return stored;
    };
    EXPECT_TRUE(stored_by(kWasmSimdAttentionKernels).same_bits(stored_by(kScalarAttentionKernels)))
        << "store " << count << " rows of type " << type << ", " << head_dim;

    Unaligned<std::uint8_t> stored(stored_size, stored_offset);
    for (std::size_t i = 0; i < stored_size; ++i) stored[i] = static_cast<std::uint8_t>(random.next_bits() >> 24);
    const auto loaded_by = [&](const AttentionKernels& kernels) {
      Unaligned<float> floats(float_size, float_offset);
      kernels.load[type](rows, stored.data(), floats.data());
      EXPECT_TRUE(floats.guards_are_intact());
      return floats;
    };
    EXPECT_TRUE(loaded_by(kWasmSimdAttentionKernels).same_bits(loaded_by(kScalarAttentionKernels)))
        << "load " << count << " rows of type " << type << ", " << head_dim;
  });
}

TEST(RandomKernels, Scores) {
  for_each_case(2000, [](RandomCase& random) {
    const int rows = random.size(10, 70), count = random.whole(1, kBlockTokens), dim = kRowFloats * random.size(40, 150);
    const std::ptrdiff_t query_stride = dim + random.whole(0, 7), key_stride = dim + random.whole(0, 7);
    Unaligned<float> queries((rows - 1) * query_stride + dim, random.whole(0, 3)), keys((count - 1) * key_stride + dim, random.whole(0, 3));
    fill(queries, random), fill(keys, random);
    const int offset = random.whole(0, 3);
    const auto scored_by = [&](const AttentionKernels& kernels) {
      Unaligned<float> scores((rows - 1) * kBlockTokens + count, offset);
      kernels.score({queries.data(), query_stride, rows, keys.data(), key_stride, count, dim, scores.data()});
      EXPECT_TRUE(scores.guards_are_intact());
      return scores;
    };
    EXPECT_TRUE(scored_by(kWasmSimdAttentionKernels).same_bits(scored_by(kScalarAttentionKernels)))
        << rows << " rows, " << count << " keys, " << dim << " elements";
  });
}

TEST(RandomKernels, SoftmaxWeights) {
  for_each_case(4000, [](RandomCase& random) {
    const int first = random.whole(0, kBlockTokens - 1), last = random.whole(first + 1, kBlockTokens);
    const float scale = std::ldexp(random.number(), random.whole(-10, 6)),
                cap = random.one_in(2) ? 0 : static_cast<float>(random.between(0.1, 60));
    const int offset = random.whole(0, 3);
    Unaligned<float> scores(kBlockTokens, offset), bias(kBlockTokens, random.whole(0, 3));
    fill(scores, random, std::ldexp(1.0f, random.whole(-4, 7))), fill(bias, random, 4);
    const float* added = random.one_in(2) ? bias.data() : nullptr;
    const SoftmaxState before = random.one_in(3) ? SoftmaxState{std::numeric_limits<float>::lowest(), 0}
                                                 : SoftmaxState{30 * random.number(), static_cast<float>(random.between(0.5, 40))};
    struct Result {
      Unaligned<float> weights;
      SoftmaxState state;
      float correction;
    };
    const auto weighed_by = [&](const AttentionKernels& kernels) {
      Result result = {Unaligned<float>(kBlockTokens, offset), before, 0};
      result.weights.copy_from(scores);
      kernels.weigh({result.weights.data(), 1, added, first, last, scale, cap}, &result.state, &result.correction);
      EXPECT_TRUE(result.weights.guards_are_intact());
      return result;
    };
    Result scalar = weighed_by(kScalarAttentionKernels), simd = weighed_by(kWasmSimdAttentionKernels);
    EXPECT_TRUE(simd.weights.same_bits(scalar.weights)) << "keys " << first << " to " << last << ", cap " << cap;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(simd.correction), std::bit_cast<std::uint32_t>(scalar.correction));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(simd.state.maximum), std::bit_cast<std::uint32_t>(scalar.state.maximum));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(simd.state.sum), std::bit_cast<std::uint32_t>(scalar.state.sum));
  });
}

TEST(RandomKernels, Blends) {
  for_each_case(2000, [](RandomCase& random) {
    const int rows = random.size(10, 70), count = random.whole(1, kBlockTokens), dim = kRowFloats * random.size(40, 150);
    const std::ptrdiff_t value_stride = dim + random.whole(0, 7), out_stride = dim + random.whole(0, 7);
    Unaligned<float> weights((rows - 1) * kBlockTokens + count, random.whole(0, 3)), corrections(rows, random.whole(0, 3));
    Unaligned<float> values((count - 1) * value_stride + dim, random.whole(0, 3)),
        before((rows - 1) * out_stride + dim, random.whole(0, 3));
    fill(weights, random), fill(corrections, random), fill(values, random), fill(before, random);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = random.one_in(6) ? 0 : std::fabs(weights[i]);
    const auto blended_by = [&](const AttentionKernels& kernels) {
      Unaligned<float> out = Unaligned<float>(before.size(), 1);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = before[i];
      kernels.blend({weights.data(), corrections.data(), rows, values.data(), value_stride, count, dim, out.data(), out_stride});
      EXPECT_TRUE(out.guards_are_intact());
      return out;
    };
    EXPECT_TRUE(blended_by(kWasmSimdAttentionKernels).same_bits(blended_by(kScalarAttentionKernels)))
        << rows << " rows, " << count << " keys, " << dim << " elements";
  });
}

// ---- Products with weights.

// Random quants with random scales; the 16-bit fields of a block are its scales.
void fill_weights(Unaligned<std::uint8_t>& weights, WeightFormat format, RandomCase& random) {
  const BlockShape& shape = block_shape(format);
  for (std::size_t at = 0; at < weights.size(); at += shape.bytes()) {
    for (int i = 0; i < shape.bytes(); ++i) weights[at + i] = static_cast<std::uint8_t>(random.next_bits() >> 24);
    const auto put = [&](std::size_t offset) {
      const DType dtype = format == WeightFormat::bf16 ? DType::bf16 : DType::f16;
      const std::uint32_t bits = oracle::encode(random.number(), dtype);
      std::memcpy(&weights[at + offset], &bits, 2);
    };
    if (shape.leading_bytes > 0) weights[at] = static_cast<std::uint8_t>(random.whole(90, 150));  // an exponent
    for (int i = 0; i < shape.leading_halves; ++i) put(2 * i);
    for (int i = 0; i < shape.trailing_halves; ++i) put(shape.bytes() - 2 * shape.trailing_halves + 2 * i);
    if (format == WeightFormat::iq1_m) weights[at + shape.bytes() - 1] &= 0xBF;  // the upper bits of the scale: finite
    if (format != WeightFormat::f32) continue;
    const float value = random.number();
    std::memcpy(&weights[at], &value, sizeof value);
  }
}

TEST(RandomKernels, ProductsWithWeightsOfEveryFormat) {
  for_each_case(1500, [](RandomCase& random) {
    const auto format = random.any<WeightFormat>(kWeightFormats);
    const int rows = random.size(26, 90), tokens = random.size(9, 140), block = block_elements(format);
    const int columns = is_float(format) ? random.size(300, 1100) : block * random.size(block == 32 ? 17 : 3, block == 32 ? 40 : 5);
    const std::ptrdiff_t stride = columns + random.whole(0, 5), out_stride = rows + random.whole(0, 5);
    const int out_offset = random.whole(0, 3);
    Unaligned<std::uint8_t> weights(rows * weight_row_bytes(format, columns), 0);
    fill_weights(weights, format, random);
    Unaligned<float> x((tokens - 1) * stride + columns, random.whole(0, 3));
    fill(x, random, std::ldexp(1.0f, random.whole(-20, 20)));
    const auto product_by = [&](const MatmulKernels& kernels, bool packed) {
      Unaligned<std::uint8_t> copy(weights.size(), 0);
      copy.copy_from(weights);
      WeightMatrix matrix = {format, rows, columns, copy.data(), 0};
      if (packed) {
        EXPECT_EQ(pack_rows(matrix, copy.data(), matrix.rows), Status::ok);
      }
      Activations activations;
      activations.set(x.data(), stride, tokens, columns);
      Unaligned<float> out((tokens - 1) * out_stride + rows, out_offset);
      EXPECT_EQ(multiply(kernels, {{Product{&matrix, nullptr, out.data(), out_stride}}}, activations), Status::ok);
      EXPECT_TRUE(out.guards_are_intact() && copy.guards_are_intact());
      return out;
    };
    SCOPED_TRACE(testing::Message() << "format " << static_cast<int>(format) << ", " << rows << " x " << columns << ", tokens " << tokens);
    const Unaligned<float> expected = product_by(kScalarMatmulKernels, random.one_in(2));
    EXPECT_TRUE(product_by(kWasmSimdMatmulKernels, true).same_bits(expected));
    EXPECT_TRUE(product_by(kWasmSimdMatmulKernels, false).same_bits(expected));
    EXPECT_TRUE(x.guards_are_intact());
  });
}

}  // namespace
}  // namespace ropewalk
