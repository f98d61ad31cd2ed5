#include "cache/kv_image.h"

#include <gtest/gtest.h>

#include "native/cache/kv_expect.h"
#include "native/cache/kv_images.h"

namespace ropewalk {
namespace {

// Offsets of the header (kv_image.cpp): geometry, then one of these for each layer, then plans.
constexpr std::size_t kAtTokens = kAtHeader + 20, kAtLargestKey = kAtHeader + 24, kAtPlannedLength = kAtHeader + 32,
                      kAtLayers = kAtHeader + 40, kLayerBytes = 16, kPlanBytes = 56;

RopeConfig base_config() {
  RopeConfig config = dynamic_config(16, 10000, 2, 24);
  config.rotary_dim = 12, config.rotary_offset = 2;
  return config;
}

CacheSetup base_setup(RowType type = RowType::f32, KeyMode mode = KeyMode::rotated) {
  return {{{2, 16, 0}, {1, 5, kNoRope}, {1, 16, 0}}, {base_config()}, type, mode, 2, 100};
}

// A cache with `tokens` tokens; the last layer has a few less.
struct Filled {
  ConfiguredCache cache;
  KvModel model;

  explicit Filled(const CacheSetup& setup, int tokens = 40, std::uint32_t seed = 1) : cache(setup), model(setup) {
    for (int layer = 0; layer < static_cast<int>(setup.layers.size()) && tokens > 0; ++layer) {
      Tokens given(setup.layers[layer], layer < 2 ? tokens : (tokens + 1) / 2, seed + layer);
      EXPECT_EQ(cache.append(layer, 0, given.without_queries()), Status::ok);
      model.append(layer, 0, given);
    }
  }
};

TEST(KvImage, RoundTripsBitForBitInAnyPieces) {
  for (const RowType type : kTestedRowTypes) {
    for (const KeyMode mode : kKeyModes) {
      for (const int tokens : {0, 1, 32, 70}) {
        SCOPED_TRACE(testing::Message() << name_of(type, mode) << ", " << tokens << " tokens");
        Filled source(base_setup(type, mode), tokens);
        const Snapshot before = snapshot_of(source.cache);
        const Bytes image = saved(source.cache, 0);
        for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
          ASSERT_EQ(saved(source.cache, 0, piece), image) << "pieces of " << piece;
          ConfiguredCache target(base_setup(type, mode));
          ASSERT_EQ(restore(target, 0, image, piece), Status::ok);
          ASSERT_TRUE(snapshot_of(target) == before) << "pieces of " << piece;
        }
        ASSERT_EQ(restore(source.cache, 1, image), Status::ok) << "as another sequence, and over it again";
        ASSERT_EQ(restore(source.cache, 0, image), Status::ok);
        source.model.copy(0, 1, tokens);
        ASSERT_NO_FATAL_FAILURE(expect_holds(source.cache, source.model));
      }
    }
  }
}

// The current plan is the one of the last append, for a longer sequence than what is left. The image contains it.
TEST(KvImage, KeepsTheCurrentPlan) {
  for (const KeyMode mode : kKeyModes) {
    Filled source(base_setup(RowType::bf16, mode), 70);
    ASSERT_EQ(source.cache.truncate(0, 10), Status::ok);
    ConfiguredCache target(base_setup(RowType::bf16, mode));
    ASSERT_EQ(restore(target, 0, saved(source.cache, 0)), Status::ok);
    EXPECT_TRUE(snapshot_of(target) == snapshot_of(source.cache));
    EXPECT_EQ(target.sequence(0).planned_length(0), 70);
  }
}

TEST(KvImage, BeginsAndEndsAsDescribed) {
  Filled source(base_setup());
  const Bytes image = saved(source.cache, 0);
  EXPECT_EQ(std::string(image.begin(), image.begin() + 8), "ROPEWALK");
  EXPECT_EQ(value_at<std::uint32_t>(image, kAtKind), 1u);
  EXPECT_EQ(value_at<std::uint32_t>(image, kAtVersion), 1u);
  EXPECT_EQ(value_at<double>(image, kAtTotalBytes), static_cast<double>(image.size()));
  EXPECT_EQ(value_at<std::int32_t>(image, kAtTokens), 40);
  EXPECT_EQ(value_at<double>(image, kAtPlannedLength), 40);
  // positions, and keys and values of [2][40][16], [1][40][5] and [1][20][16]
  EXPECT_EQ(image.size(), 32 + value_at<std::uint32_t>(image, kAtHeaderBytes) + 40 * 8 + 2 * 4 * (2 * 40 * 16 + 40 * 5 + 20 * 16) + 4);
  EXPECT_EQ(value_at<std::uint32_t>(image, image.size() - 4), crc_of(image.data(), image.size() - 4));
}

TEST(KvImage, ACacheWithOtherRopesRerotatesTheKeys) {
  const auto with_shape = [](RopeConfig config) {
    config.head_dim = 16, config.rotary_dim = 12, config.rotary_offset = 2;
    return config;
  };
  for (const RopeConfig& config : {with_shape(plain_config(16)), with_shape(yarn_config(16, 1e6, 4, 16)), with_shape(xpos_config(16)),
                                   with_shape(longrope_config(12, 10000, 24, 96)), with_shape(dynamic_config(16, 10000, 4, 30))}) {
    for (const RowType type : kTestedRowTypes) {
      for (const KeyMode mode : kKeyModes) {
        Filled source(base_setup(type, mode));
        CacheSetup other = base_setup(type, mode);
        other.ropes = {config};
        for (const bool is_back : {false, true}) {  // and in the other direction
          Filled target(is_back ? base_setup(type, mode) : other), from(is_back ? other : base_setup(type, mode), 40, 7);
          ASSERT_EQ(restore(target.cache, 1, saved(from.cache, 0), 999), Status::ok);
          target.model.adopt(1, from.model[0]);
          ASSERT_NO_FATAL_FAILURE(expect_holds(target.cache, target.model)) << name_of(type, mode);
          ASSERT_NO_FATAL_FAILURE(expect_attends(target.cache, target.model, 1, 2, 2, 3)) << name_of(type, mode);
        }
      }
    }
  }
}

// The largest key is restored: a plan that would scale it beyond f16 is refused, with the image and later.
TEST(KvImage, LargeKeysAreStillKnown) {
  RopeConfig stretched = yarn_config(16, 10000, 4, 64);
  stretched.attention_factor = 1.5;
  ConfiguredCache source(simple_setup(plain_config(16), RowType::f16)), target(simple_setup(plain_config(16), RowType::f16)),
      other(simple_setup(stretched, RowType::f16));
  Tokens tokens({2, 16, 0}, 3, 1);
  tokens.k.set_bits(40, oracle::encode(40000, DType::f32));
  ASSERT_EQ(source.append(0, 0, tokens.without_queries()), Status::ok);
  ASSERT_EQ(restore(target, 0, saved(source, 0)), Status::ok);
  EXPECT_EQ(target.can_retune(0, stretched), Status::key_not_finite);
  EXPECT_EQ(restore(other, 0, saved(source, 0)), Status::image_misfit);
  EXPECT_EQ(other.sequence(0).tokens(), 0);
}

// Whatever is wrong, the cache keeps its bits.
class RefusedImage : public testing::Test {
 protected:
  void expect_refused(const Bytes& image, Status status, const char* what = "") {
    EXPECT_EQ(restore(target.cache, 0, image), status) << what;
    EXPECT_TRUE(snapshot_of(target.cache) == before) << what;
  }
  void expect_foreign(const CacheSetup& setup, Status status) {
    Filled other(setup, 20, 9);
    expect_refused(saved(other.cache, 0), status);
    ConfiguredCache empty(setup);
    EXPECT_EQ(restore(empty, 0, image), status) << "in the other direction";
    EXPECT_EQ(empty.sequence(0).tokens(), 0);
  }

  Filled source{base_setup(), 5, 3}, target{base_setup(), 33, 2};
  const Bytes image = saved(source.cache, 0);
  const Snapshot before = snapshot_of(target.cache);
};

TEST_F(RefusedImage, AnyBeginningOfIt) {
  for (std::size_t size = 0; size < image.size(); ++size) {
    const Bytes part(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_EQ(restore(target.cache, 0, part), Status::image_too_short) << size;
    // and in pieces
    KvImageReader reader;
    ASSERT_EQ(reader.open(target.cache, 0, static_cast<double>(image.size())), Status::ok);
    ASSERT_EQ(reader.write(part.data(), size), Status::ok);
    ASSERT_EQ(reader.finish(), Status::image_too_short) << size;
  }
  EXPECT_TRUE(snapshot_of(target.cache) == before);
}

TEST_F(RefusedImage, AnyByteChanged) {
  for (std::size_t at = 0; at < image.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      Bytes damaged = image;
      damaged[at] ^= static_cast<std::uint8_t>(change);
      KvImageReader reader;
      ASSERT_EQ(reader.open(target.cache, 0, static_cast<double>(image.size())), Status::ok);
      const Status status = reader.write(damaged.data(), damaged.size());
      ASSERT_NE(status, Status::ok) << "byte " << at;
      ASSERT_TRUE(at < kAtHeader + value_at<std::uint32_t>(image, kAtHeaderBytes) || status == Status::image_checksum) << "byte " << at;
      ASSERT_NE(reader.finish(), Status::ok) << "byte " << at << ", though write() had refused it";
    }
  }
  EXPECT_TRUE(snapshot_of(target.cache) == before);
}

TEST_F(RefusedImage, BytesAfterItsEnd) {
  Bytes longer = image;
  longer.push_back(0);
  expect_refused(longer, Status::image_content);
  KvImageReader reader;
  ASSERT_EQ(reader.open(target.cache, 0, static_cast<double>(image.size())), Status::ok);
  ASSERT_EQ(reader.write(image.data(), image.size()), Status::ok);
  EXPECT_EQ(reader.write(image.data(), 1), Status::image_content);
}

TEST_F(RefusedImage, OfAnotherKindOrVersion) {
  expect_refused(patched<std::uint8_t>(image, 0, 'r'), Status::image_unrecognized);
  expect_refused(patched<std::uint32_t>(image, kAtKind, 2), Status::image_unrecognized, "linear attention");
  expect_refused(patched<std::uint32_t>(image, kAtVersion, 2), Status::image_version);
  expect_refused(Bytes(100, 0), Status::image_unrecognized);
}

TEST_F(RefusedImage, OfAnotherGeometry) {
  expect_foreign(base_setup(RowType::f16), Status::image_geometry);
  expect_foreign(base_setup(RowType::f32, KeyMode::raw), Status::image_geometry);
  const auto expect_other = [&](auto change) {
    CacheSetup setup = base_setup();
    change(setup);
    expect_foreign(setup, Status::image_geometry);
  };
  static const std::vector<double> sections = {2, 2, 2};
  expect_other([](CacheSetup& s) { s.layers.pop_back(); });
  expect_other([](CacheSetup& s) { s.layers[0].kv_heads = 1; });
  expect_other([](CacheSetup& s) { s.layers[1].head_dim = 6; });
  expect_other([](CacheSetup& s) { s.layers[2].rope = kNoRope; });
  expect_other([](CacheSetup& s) { s.ropes.push_back(s.ropes[0]); });
  expect_other([](CacheSetup& s) { s.ropes[0].rotary_dim = 10; });
  expect_other([](CacheSetup& s) { s.ropes[0].rotary_offset = 0; });
  expect_other([](CacheSetup& s) { s.ropes[0].pairing = Pairing::interleaved; });
  expect_other([](CacheSetup& s) { s.ropes[0].mrope_section = sections; });
}

TEST_F(RefusedImage, LongerThanTheCacheMayBe) {
  Filled long_one(base_setup(), 41);
  for (const int limit : {40, 41}) {
    CacheSetup setup = base_setup();
    setup.max_tokens = limit;
    ConfiguredCache cache(setup);
    EXPECT_EQ(restore(cache, 0, saved(long_one.cache, 0)), limit < 41 ? Status::image_too_many_tokens : Status::ok);
  }
}

// Values that no cache writes, with a correct checksum.
TEST_F(RefusedImage, OfImpossibleValues) {
  const std::size_t written = kAtLayers + 12, plan = kAtLayers + 3 * kLayerBytes,
                    content = kAtHeader + value_at<std::uint32_t>(image, kAtHeaderBytes);
  ASSERT_EQ(content, plan + kPlanBytes + 2 * 6 * 8) << "the offsets of this test are those of kv_image.cpp";
  const double nan = std::nan("");
  for (const int count : {-1, 4, 6, 100, 101, INT32_MIN, INT32_MAX})
    expect_refused(patched(image, kAtTokens, count), Status::image_content, "tokens");
  for (const int count : {-1, 4, 6, INT32_MIN, INT32_MAX}) expect_refused(patched(image, written, count), Status::image_content, "written");
  expect_refused(patched(image, kAtLargestKey, std::nanf("")), Status::image_content);
  expect_refused(patched(image, kAtLargestKey, -1.0f), Status::image_content);
  for (const double length : {nan, 0.0, -5.0, 1e300, HUGE_VAL})
    expect_refused(patched(image, kAtPlannedLength, length), Status::image_content);
  for (const double total : {nan, HUGE_VAL}) EXPECT_NE(restore(target.cache, 0, patched(image, kAtTotalBytes, total)), Status::ok);
  for (const std::uint32_t bytes : {0u, 39u, 0xFFFFFFFFu}) expect_refused(patched(image, kAtHeaderBytes, bytes), Status::image_content);
  for (const std::uint32_t bytes : {40u, 87u, 88u, 100u}) expect_refused(patched(image, kAtHeaderBytes, bytes), Status::image_geometry);
  for (const int layers : {0, 2, 4, -1, INT32_MAX})
    expect_refused(patched(image, kAtHeader + 12, layers), Status::image_geometry, "layers");
  for (const int ropes : {0, 2, -1, INT32_MAX}) expect_refused(patched(image, kAtHeader + 16, ropes), Status::image_geometry, "ropes");

  for (const int precision : {-1, 2}) expect_refused(patched(image, plan + 16, precision), Status::image_content);
  expect_refused(patched(image, plan + 24, 1), Status::image_geometry, "xPos scales that are not there");
  for (const double factor : {nan, 0.0, -1.0, HUGE_VAL, 1e-300}) expect_refused(patched(image, plan + 32, factor), Status::image_content);
  for (const double frequency : {nan, HUGE_VAL}) expect_refused(patched(image, plan + kPlanBytes, frequency), Status::image_content);
  expect_refused(patched(image, plan + kPlanBytes + 6 * 8, 1.0), Status::image_content, "the axis of a pair");

  for (const double position : {nan, HUGE_VAL, -HUGE_VAL, 1e300, 4294967296.0}) {
    expect_refused(patched(image, content + 4 * 8, position), Status::image_content);
  }
  for (const std::size_t at : {content + 5 * 8, image.size() - 8}) {  // the first key, the last value
    expect_refused(patched(image, at, std::nanf("")), Status::image_content);
    expect_refused(patched(image, at, HUGE_VALF), Status::image_content);
  }
}

// A header may claim any number of tokens: memory is only allocated if the image is long enough.
TEST_F(RefusedImage, ClaimsAllocateNoMemory) {
  CacheSetup setup = base_setup();
  setup.max_tokens = kMaxCacheTokens;
  ConfiguredCache cache(setup);
  EXPECT_EQ(restore(cache, 0, patched(image, kAtTokens, kMaxCacheTokens)), Status::image_content);
}

TEST_F(RefusedImage, ReadersFinishOnce) {
  KvImageReader reader;
  EXPECT_EQ(reader.finish(), Status::image_too_short) << "nothing was opened";
  EXPECT_EQ(reader.open(target.cache, -1, 100), Status::sequence_out_of_range);
  EXPECT_EQ(reader.open(target.cache, 2, 100), Status::sequence_out_of_range);
  ASSERT_EQ(reader.open(target.cache, 1, static_cast<double>(image.size())), Status::ok);
  ASSERT_EQ(reader.write(image.data(), image.size()), Status::ok);
  ASSERT_EQ(reader.finish(), Status::ok);
  EXPECT_EQ(reader.finish(), Status::image_too_short);
  ASSERT_EQ(reader.open(target.cache, 0, static_cast<double>(image.size())), Status::ok) << "and can start again";
  ASSERT_EQ(reader.write(image.data(), image.size()), Status::ok);
  ASSERT_EQ(reader.finish(), Status::ok);
  EXPECT_TRUE(read_all(target.cache, 0, 0) == read_all(target.cache, 0, 1));

  KvImageWriter writer;
  EXPECT_EQ(writer.open(source.cache, -1), Status::sequence_out_of_range);
  EXPECT_EQ(writer.open(source.cache, 2), Status::sequence_out_of_range);
}

}  // namespace
}  // namespace ropewalk
