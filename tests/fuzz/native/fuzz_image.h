// Damages saved images.
#pragma once

#include <algorithm>

#include "base/image.h"
#include "fuzz_input.h"

namespace ropewalk {

using Image = std::vector<std::uint8_t>;

inline void put_checksum(Image& image) {
  Checksum checksum;
  checksum.add(image.data(), image.size() - kChecksumBytes);
  const std::uint32_t value = checksum.value();
  std::memcpy(image.data() + image.size() - kChecksumBytes, &value, sizeof value);
}

// Overwrites some numbers, most of them in the header, and cuts or extends the image. The size in the header and the checksum are usually
// made to match, so that what is behind them is reached.
inline Image damaged(Image image, FuzzInput& input) {
  if (input.one_in(4)) image.resize(input.between(0, static_cast<int>(image.size()) + 64));
  for (int changes = input.between(0, 6); changes > 0 && !image.empty(); --changes) {
    const int header = std::min<int>(400, static_cast<int>(image.size()));
    const std::size_t at = input.between(0, (input.one_in(3) ? static_cast<int>(image.size()) : header) - 1);
    const auto write = [&](auto value, std::size_t alignment) {
      const std::size_t aligned = at / alignment * alignment;
      if (aligned + sizeof value <= image.size()) std::memcpy(image.data() + aligned, &value, sizeof value);
    };
    switch (input.between(0, 3)) {
      case 0: write(input.ConsumeIntegral<std::uint8_t>(), 1); break;
      case 1: write(static_cast<std::int32_t>(input.roughly(-2, 100)), 4); break;
      case 2: write(static_cast<float>(input.ordinary()), 4); break;
      case 3: write(input.number(), 8); break;
    }
  }
  if (image.size() < sizeof(ImageStart) + kChecksumBytes || input.one_in(16)) return image;
  const double bytes = static_cast<double>(image.size());
  std::memcpy(image.data() + offsetof(ImageStart, total_bytes), &bytes, sizeof bytes);
  put_checksum(image);
  return image;
}

}  // namespace ropewalk
