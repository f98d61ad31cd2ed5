// Dequantization of every format gives the same bits as the gguf Python package.
#include "matmul/dequantize.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/checksum.h"

namespace ropewalk {
namespace {

using Json = nlohmann::json;
using Bytes = std::vector<std::uint8_t>;

constexpr const char* kNames[kWeightFormats] = {
    "f32",  "f16",  "bf16",  "q8_0",  "q4_0",  "q4_1",  "q5_0",   "q5_1",  "q2_k",    "q3_k",  "q4_k",   "q5_k",    "q6_k",  "iq4_nl",
    "q1_0", "q2_0", "tq1_0", "tq2_0", "mxfp4", "nvfp4", "iq4_xs", "iq3_s", "iq3_xxs", "iq2_s", "iq2_xs", "iq2_xxs", "iq1_s", "iq1_m"};

WeightFormat format_named(const std::string& name) {
  for (int i = 0; i < kWeightFormats; ++i) {
    if (name == kNames[i]) return static_cast<WeightFormat>(i);
  }
  ADD_FAILURE() << "no format " << name;
  return WeightFormat::f32;
}

const Json& golden() {
  static const Json cases = Json::parse(std::ifstream(std::string(ROPEWALK_GOLDEN) + "/gguf_formats.json"));
  return cases;
}

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) bytes.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

// The same random generator as in gguf_formats.py.
Bytes random_bytes(std::uint32_t seed, std::size_t count) {
  Bytes bytes(count);
  for (std::uint8_t& byte : bytes) {
    seed = seed * 1664525u + 1013904223u;
    byte = static_cast<std::uint8_t>(seed >> 24);
  }
  return bytes;
}

Bytes floats_of(WeightFormat format, const Bytes& blocks) {
  const int columns = static_cast<int>(blocks.size()) / block_bytes(format) * block_elements(format);
  std::vector<float> floats(columns);
  dequantize(format, blocks.data(), columns, floats.data());
  Bytes bits(floats.size() * 4);
  std::memcpy(bits.data(), floats.data(), bits.size());
  return bits;
}

std::uint32_t crc(const Bytes& bytes) {
  Checksum checksum;
  checksum.add(bytes.data(), bytes.size());
  return checksum.value();
}

TEST(Dequantize, CoversEveryFormatButF32) { EXPECT_EQ(golden().size(), kWeightFormats - 1u); }

TEST(Dequantize, HasTheBlocksOfGguf) {
  for (const Json& golden_case : golden()) {
    SCOPED_TRACE(golden_case["format"]);
    const WeightFormat format = format_named(golden_case["format"]);
    EXPECT_EQ(block_elements(format), golden_case["elements"]);
    EXPECT_EQ(block_bytes(format), golden_case["bytes"]);
    EXPECT_LE(block_elements(format), kLargestBlockElements);
    EXPECT_LE(block_bytes(format), kLargestBlockBytes);
    EXPECT_EQ(weight_row_bytes(format, 5 * block_elements(format)), 5u * block_bytes(format));
  }
}

TEST(Dequantize, HasTheBitsOfGguf) {
  for (const Json& golden_case : golden()) {
    SCOPED_TRACE(golden_case["format"]);
    EXPECT_EQ(floats_of(format_named(golden_case["format"]), from_hex(golden_case["block"])), from_hex(golden_case["floats"]));
  }
}

TEST(Dequantize, HasTheBitsOfGgufForExtremeScales) {
  for (const Json& golden_case : golden()) {
    const Json& blocks = golden_case["extreme_blocks"];
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      SCOPED_TRACE(golden_case["format"].get<std::string>() + ", block " + std::to_string(i));
      EXPECT_EQ(crc(floats_of(format_named(golden_case["format"]), from_hex(blocks[i]))), golden_case["extreme_crc"][i]);
    }
  }
}

TEST(Dequantize, HasTheBitsOfGgufForManyBlocks) {
  for (const Json& golden_case : golden()) {
    SCOPED_TRACE(golden_case["format"]);
    const WeightFormat format = format_named(golden_case["format"]);
    const std::size_t size = block_bytes(format), count = golden_case["hashed_blocks"];
    Bytes blocks = random_bytes(11, count * size);
    for (std::size_t block = 0; block < count; ++block) {
      for (const int scale : golden_case["scales"]) {
        std::uint8_t& upper = blocks[block * size + scale + 1];
        if ((upper & 0x7C) == 0x7C) upper &= 0xBF;  // infinite or NaN
      }
      if (const auto cleared = golden_case.find("cleared"); cleared != golden_case.end()) {
        blocks[block * size + cleared->at(0).get<int>()] &= static_cast<std::uint8_t>(~cleared->at(1).get<int>());
      }
    }
    EXPECT_EQ(crc(floats_of(format, blocks)), golden_case["hashed_crc"]);
  }
}

TEST(Dequantize, CopiesF32) {
  const Bytes bits = from_hex("0000803f0000c07f010000000000807f000000805c8fc2bd");
  EXPECT_EQ(floats_of(WeightFormat::f32, bits), bits);
}

}  // namespace
}  // namespace ropewalk
