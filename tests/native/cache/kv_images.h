// Saves, restores and modifies images as plain byte vectors.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "cache/kv_image.h"

namespace ropewalk {

using Bytes = std::vector<std::uint8_t>;

inline Bytes saved(KvCache& cache, int sequence, std::size_t piece = SIZE_MAX) {
  KvImageWriter writer;
  EXPECT_EQ(writer.open(cache, sequence), Status::ok);
  Bytes bytes(static_cast<std::size_t>(writer.bytes()));
  for (std::size_t at = 0, step; at < bytes.size(); at += step) {
    step = std::min(piece, bytes.size() - at);
    writer.read(bytes.data() + at, step);
  }
  return bytes;
}

// Returns the first failure.
inline Status restore(KvCache& cache, int sequence, const Bytes& bytes, std::size_t piece = SIZE_MAX) {
  KvImageReader reader;
  Status status = reader.open(cache, sequence, static_cast<double>(bytes.size()));
  for (std::size_t at = 0, step; status == Status::ok && at < bytes.size(); at += step) {
    step = std::min(piece, bytes.size() - at);
    status = reader.write(bytes.data() + at, step);
  }
  return status == Status::ok ? reader.finish() : status;
}

// CRC-32 bit by bit, as in RFC 1952.
inline std::uint32_t crc_of(const std::uint8_t* bytes, std::size_t size) {
  std::uint32_t sum = 0xFFFFFFFFu;
  for (std::size_t i = 0; i < size; ++i) {
    sum ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) sum = sum & 1 ? sum >> 1 ^ 0xEDB88320u : sum >> 1;
  }
  return ~sum;
}

// Replaces the value at an offset of an image, and updates the checksum.
template <class T>
Bytes patched(Bytes image, std::size_t offset, T value) {
  std::memcpy(image.data() + offset, &value, sizeof(value));
  const std::uint32_t sum = crc_of(image.data(), image.size() - 4);
  std::memcpy(image.data() + image.size() - 4, &sum, 4);
  return image;
}

template <class T>
T value_at(const Bytes& image, std::size_t offset) {
  T value;
  std::memcpy(&value, image.data() + offset, sizeof(value));
  return value;
}

// Offsets of the envelope (image.h).
constexpr std::size_t kAtKind = 8, kAtVersion = 12, kAtHeaderBytes = 16, kAtTotalBytes = 24, kAtHeader = 32;

}  // namespace ropewalk
