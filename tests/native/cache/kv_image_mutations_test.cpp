// Damaged and hostile images: thousands of random changes. Each either restores or is refused by name, and a refusal changes nothing.
// ROPEWALK_MUTATIONS sets how many images of each kind are tried.
#include <gtest/gtest.h>

#include <cstdlib>

#include "attention/linear_image.h"
#include "native/cache/kv_images.h"
#include "native/cache/kv_tokens.h"
#include "native/rope/ropes.h"

namespace ropewalk {
namespace {

int mutations() {
  const char* given = std::getenv("ROPEWALK_MUTATIONS");
  return given == nullptr ? 500 : std::atoi(given);
}

bool is_refusal(Status status) { return status >= Status::image_too_short && status <= Status::image_rope; }

// Writes a value that a reader could trip over at an offset.
void write_value(Bytes& image, std::size_t at, Random& random) {
  const double doubles[] = {0.0,          -0.0,          1.0,          -1.0, 1e-320, 1e-30,    1e30,      1e300,       -1e300,
                            4294967296.0, -2147483648.0, 2147483647.5, 1e-3, 0.999,  HUGE_VAL, -HUGE_VAL, std::nan("")};
  const std::int32_t ints[] = {0, 1, 2, -1, 3, 5, 32, 33, 255, 65536, 1 << 30, INT32_MAX, INT32_MIN};
  const float floats[] = {0, 1, -1, 65504, 65536, 3.4e38f, -3.4e38f, 1e-40f, HUGE_VALF, std::nanf("")};
  const auto put = [&](const auto& value) {
    if (at + sizeof(value) <= image.size()) std::memcpy(image.data() + at, &value, sizeof(value));
  };
  switch (random.next_bits() % 3) {
    case 0: return put(doubles[random.next_bits() % std::size(doubles)]);
    case 1: return put(ints[random.next_bits() % std::size(ints)]);
    default: return put(floats[random.next_bits() % std::size(floats)]);
  }
}

// An image with some random changes. Most get a right checksum, so that they reach the code behind it.
Bytes mutated(Bytes image, std::size_t header_end, Random& random) {
  const auto somewhere = [&](std::size_t end) { return random.next_bits() % std::max<std::size_t>(1, end); };
  for (std::uint32_t change = 0, changes = 1 + random.next_bits() % 3; change < changes; ++change) {
    switch (random.next_bits() % 8) {
      case 0: image.resize(somewhere(image.size() + 1)); break;
      case 1: image.insert(image.end(), 1 + random.next_bits() % 64, static_cast<std::uint8_t>(random.next_bits())); break;
      case 2:
      case 3: {
        const std::size_t at = somewhere(random.next_bits() % 2 == 0 ? header_end : image.size());
        if (at < image.size()) image[at] ^= static_cast<std::uint8_t>(1u << random.next_bits() % 8);
        break;
      }
      case 4: write_value(image, somewhere(image.size()) / 4 * 4, random); break;
      default: write_value(image, somewhere(header_end) / 4 * 4, random);
    }
  }
  if (image.size() >= 32 && random.next_bits() % 4 == 0) {  // a total that agrees with a new length
    const double total = static_cast<double>(image.size());
    std::memcpy(image.data() + kAtTotalBytes, &total, sizeof(total));
  }
  if (image.size() >= 4 && random.next_bits() % 8 != 0) {
    const std::uint32_t sum = crc_of(image.data(), image.size() - 4);
    std::memcpy(image.data() + image.size() - 4, &sum, sizeof(sum));
  }
  return image;
}

CacheSetup setup_of(RowType type, KeyMode mode, const RopeConfig& rope) {
  return {{{1, 8, 0}, {1, 3, kNoRope}, {1, 8, 1}}, {rope, plain_config(8)}, type, mode, 1, 40};
}

void append_to(ConfiguredCache& cache, const CacheSetup& setup, int count, std::uint32_t seed) {
  for (int layer = 0; layer < 3; ++layer) {
    Tokens tokens(setup.layers[layer], count, seed + layer);
    EXPECT_EQ(cache.append(layer, 0, tokens.without_queries()), Status::ok);
  }
}

// What a caller does with a cache: nothing of it may break, whatever the image contained.
void use(ConfiguredCache& cache, const CacheSetup& setup) {
  if (cache.sequence(0).tokens() >= 2) static_cast<void>(cache.shift(0, 0, 1));
  const RopeConfig other = yarn_config(8, 1e6, 4, 64);
  static_cast<void>(cache.retune(1, other));
  static_cast<void>(cache.retune(1, setup.ropes[1]));
  for (int layer = 0; layer < 3; ++layer) {
    Tokens tokens(setup.layers[layer], 1, 9);
    if (cache.append(layer, 0, tokens.with_queries()) != Status::ok) continue;
    GuardedTensor out(DType::f32, Layout::bthd, tokens.q.shape());
    static_cast<void>(cache.attend(layer, 0, tokens.q.into(out), {}));
  }
}

TEST(KvImageMutations, RestoreOrAreRefusedAndThenChangeNothing) {
  int restored = 0, refused = 0;
  for (const RopeConfig& rope : {xpos_config(8, 64), dynamic_config(8, 10000, 2, 8)}) {
    for (const RowType type : kTestedRowTypes) {
      for (const KeyMode mode : kKeyModes) {
        const CacheSetup setup = setup_of(type, mode, rope);
        ConfiguredCache source(setup), target(setup);
        append_to(source, setup, 5, 1);
        const Bytes image = saved(source, 0);
        const std::size_t header_end = kAtHeader + value_at<std::uint32_t>(image, kAtHeaderBytes);
        append_to(target, setup, 7, 50);
        const Bytes own = saved(target, 0);
        Random random(static_cast<std::uint32_t>(7 + static_cast<int>(type) * 2 + static_cast<int>(mode)));
        for (int i = 0; i < mutations(); ++i) {
          const Bytes bytes = mutated(image, header_end, random);
          const Status status = restore(target, 0, bytes, 1 + random.next_bits() % 500);
          if (status == Status::ok) {
            ++restored;
            use(target, setup);
            ASSERT_EQ(restore(target, 0, own), Status::ok);
          } else {
            ++refused;
            ASSERT_TRUE(is_refusal(status)) << name_of(type, mode) << ", image " << i << ": " << describe_status(status).requirement;
          }
          ASSERT_TRUE(saved(target, 0) == own) << name_of(type, mode) << ", image " << i;
        }
      }
    }
  }
  RecordProperty("restored", restored);
  EXPECT_GT(restored, mutations() / 10) << "some changes are harmless";
  EXPECT_GT(refused, mutations());
}

Bytes saved(const LinearAttention& attention) {
  Bytes bytes(linear_image_bytes(attention));
  save_linear(attention, bytes.data(), nullptr);
  return bytes;
}

TEST(LinearImageMutations, RestoreOrAreRefusedAndThenChangeNothing) {
  LinearAttention source, target;
  for (LinearAttention* attention : {&source, &target}) {
    ASSERT_EQ(attention->configure(2, 1, 4), Status::ok);
    std::vector<float> values = random_floats(2 * 2 * 4, attention == &source ? 1 : 2), out(values.size());
    ASSERT_EQ(attention->append(nullptr, {}, {values.data(), values.data(), values.data(), out.data(), Layout::thd, 2}), Status::ok);
  }
  const Bytes image = saved(source), own = saved(target);
  Random random(3);
  int restored = 0;
  for (int i = 0; i < 8 * mutations(); ++i) {
    const Bytes bytes = mutated(image, 56, random);
    const Status status = restore_linear(target, bytes.data(), bytes.size(), nullptr);
    if (status == Status::ok) {
      ++restored;
      std::vector<float> values(8, 1), out(8);
      static_cast<void>(target.append(nullptr, {}, {values.data(), values.data(), values.data(), out.data(), Layout::thd, 1}));
      ASSERT_EQ(restore_linear(target, own.data(), own.size(), nullptr), Status::ok);
    } else {
      ASSERT_TRUE(is_refusal(status)) << "image " << i << ": " << describe_status(status).requirement;
    }
    ASSERT_TRUE(saved(target) == own) << "image " << i;
  }
  EXPECT_GT(restored, mutations() / 10);
}

}  // namespace
}  // namespace ropewalk
