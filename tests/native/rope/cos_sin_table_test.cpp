// Tables of cos and sin: errors against long double, layouts, 16-bit rounding, and bits recorded as digests.
#include "rope/cos_sin_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "native/rope/configs.h"
#include "native/rope/guarded_tensor.h"

namespace ropewalk {
namespace {

using oracle::Real;

// A plan and its rows.
class Table {
 public:
  explicit Table(const RopeConfig& config, double length = 1) : plan_(plan_of(config, length)) {
    EXPECT_EQ(rows_.prepare(plan_), Status::ok);
  }

  Status write(const Positions& positions, Purpose purpose = {}, DType dtype = DType::f32, TableLayout layout = TableLayout::compact) {
    const int columns = layout == TableLayout::compact ? plan_.rotary_dim / 2 : plan_.rotary_dim;
    const std::size_t size = static_cast<std::size_t>(positions.rows) * positions.tokens * columns * size_of(dtype);
    cos_.assign(size, 0xEE), sin_.assign(size, 0xEE);
    return write_table(rows_, positions, purpose, dtype, layout, cos_.data(), sin_.data());
  }
  Status write_ids(const std::vector<double>& ids, Purpose purpose = {}, DType dtype = DType::f32,
                   TableLayout layout = TableLayout::compact) {
    return write({0, ids.data(), 1, 1, static_cast<int>(ids.size())}, purpose, dtype, layout);
  }

  float cos(std::size_t i) const { return float_at(cos_, i); }
  float sin(std::size_t i) const { return float_at(sin_, i); }
  const std::vector<std::uint8_t>& cos_bytes() const { return cos_; }
  const std::vector<std::uint8_t>& sin_bytes() const { return sin_; }
  CosSinRows& rows() { return rows_; }
  const FrequencyPlan& plan() const { return plan_; }
  std::size_t pairs() const { return plan_.inv_freq.size(); }

 private:
  static float float_at(const std::vector<std::uint8_t>& bytes, std::size_t i) {
    float value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  }
  FrequencyPlan plan_;
  CosSinRows rows_;
  std::vector<std::uint8_t> cos_, sin_;
};

std::vector<double> hard_positions() {
  std::vector<double> positions = {0,        1,      63,     64,     65,     127,     4095,     4096,     32768,
                                   65535,    131071, 131072, 262143, 999999, 1000000, 1048576,  10000000, 16777215,
                                   16777216, -1,     -64,    -65,    -4096,  -131072, -16777216};
  Random random(1);
  for (int i = 0; i < 200; ++i) positions.push_back(std::floor(random.between(-16777216, 16777216)));
  return positions;
}

// Half an ulp of f32 is 2^-25 below 1, and 2^-24 from 1 to 2. The error of the angle adds to that: at position 2^24 an error in the last
// bits of a frequency (2^-51 relative) changes the angle by 2^-27. Both are multiplied by the attention factor.
Real tolerance(Real attention_factor) { return attention_factor == 1 ? 0x1p-24L : 0x1p-24L + attention_factor * 0x1p-26L; }

TEST(CosSinTable, IsWithinTwoToMinus24OfTheExactValue) {
  const std::vector<double> positions = hard_positions();
  for (const auto& [name, config, length] : every_type(128)) {
    if (config.rope_type == RopeType::custom) continue;  // frequencies above 1 have their own test
    const oracle::Plan exact = oracle::plan(config, length);
    Table table(config, length);
    ASSERT_EQ(table.write_ids(positions), Status::ok) << name;
    Real worst = 0;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      for (std::size_t j = 0; j < 64; ++j) {
        const Real angle = positions[i] * exact.inv_freq[j];
        worst = std::max(worst, std::fabs(table.cos(i * 64 + j) - std::cos(angle) * exact.attention_factor));
        worst = std::max(worst, std::fabs(table.sin(i * 64 + j) - std::sin(angle) * exact.attention_factor));
      }
    }
    EXPECT_LE(worst, tolerance(exact.attention_factor)) << name;
  }
}

// The same for published bases, at positions where transformers' f32 angles (modeling_rope_utils.py) are off by up to 1e-2.
TEST(CosSinTable, IsExactWhereF32AnglesAreNot) {
  for (const double base : {1e4, 5e5, 1e6, 1e7, 1e8}) {
    for (const int head_dim : {24, 64, 96, 128, 256}) {
      const auto inv_freq = oracle::plain(base, head_dim, head_dim / 2);
      Table table(plain_config(head_dim, base));
      for (const int first : {4096, 32768, 131072, 393216, 1048576, 16777210}) {
        const Positions positions = {static_cast<double>(first), nullptr, 1, 1, 7};
        ASSERT_EQ(table.write(positions), Status::ok);
        for (int t = 0; t < 7; ++t) {
          for (std::size_t j = 0; j < table.pairs(); ++j) {
            const Real angle = (first + t) * inv_freq[j];
            ASSERT_LE(std::fabs(table.cos(t * table.pairs() + j) - std::cos(angle)), 0x1p-24L) << base << ", " << first + t << ", " << j;
            ASSERT_LE(std::fabs(table.sin(t * table.pairs() + j) - std::sin(angle)), 0x1p-24L) << base << ", " << first + t << ", " << j;
          }
        }
      }
    }
  }
}

TEST(CosSinTable, FractionalPositions) {
  Table table(plain_config(64, 5e5));
  const auto inv_freq = oracle::plain(5e5, 64, 32);
  const std::vector<double> positions = {0.5, 0.25, -0.75, 1000.125, 131071.3, -4095.999, 1e-9};
  ASSERT_EQ(table.write_ids(positions), Status::ok);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    for (std::size_t j = 0; j < 32; ++j) {
      EXPECT_LE(std::fabs(table.cos(i * 32 + j) - std::cos(positions[i] * inv_freq[j])), 0x1p-24L) << positions[i];
      EXPECT_LE(std::fabs(table.sin(i * 32 + j) - std::sin(positions[i] * inv_freq[j])), 0x1p-24L) << positions[i];
    }
  }
}

// At 2^31 an error in the last bits of a frequency changes the angle by 2^-20. The table stays finite and within that error.
TEST(CosSinTable, HoldsUpToTwoTo31) {
  Table table(plain_config(128, 1e6));
  const auto inv_freq = oracle::plain(1e6, 128, 64);
  const std::vector<double> positions = {-2147483648.0, 2147483647.0, 2147483647.5, 2147483584.0, 1e9, 1073741824.0};
  ASSERT_EQ(table.write_ids(positions), Status::ok);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    for (std::size_t j = 0; j < 64; ++j) {
      ASSERT_LE(std::fabs(table.cos(i * 64 + j) - std::cos(positions[i] * inv_freq[j])), 0x1p-20L) << positions[i] << ", " << j;
      ASSERT_LE(std::fabs(table.sin(i * 64 + j) - std::sin(positions[i] * inv_freq[j])), 0x1p-20L) << positions[i] << ", " << j;
    }
  }
}

TEST(CosSinTable, UnrotatedPairsKeepCosineOne) {
  RopeConfig config = plain_config(64, 1e6);
  config.rope_type = RopeType::proportional;
  config.partial_rotary_factor = 0.25;
  Table table(config);
  ASSERT_EQ(table.write_ids({1e6, -5, 0.5}), Status::ok);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 8; j < 32; ++j) {
      EXPECT_EQ(table.cos(i * 32 + j), 1);
      EXPECT_EQ(table.sin(i * 32 + j), 0);
    }
  }
}

// A row at an integer position doesn't depend on the other positions of the request, their order or form.
TEST(CosSinTable, RowsDoNotDependOnOtherPositions) {
  for (const RopeConfig& config : {plain_config(128, 1e6), plain_config(6), yarn_config(128, 1e6, 4, 32768)}) {
    Table range(config), ids(config), single(config), backwards(config);
    for (const int first : {0, 60, -70, 131000}) {
      ASSERT_EQ(range.write({static_cast<double>(first), nullptr, 1, 1, 140}), Status::ok);
      std::vector<double> list, reversed;
      for (int t = 0; t < 140; ++t) list.push_back(first + t), reversed.push_back(first + 139 - t);
      ASSERT_EQ(ids.write_ids(list), Status::ok);
      EXPECT_EQ(ids.cos_bytes(), range.cos_bytes());
      EXPECT_EQ(ids.sin_bytes(), range.sin_bytes());
      ASSERT_EQ(backwards.write_ids(reversed), Status::ok);
      const std::size_t row = range.pairs();
      for (int t = 0; t < 140; ++t) {
        ASSERT_EQ(single.write({static_cast<double>(first + t), nullptr, 1, 1, 1}), Status::ok);
        for (std::size_t j = 0; j < row; ++j) {
          ASSERT_EQ(single.cos(j), range.cos(t * row + j));
          ASSERT_EQ(single.sin(j), range.sin(t * row + j));
          ASSERT_EQ(backwards.cos((139 - t) * row + j), range.cos(t * row + j));
        }
      }
    }
  }
}

TEST(CosSinTable, LayoutsRepeatTheCompactRows) {
  Table compact(plain_config(12)), half(plain_config(12)), interleaved(plain_config(12));
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const std::vector<double> ids = {3, 100, 5, 77777};
    ASSERT_EQ(compact.write_ids(ids, {}, dtype, TableLayout::compact), Status::ok);
    ASSERT_EQ(half.write_ids(ids, {}, dtype, TableLayout::half), Status::ok);
    ASSERT_EQ(interleaved.write_ids(ids, {}, dtype, TableLayout::interleaved), Status::ok);
    const std::size_t size = size_of(dtype);
    const auto element = [&](const std::vector<std::uint8_t>& bytes, std::size_t i) {
      return std::vector<std::uint8_t>(bytes.begin() + i * size, bytes.begin() + (i + 1) * size);
    };
    for (std::size_t row = 0; row < 4; ++row) {
      for (std::size_t j = 0; j < 6; ++j) {
        for (const auto bytes : {&Table::cos_bytes, &Table::sin_bytes}) {
          const auto value = element((compact.*bytes)(), row * 6 + j);
          EXPECT_EQ(element((half.*bytes)(), row * 12 + j), value);
          EXPECT_EQ(element((half.*bytes)(), row * 12 + j + 6), value);
          EXPECT_EQ(element((interleaved.*bytes)(), row * 12 + 2 * j), value);
          EXPECT_EQ(element((interleaved.*bytes)(), row * 12 + 2 * j + 1), value);
        }
      }
    }
  }
}

// Exported bytes of scaling types with all kinds of arithmetic, exact and rounded as transformers does. See
// ReproducibleMath.GivesTheSameBitsEverywhere.
TEST(CosSinTable, GivesTheSameBytesEverywhere) {
  std::uint64_t digest = 0xcbf29ce484222325ull;
  std::vector<NamedConfig> configs = every_type(64);
  configs.erase(configs.begin() + 19, configs.end());  // a type that is added doesn't change the digest
  for (auto& [name, config, length] : configs) {
    for (const Precision precision : {Precision::exact, Precision::hf}) {
      RopeConfig rounded = config;
      rounded.precision = precision;
      Table table(rounded, length);
      ASSERT_EQ(table.write_ids({0, 1, 65, 4095.25, 131071, 999999, 16777215, -77}), Status::ok);
      for (const auto* bytes : {&table.cos_bytes(), &table.sin_bytes()}) {
        for (const std::uint8_t byte : *bytes) digest = (digest ^ byte) * 0x100000001b3ull;
      }
    }
  }
  EXPECT_EQ(digest, 17664348627618046735ull);
}

TEST(CosSinTable, SixteenBitTablesAreRoundedOnce) {
  const std::vector<double> positions = hard_positions();
  for (const RopeConfig& config : {plain_config(128, 1e6), yarn_config(128, 1e6, 4, 32768)}) {
    for (const DType dtype : {DType::f16, DType::bf16}) {
      Table table(config);
      ASSERT_EQ(table.write_ids(positions, {}, dtype), Status::ok);
      for (std::size_t i = 0; i < positions.size(); ++i) {
        table.rows().compute(&positions[i], {});
        for (std::size_t j = 0; j < 64; ++j) {
          std::uint16_t cos, sin;
          std::memcpy(&cos, table.cos_bytes().data() + (i * 64 + j) * 2, 2);
          std::memcpy(&sin, table.sin_bytes().data() + (i * 64 + j) * 2, 2);
          ASSERT_EQ(cos, oracle::encode(table.rows().cos()[j], dtype));
          ASSERT_EQ(sin, oracle::encode(table.rows().sin()[j], dtype));
        }
      }
    }
  }
}

// Next to a tie, rounding to f32 first gives the tie, which then rounds the wrong way. At position 0 cos is the attention factor.
TEST(CosSinTable, SixteenBitTablesAreNotRoundedTwice) {
  RopeConfig config = yarn_config(8, 10000, 4, 4096);
  const struct {
    DType dtype;
    double tie;
  } cases[] = {{DType::f16, 1 + 0x1p-11}, {DType::f16, 1 + 0x3p-11}, {DType::bf16, 1 + 0x1p-8}, {DType::bf16, 1 + 0x3p-8}};
  for (const auto& [dtype, tie] : cases) {
    for (const double factor : {tie - 0x1p-40, tie, tie + 0x1p-40}) {
      config.attention_factor = factor;
      Table table(config);
      ASSERT_EQ(table.write_ids({0}, {}, dtype), Status::ok);
      std::uint16_t cos;
      std::memcpy(&cos, table.cos_bytes().data(), 2);
      EXPECT_EQ(cos, oracle::encode(factor, dtype)) << tie << " " << factor - tie;
    }
  }
}

TEST(CosSinTable, UnknownStorageAndLayoutAreRefused) {
  const FrequencyPlan plan = plan_of(plain_config(8));
  CosSinRows rows;
  ASSERT_EQ(rows.prepare(plan), Status::ok);
  float cos[4], sin[4];
  const Positions one = {0, nullptr, 1, 1, 1};
  EXPECT_EQ(write_table(rows, one, {}, DType{3}, TableLayout::compact, cos, sin), Status::dtype_unknown);
  EXPECT_EQ(write_table(rows, one, {}, DType::f32, TableLayout{3}, cos, sin), Status::layout_unknown);
  EXPECT_EQ(write_table(rows, one, {}, DType::f32, TableLayout{-1}, cos, sin), Status::layout_unknown);
}

// What write_table() writes in any layout and element type, read_table() reads as one value for each pair.
TEST(ReadTable, ReadsEveryLayoutAndElementType) {
  RopeConfig config;
  config.head_dim = 24;
  Table table(config);
  const std::vector<double> ids = {0, 1, 77, 4095.5};
  const int rows = static_cast<int>(ids.size()), pairs = 12;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    ASSERT_EQ(table.write_ids(ids, {}, dtype, TableLayout::compact), Status::ok);
    std::vector<float> compact(rows * pairs), read(rows * pairs);
    ASSERT_EQ(read_table(table.cos_bytes().data(), dtype, TableLayout::compact, rows, pairs, compact.data()), Status::ok);
    if (dtype == DType::f32) {
      EXPECT_EQ(std::memcmp(compact.data(), table.cos_bytes().data(), table.cos_bytes().size()), 0);
    }
    for (const TableLayout layout : {TableLayout::half, TableLayout::interleaved}) {
      ASSERT_EQ(table.write_ids(ids, {}, dtype, layout), Status::ok);
      ASSERT_EQ(read_table(table.cos_bytes().data(), dtype, layout, rows, pairs, read.data()), Status::ok);
      EXPECT_EQ(read, compact);
    }
  }
}

TEST(ReadTable, RefusesPairsThatDiffer) {
  float target[2];
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float half[] = {1, 2, 1, 2}, interleaved[] = {1, 1, 2, 2}, same[] = {nan, 0, nan, -0.0f};
  EXPECT_EQ(read_table(half, DType::f32, TableLayout::half, 1, 2, target), Status::ok);
  EXPECT_EQ(read_table(half, DType::f32, TableLayout::interleaved, 1, 2, target), Status::table_pairs_differ);
  EXPECT_EQ(read_table(interleaved, DType::f32, TableLayout::interleaved, 1, 2, target), Status::ok);
  EXPECT_EQ(read_table(interleaved, DType::f32, TableLayout::half, 1, 2, target), Status::table_pairs_differ);
  EXPECT_EQ(read_table(same, DType::f32, TableLayout::half, 1, 2, target), Status::ok);
  EXPECT_EQ(read_table(half, DType{3}, TableLayout::half, 1, 2, target), Status::dtype_unknown);
  EXPECT_EQ(read_table(half, DType::f32, TableLayout{3}, 1, 2, target), Status::layout_unknown);
}

}  // namespace
}  // namespace ropewalk
