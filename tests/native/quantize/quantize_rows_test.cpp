// Quantized rows have the same bits as those of ggml.
#include "quantize/quantize_rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/native_threads.h"
#include "base/storage.h"
#include "matmul/dequantize.h"

namespace ropewalk {
namespace quantize_rows_test {

using Json = nlohmann::json;
using Bytes = std::vector<std::uint8_t>;
using Floats = std::vector<float>;

struct Named {
  const char* name;
  WeightFormat format;
};
constexpr Named kTargets[] = {{"q8_0", WeightFormat::q8_0},
                              {"q4_0", WeightFormat::q4_0},
                              {"q5_0", WeightFormat::q5_0},
                              {"q4_k", WeightFormat::q4_k},
                              {"q6_k", WeightFormat::q6_k}};

const Json& golden() {
  static const Json file = Json::parse(std::ifstream(std::string(ROPEWALK_GOLDEN) + "/quantization.json"));
  return file;
}

const Json& case_of(const char* name) {
  for (const Json& golden_case : golden()["cases"]) {
    if (golden_case["format"] == name) return golden_case;
  }
  ADD_FAILURE() << "no case for " << name;
  return golden()["cases"][0];
}

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) bytes.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

Floats floats_from_hex(const std::string& text) {
  const Bytes bytes = from_hex(text);
  Floats floats(bytes.size() / 4);
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

// The same random generator as in quantization.py.
void add_random(Floats& x, std::uint32_t seed, std::size_t count, float scale) {
  for (std::size_t i = 0; i < count; ++i) {
    int total = 0;
    for (int byte = 0; byte < 4; ++byte) {
      seed = seed * 1664525u + 1013904223u;
      total += static_cast<int>(seed >> 24);
    }
    x.push_back(static_cast<float>(total - 510) * scale);
  }
}

Floats random_rows() {
  Floats x;
  const std::size_t columns = golden()["columns"];
  for (const Json& part : golden()["hashed"]) add_random(x, part[0], part[1].get<std::size_t>() * columns, part[2].get<float>());
  return x;
}

Bytes quantize(WeightFormat from, const void* x, int rows, int columns, WeightFormat to) {
  Bytes out(weight_bytes(to, rows, columns));
  EXPECT_EQ(quantize_rows(from, x, rows, columns, to, out.data()), Status::ok);
  return out;
}

std::uint32_t crc(const Bytes& bytes) {
  Checksum checksum;
  checksum.add(bytes.data(), bytes.size());
  return checksum.value();
}

TEST(QuantizeRows, GivesTheBitsOfGgml) {
  const int columns = golden()["columns"];
  const Floats x = random_rows();
  const int rows = static_cast<int>(x.size()) / columns;
  for (const auto& [name, format] : kTargets) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(is_quantization_target(format));
    EXPECT_EQ(crc(quantize(WeightFormat::f32, x.data(), rows, columns, format)), case_of(name)["hashed_crc"]);
  }
}

TEST(QuantizeRows, GivesTheBitsOfGgmlForSpecialRows) {
  const int columns = golden()["columns"];
  for (const auto& [name, format] : kTargets) {
    for (std::size_t i = 0; i < golden()["special"].size(); ++i) {
      SCOPED_TRACE(std::string(name) + ", row " + std::to_string(i));
      const Floats row = floats_from_hex(golden()["special"][i]);
      EXPECT_EQ(quantize(WeightFormat::f32, row.data(), 1, columns, format), from_hex(case_of(name)["special"][i]));
    }
  }
}

TEST(QuantizeRows, ReadsHalvesAndWritesThem) {
  const int columns = golden()["columns"];
  Floats x = random_rows();
  x.resize(3 * columns);
  for (const WeightFormat from : {WeightFormat::f16, WeightFormat::bf16}) {
    EXPECT_TRUE(is_quantization_target(from));
    const Bytes halves = quantize(WeightFormat::f32, x.data(), 3, columns, from);
    Floats exact(x.size());
    for (int row = 0; row < 3; ++row) dequantize(from, halves.data() + row * 2 * columns, columns, exact.data() + row * columns);
    for (std::size_t i = 0; i < x.size(); ++i) {
      Float16 f16;
      BFloat16 bf16;
      from_float(x[i], f16);
      from_float(x[i], bf16);
      ASSERT_EQ(exact[i], from == WeightFormat::f16 ? to_float(f16) : to_float(bf16));
    }
    Bytes exact_bytes(exact.size() * 4);
    std::memcpy(exact_bytes.data(), exact.data(), exact_bytes.size());
    EXPECT_EQ(quantize(from, halves.data(), 3, columns, WeightFormat::f32), exact_bytes);
    for (const auto& [name, format] : kTargets) {
      SCOPED_TRACE(name);
      EXPECT_EQ(quantize(from, halves.data(), 3, columns, format), quantize(WeightFormat::f32, exact.data(), 3, columns, format));
    }
  }
}

TEST(QuantizeRows, GivesTheSameBitsOnEveryNumberOfThreads) {
  const int columns = golden()["columns"];
  const Floats x = random_rows();
  const int rows = static_cast<int>(x.size()) / columns;
  NativeThreads threads(4);
  for (const auto& [name, format] : kTargets) {
    SCOPED_TRACE(name);
    EXPECT_EQ(crc(quantize(WeightFormat::f32, x.data(), rows, columns, format)), case_of(name)["hashed_crc"]);
  }
}

TEST(QuantizeRows, TakesRowsOfWholeBlocksOnly) {
  const Floats x(352, 1.0f);
  Bytes out(4096);
  EXPECT_EQ(quantize_rows(WeightFormat::f32, x.data(), 1, 352, WeightFormat::q8_0, out.data()), Status::ok);
  EXPECT_EQ(quantize_rows(WeightFormat::f32, x.data(), 1, 352, WeightFormat::q4_k, out.data()), Status::weight_shape);
  EXPECT_EQ(quantize_rows(WeightFormat::f32, x.data(), 1, 33, WeightFormat::q4_0, out.data()), Status::weight_shape);
  EXPECT_EQ(quantize_rows(WeightFormat::f32, x.data(), 0, 352, WeightFormat::q8_0, out.data()), Status::ok);
}

TEST(QuantizeRows, RefusesOtherFormats) {
  const Floats x(256, 1.0f);
  Bytes out(4096);
  EXPECT_FALSE(is_quantization_target(WeightFormat::q3_k));
  EXPECT_EQ(quantize_rows(WeightFormat::f32, x.data(), 1, 256, WeightFormat::q3_k, out.data()), Status::weight_format_unknown);
  EXPECT_EQ(quantize_rows(WeightFormat::q8_0, x.data(), 1, 256, WeightFormat::q4_0, out.data()), Status::weight_format_unknown);
  EXPECT_EQ(quantize_rows(static_cast<WeightFormat>(-1), x.data(), 1, 256, WeightFormat::q4_0, out.data()), Status::weight_format_unknown);
  EXPECT_EQ(quantize_rows(WeightFormat::f32, x.data(), 1, 256, static_cast<WeightFormat>(99), out.data()), Status::weight_format_unknown);
}

TEST(QuantizeRows, RefusesElementsThatAreNotFiniteAndScalesBeyondF16) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const WeightFormat to :
       {WeightFormat::f16, WeightFormat::q8_0, WeightFormat::q4_0, WeightFormat::q5_0, WeightFormat::q4_k, WeightFormat::q6_k}) {
    for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 3e38f}) {
      Floats x(512, 1.0f);
      x[300] = bad;
      Bytes out(weight_bytes(to, 1, 512));
      EXPECT_EQ(quantize_rows(WeightFormat::f32, x.data(), 1, 512, to, out.data()), Status::weight_not_finite)
          << static_cast<int>(to) << ", " << bad;
    }
  }
}

}  // namespace quantize_rows_test
}  // namespace ropewalk
