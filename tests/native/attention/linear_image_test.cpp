#include "attention/linear_image.h"

#include <gtest/gtest.h>

#include "native/attention/linear_sequence.h"
#include "native/cache/kv_images.h"
#include "native/cache/kv_tokens.h"

namespace ropewalk {
namespace {

// Offsets of the header (linear_image.h).
constexpr std::size_t kAtTokens = kAtHeader + 16, kAtState = kAtHeader + 24;

const Shapes kShapes = {4, 2, 6, 10};

struct Filled : ConfiguredAttention {
  explicit Filled(const Shapes& shapes = kShapes, std::uint32_t seed = 1) : ConfiguredAttention(shapes) {
    Sequence sequence(shapes, seed);
    ConfiguredRope rope(plain_config(shapes.dim));
    EXPECT_EQ(append(&rope, from(0, shapes.tokens), sequence.tokens()), Status::ok);
  }
};

Bytes saved(const LinearAttention& attention) {
  Bytes bytes(linear_image_bytes(attention));
  save_linear(attention, bytes.data(), nullptr);
  return bytes;
}

Status restore(LinearAttention& attention, const Bytes& bytes) { return restore_linear(attention, bytes.data(), bytes.size(), nullptr); }

TEST(LinearImage, RoundTripsBitForBit) {
  const Filled source;
  const Bytes image = saved(source);
  ConfiguredAttention empty(kShapes);
  Filled full(kShapes, 9);
  for (LinearAttention* target : {static_cast<LinearAttention*>(&empty), static_cast<LinearAttention*>(&full)}) {
    ASSERT_EQ(restore(*target, image), Status::ok);
    EXPECT_EQ(target->tokens(), 10);
    EXPECT_EQ(saved(*target), image);
  }
  // and continues like the original
  Filled first;
  Sequence more(kShapes, 5), same(kShapes, 5);
  ASSERT_EQ(first.append(nullptr, from(10, 10), more.tokens()), Status::ok);
  ASSERT_EQ(full.append(nullptr, from(10, 10), same.tokens()), Status::ok);
  EXPECT_EQ(more.out, same.out);
  EXPECT_EQ(saved(full), saved(first));

  const ConfiguredAttention nothing(kShapes);
  ASSERT_EQ(restore(full, saved(nothing)), Status::ok);
  EXPECT_EQ(full.tokens(), 0);
}

// Sums can't be re-rotated.
TEST(LinearImage, FitsOnlyTheRopeThatItWasSavedWith) {
  const Filled source;
  RopeConfig config = plain_config(kShapes.dim);
  ConfiguredRope rope(config), same(config);
  Bytes image(linear_image_bytes(source));
  save_linear(source, image.data(), &rope.plan());
  ConfiguredAttention target(kShapes);
  const Bytes empty = saved(target);
  const auto restore_with = [&](const FrequencyPlan* plan) { return restore_linear(target, image.data(), image.size(), plan); };
  EXPECT_EQ(restore_with(nullptr), Status::image_rope);
  for (const Pairing pairing : {Pairing::interleaved, Pairing::interleaved_to_half}) {
    ConfiguredRope other(with_pairing(config, pairing));
    EXPECT_EQ(restore_with(&other.plan()), Status::image_rope);
  }
  config.rope_theta = 9999;
  EXPECT_EQ(restore_with(&ConfiguredRope(config).plan()), Status::image_rope);
  config.rope_theta = 10000;
  config.xpos_scale_base = 64;
  EXPECT_EQ(restore_with(&ConfiguredRope(config).plan()), Status::image_rope);
  EXPECT_EQ(saved(target), empty);
  EXPECT_EQ(restore_with(&same.plan()), Status::ok);
}

TEST(LinearImage, MayHaveAnyAddress) {
  const Bytes image = saved(Filled());
  for (std::size_t shift = 0; shift < 8; ++shift) {
    Bytes shifted(shift + image.size());
    std::copy(image.begin(), image.end(), shifted.begin() + static_cast<std::ptrdiff_t>(shift));
    ConfiguredAttention target(kShapes);
    ASSERT_EQ(restore_linear(target, shifted.data() + shift, image.size(), nullptr), Status::ok);
    save_linear(target, shifted.data() + shift, nullptr);
    EXPECT_TRUE(std::equal(image.begin(), image.end(), shifted.begin() + static_cast<std::ptrdiff_t>(shift)));
  }
}

TEST(LinearImage, BeginsAndEndsAsDescribed) {
  const Bytes image = saved(Filled());
  EXPECT_EQ(std::string(image.begin(), image.begin() + 8), "ROPEWALK");
  EXPECT_EQ(value_at<std::uint32_t>(image, kAtKind), 2u);
  EXPECT_EQ(value_at<std::uint32_t>(image, kAtVersion), 1u);
  EXPECT_EQ(value_at<std::uint32_t>(image, kAtHeaderBytes), 24u);
  EXPECT_EQ(value_at<double>(image, kAtTotalBytes), static_cast<double>(image.size()));
  EXPECT_EQ(value_at<double>(image, kAtTokens), 10);
  EXPECT_EQ(value_at<std::uint32_t>(image, image.size() - 4), crc_of(image.data(), image.size() - 4));
}

class RefusedLinearImage : public testing::Test {
 protected:
  void expect_refused(const Bytes& bytes, Status status) {
    EXPECT_EQ(restore(target, bytes), status);
    EXPECT_EQ(saved(target), before);
  }

  const Bytes image = saved(Filled());
  Filled target{kShapes, 7};
  const Bytes before = saved(target);
};

TEST_F(RefusedLinearImage, AnyBeginningOfItAndAnythingAfterIt) {
  for (std::size_t size = 0; size < image.size(); ++size) {
    const Bytes part(image.begin(),
                     image.begin() + static_cast<std::ptrdiff_t>(size));  // a separate copy, so that reading past the end is detected
    ASSERT_EQ(restore(target, part), Status::image_too_short) << size;
  }
  Bytes longer = image;
  longer.push_back(0);
  expect_refused(longer, Status::image_content);
}

TEST_F(RefusedLinearImage, AnyByteChanged) {
  for (std::size_t at = 0; at < image.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      Bytes damaged = image;
      damaged[at] ^= static_cast<std::uint8_t>(change);
      const Status status = restore(target, damaged);
      ASSERT_NE(status, Status::ok) << "byte " << at;
      ASSERT_TRUE(at < kAtHeader + 12 || status == Status::image_checksum) << "byte " << at;
    }
  }
  EXPECT_EQ(saved(target), before);
}

TEST_F(RefusedLinearImage, OtherKinds) {
  expect_refused(patched<std::uint32_t>(image, kAtVersion, 2), Status::image_version);
  for (const Shapes& shapes : {Shapes{2, 2, 6, 10}, Shapes{4, 1, 6, 10}, Shapes{4, 2, 8, 10}, Shapes{4, 4, 6, 10}}) {
    expect_refused(saved(Filled(shapes)), Status::image_geometry);
    Filled other(shapes);
    EXPECT_EQ(restore(other, image), Status::image_geometry);
  }
  // the image of a cache, and in the other direction
  ConfiguredCache cache(simple_setup(plain_config(16)));
  expect_refused(ropewalk::saved(cache, 0), Status::image_unrecognized);
  EXPECT_EQ(ropewalk::restore(cache, 0, image), Status::image_unrecognized);
}

TEST_F(RefusedLinearImage, OfImpossibleValues) {
  for (const double tokens : {std::nan(""), -1.0, 0.5, HUGE_VAL}) expect_refused(patched(image, kAtTokens, tokens), Status::image_content);
  for (const std::size_t at : {kAtState, image.size() - 8}) {
    for (const float value : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) expect_refused(patched(image, at, value), Status::image_content);
  }
  expect_refused(patched<std::uint32_t>(image, kAtHeaderBytes, 16), Status::image_content);
  for (const double total : {std::nan(""), -1.0, 0.0}) expect_refused(patched(image, kAtTotalBytes, total), Status::image_content);
  expect_refused(patched(image, kAtTotalBytes, HUGE_VAL), Status::image_too_short);
}

}  // namespace
}  // namespace ropewalk
