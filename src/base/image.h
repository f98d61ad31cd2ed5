// The container format of saved caches and states. All numbers are little-endian.
//
//   "ROPEWALK"  kind u32  version u32  header_bytes u32  0 u32  total_bytes f64     32 bytes
//   header      header_bytes bytes that describe the object
//   content
//   CRC-32 u32 of everything before it
#pragma once

#include <cstring>

#include "base/checksum.h"
#include "base/status.h"

namespace ropewalk {

enum class ImageKind : std::uint32_t { kv_cache = 1, linear_attention = 2, recurrent_state = 3 };

constexpr std::uint32_t kImageVersion = 1;
constexpr char kImageMagic[8] = {'R', 'O', 'P', 'E', 'W', 'A', 'L', 'K'};

struct ImageStart {
  char magic[8];
  ImageKind kind;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint32_t reserved;
  double total_bytes;
};
static_assert(sizeof(ImageStart) == 32);

constexpr std::size_t kChecksumBytes = sizeof(std::uint32_t);

inline ImageStart image_start(ImageKind kind, std::uint64_t header_bytes, double content_bytes) {
  ImageStart start = {};
  std::memcpy(start.magic, kImageMagic, sizeof(kImageMagic));
  start.kind = kind;
  start.version = kImageVersion;
  start.header_bytes = static_cast<std::uint32_t>(header_bytes);
  start.total_bytes = static_cast<double>(sizeof(ImageStart) + header_bytes + kChecksumBytes) + content_bytes;
  return start;
}

// Checks the start of an image of `bytes` bytes: kind, version and size.
inline Status check_start(const ImageStart& start, ImageKind kind, double bytes) {
  if (std::memcmp(start.magic, kImageMagic, sizeof(kImageMagic)) != 0 || start.kind != kind) return Status::image_unrecognized;
  if (start.version != kImageVersion) return Status::image_version;
  if (bytes < start.total_bytes) return Status::image_too_short;
  return bytes == start.total_bytes ? Status::ok : Status::image_content;  // also for NaN
}

}  // namespace ropewalk
