// CRC-32 with the polynomial of zlib and PNG (0xEDB88320), so that common tools can check saved images.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ropewalk {

constexpr std::array<std::uint32_t, 256> make_checksum_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t remainder = i;
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ ((remainder & 1u) != 0 ? 0xEDB88320u : 0u);
    table[i] = remainder;
  }
  return table;
}

class Checksum {
 public:
  void add(const void* bytes, std::size_t size) {
    const std::uint8_t* at = static_cast<const std::uint8_t*>(bytes);
    for (std::size_t i = 0; i < size; ++i) state_ = kTable[(state_ ^ at[i]) & 0xFFu] ^ (state_ >> 8);
  }
  std::uint32_t value() const { return ~state_; }

 private:
  static constexpr std::array<std::uint32_t, 256> kTable = make_checksum_table();

  std::uint32_t state_ = 0xFFFFFFFFu;
};

}  // namespace ropewalk
