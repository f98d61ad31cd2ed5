// CRC-32 compared with zlib: the values below are those of zlib.crc32 in Python.
#include "base/checksum.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ropewalk {
namespace {

std::uint32_t checksum_of(const std::string& bytes) {
  Checksum checksum;
  checksum.add(bytes.data(), bytes.size());
  return checksum.value();
}

TEST(Checksum, KnownValues) {
  EXPECT_EQ(checksum_of(""), 0u);
  EXPECT_EQ(checksum_of("123456789"), 0xCBF43926u);
  EXPECT_EQ(checksum_of("a"), 0xE8B7BE43u);
  EXPECT_EQ(checksum_of("The quick brown fox jumps over the lazy dog"), 0x414FA339u);
  EXPECT_EQ(checksum_of(std::string(32, '\0')), 0x190A55ADu);
  EXPECT_EQ(checksum_of(std::string(32, '\xFF')), 0xFF6CAB0Bu);
}

TEST(Checksum, PiecesMakeTheWhole) {
  const std::string bytes = "The quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    Checksum checksum;
    checksum.add(bytes.data(), cut);
    checksum.add(bytes.data() + cut, bytes.size() - cut);
    EXPECT_EQ(checksum.value(), checksum_of(bytes)) << cut;
    EXPECT_EQ(checksum.value(), checksum_of(bytes)) << "asked twice";
  }
}

TEST(Checksum, EveryBitCounts) {
  const std::string bytes = "123456789";
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(checksum_of(damaged), checksum_of(bytes)) << bit;
  }
}

}  // namespace
}  // namespace ropewalk
