// Images of recurrent states: what they restore, and that damaged or foreign ones change nothing.
#include "cache/recurrent_image.h"

#include <cmath>

#include "native/cache/kv_images.h"
#include "native/cache/recurrent_text.h"

namespace ropewalk {
namespace {

// Offsets of the header and content (recurrent_image.h), for kStateSizes.
constexpr std::size_t kAtNow = kAtHeader, kAtBefore = kAtHeader + 4, kAtSizes = kAtHeader + 8, kAtFloats = kAtSizes + 4 * 8;

Bytes saved(const RecurrentState& state) {
  Bytes bytes(RecurrentImage::bytes(state) + 1, 0xA5);
  RecurrentImage::save(state, bytes.data());
  EXPECT_EQ(bytes.back(), 0xA5);
  bytes.pop_back();
  return bytes;
}

Status restore(RecurrentState& state, const Bytes& bytes) { return RecurrentImage::restore(state, bytes.data(), bytes.size()); }

struct Images : testing::Test {
  Images() {
    for (RecurrentText* text : {&source, &target}) text->read(4).checkpoint().read(3);
    target.read(2);
  }

  // The target has its 9 tokens, the state before its last call, and its checkpoint.
  void expect_unchanged() {
    EXPECT_EQ(saved(target), before);
    EXPECT_EQ(target.seen(), 9);
    EXPECT_EQ(target.checkpoints(), 1);
  }
  void expect_refused(const Bytes& bytes, Status status) {
    EXPECT_EQ(restore(target, bytes), status);
    expect_unchanged();
  }

  RecurrentText source, target;
  Bytes image, before;
  void SetUp() override { image = saved(source), before = saved(target); }
};

using RecurrentImages = Images;

TEST_F(RecurrentImages, RoundTripBitForBit) {
  ASSERT_EQ(restore(target, image), Status::ok);
  EXPECT_EQ(saved(target), image);
  EXPECT_EQ(target.tokens(), 7);
  EXPECT_EQ(target.seen(), 7);
  EXPECT_EQ(target.checkpoints(), 0) << "checkpoints aren't saved, and those of the text that was there don't belong to this one";
  EXPECT_EQ(target.rewind(6), 4) << "the state before the last call";
  EXPECT_EQ(target.seen(), 4);
  target.read(1);
  EXPECT_EQ(target.seen(), 5);
}

TEST_F(RecurrentImages, WithoutAStateBeforeTheLastCall) {
  const RecurrentText empty;
  const Bytes of_empty = saved(empty);
  EXPECT_EQ(of_empty.size(), image.size() - source.floats() * sizeof(float));
  ASSERT_EQ(restore(target, of_empty), Status::ok);
  EXPECT_EQ(saved(target), of_empty);
  EXPECT_EQ(target.tokens(), 0);
  EXPECT_EQ(target.seen(), 0);
  source.rewind(5);
  ASSERT_EQ(restore(target, saved(source)), Status::ok);
  EXPECT_EQ(target.seen(), 4);
  EXPECT_EQ(target.rewind(3), 0);
}

TEST_F(RecurrentImages, WithoutNumbers) {
  RecurrentText none(1, {0, 0}), other(1, {0, 0});
  none.read(5);
  ASSERT_EQ(restore(other, saved(none)), Status::ok);
  EXPECT_EQ(other.tokens(), 5);
}

TEST_F(RecurrentImages, BeginAndEndAsDescribed) {
  EXPECT_EQ(std::string(image.begin(), image.begin() + 8), "ROPEWALK");
  EXPECT_EQ(value_at<std::uint32_t>(image, kAtKind), 3u);
  EXPECT_EQ(value_at<std::uint32_t>(image, kAtVersion), 1u);
  EXPECT_EQ(value_at<std::uint32_t>(image, kAtHeaderBytes), 8u + 4 * 8);
  EXPECT_EQ(value_at<double>(image, kAtTotalBytes), static_cast<double>(image.size()));
  EXPECT_EQ(value_at<std::int32_t>(image, kAtNow), 7);
  EXPECT_EQ(value_at<std::int32_t>(image, kAtBefore), 4);
  for (int layer = 0; layer < 4; ++layer) EXPECT_EQ(value_at<double>(image, kAtSizes + layer * 8), kStateSizes[layer]);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(value_at<float>(image, kAtFloats + i * 4), 7);
    EXPECT_EQ(value_at<float>(image, kAtFloats + (9 + i) * 4), 4);
  }
  EXPECT_EQ(value_at<std::uint32_t>(image, image.size() - 4), crc_of(image.data(), image.size() - 4));
}

TEST_F(RecurrentImages, MayHaveAnyAddress) {
  for (std::size_t shift = 1; shift < 8; ++shift) {
    Bytes shifted(shift + image.size());
    std::copy(image.begin(), image.end(), shifted.begin() + static_cast<std::ptrdiff_t>(shift));
    ASSERT_EQ(RecurrentImage::restore(target, shifted.data() + shift, image.size()), Status::ok);
    RecurrentImage::save(target, shifted.data() + shift);
    EXPECT_TRUE(std::equal(image.begin(), image.end(), shifted.begin() + static_cast<std::ptrdiff_t>(shift)));
  }
}

TEST_F(RecurrentImages, AnyBeginningAndAnythingAfterItIsRefused) {
  for (std::size_t size = 0; size < image.size(); ++size) {
    const Bytes part(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));  // a copy, so that reading past the end is detected
    ASSERT_EQ(restore(target, part), Status::image_too_short) << size;
  }
  Bytes longer = image;
  longer.push_back(0);
  expect_refused(longer, Status::image_content);
}

TEST_F(RecurrentImages, AnyDamagedByteIsRefused) {
  for (std::size_t at = 0; at < image.size(); ++at) {
    for (const int change : {0x01, 0x10, 0x80, 0xFF}) {
      Bytes damaged = image;
      damaged[at] ^= static_cast<std::uint8_t>(change);
      const Status status = restore(target, damaged);
      ASSERT_TRUE(status >= Status::image_too_short && status <= Status::image_rope) << "byte " << at;
      ASSERT_TRUE(at < kAtFloats || status == Status::image_checksum) << "byte " << at;
    }
  }
  expect_unchanged();
}

// With the right checksum, and still not an image that save() writes.
TEST_F(RecurrentImages, NumbersThatCannotBeAreRefused) {
  for (const std::int32_t tokens : {-1, -2, 3, INT32_MIN}) expect_refused(patched(image, kAtNow, tokens), Status::image_content);
  for (const std::int32_t tokens : {-2, 8, INT32_MAX, INT32_MIN, -1})
    expect_refused(patched(image, kAtBefore, tokens), Status::image_content);
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    for (const int i : {0, 8, 9, 17}) expect_refused(patched(image, kAtFloats + i * 4, bad), Status::image_content);
  }
  for (const double total : {0.0, -1.0, 1e300, static_cast<double>(NAN)}) {
    Bytes damaged = patched(image, kAtTotalBytes, total);
    EXPECT_NE(restore(target, damaged), Status::ok);
  }
  for (const std::uint32_t header : {0u, 8u, 48u, 0xFFFFFFFFu})
    expect_refused(patched(image, kAtHeaderBytes, header), Status::image_geometry);
  expect_refused(patched<std::uint32_t>(image, kAtVersion, 2), Status::image_version);
  for (const std::uint32_t kind : {0u, 1u, 2u, 4u}) expect_refused(patched(image, kAtKind, kind), Status::image_unrecognized);
}

TEST_F(RecurrentImages, FitOnlyTheirSizes) {
  for (const std::vector<std::size_t>& sizes :
       {std::vector<std::size_t>{3, 0, 5}, {3, 0, 5, 1, 0}, {3, 5, 0, 1}, {3, 0, 5, 2}, {4, 0, 4, 1}, {}}) {
    RecurrentText other(2, sizes);
    other.read(2);
    const Bytes own = saved(other);
    EXPECT_EQ(restore(other, image), Status::image_geometry);
    EXPECT_EQ(saved(other), own);
    expect_refused(own, Status::image_geometry);
  }
  for (const double size : {-3.0, 3.5, 1e18, static_cast<double>(NAN)})
    expect_refused(patched(image, kAtSizes, size), Status::image_geometry);
}

}  // namespace
}  // namespace ropewalk
