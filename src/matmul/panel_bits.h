// The order of bits within the words of a panel, where it differs from the file's.
#pragma once

#include <cstdint>
#include <cstring>

#include "matmul/weight_format.h"

namespace ropewalk {

// The steps between a block's words and those of a panel, for one row (Word is 32 bits) or two rows next to each other (64 bits). Words are
// `stride` bytes apart.
template <class Word>
class Words {
 public:
  Words(std::uint8_t* words, int stride) : words_(words), stride_(stride) {}

  Word load(int i) const {
    Word word;
    std::memcpy(&word, words_ + i * stride_, sizeof word);
    return word;
  }
  void store(int i, Word word) { std::memcpy(words_ + i * stride_, &word, sizeof word); }
  // `bits` for each row.
  static constexpr Word each(std::uint32_t bits) { return static_cast<Word>(bits * 0x100000001u); }

  // Makes signed bytes unsigned, and back.
  void add_128(int count) {
    for (int i = 0; i < count; ++i) store(i, load(i) ^ each(0x80808080));
  }

  // Bit 4 · u + b of a word becomes bit u of byte b.
  void spread_bits(int count) {
    for (int i = 0; i < count; ++i) {
      const Word bits = load(i);
      Word spread = 0;
      for (int u = 0; u < 8; ++u) spread |= ((bits >> 4 * u & each(15)) * 0x00204081 & each(0x01010101)) << u;
      store(i, spread);
    }
  }
  void join_bits(int count) {
    for (int i = 0; i < count; ++i) {
      const Word spread = load(i);
      Word bits = 0;
      for (int u = 0; u < 8; ++u) bits |= ((spread >> u & each(0x01010101)) * 0x01020408 >> 24 & each(15)) << 4 * u;
      store(i, bits);
    }
  }

  // Pair b of the bits of byte u becomes pair u of byte b.
  void transpose_pairs(int count) {
    const auto exchange = [](Word bits, int distance, std::uint32_t mask) {
      const Word swapped = (bits >> distance ^ bits) & each(mask);
      return bits ^ swapped ^ swapped << distance;
    };
    for (int i = 0; i < count; ++i) store(i, exchange(exchange(load(i), 12, 0x0000F0F0), 6, 0x00CC00CC));
  }

  // Bit g of each byte of word u becomes bit u of the same byte of word g.
  void transpose_bits(int first) {
    constexpr std::uint32_t kMasks[3] = {0x0F0F0F0F, 0x33333333, 0x55555555};
    for (int step = 0; step < 3; ++step) {
      const int distance = 4 >> step;
      for (int i = 0; i < 8; ++i) {
        if ((i & distance) != 0) continue;
        const Word low = load(first + i), high = load(first + i + distance);
        const Word swapped = ((low >> distance) ^ high) & each(kMasks[step]);
        store(first + i, low ^ swapped << distance);
        store(first + i + distance, high ^ swapped);
      }
    }
  }

 private:
  std::uint8_t* words_;
  int stride_;
};

template <class Word>
void to_panel_bits(WeightFormat format, Words<Word> words) {
  switch (format) {
    case WeightFormat::q8_0: return words.add_128(8);
    case WeightFormat::q5_0:
    case WeightFormat::q5_1: return words.spread_bits(1);
    case WeightFormat::q1_0: return words.spread_bits(4);
    case WeightFormat::q2_0: return words.transpose_pairs(4);
    case WeightFormat::q3_k: return words.transpose_bits(0);
    case WeightFormat::q5_k: return words.transpose_bits(3);
    default: return;
  }
}

inline void from_panel_bits(WeightFormat format, Words<std::uint32_t> words) {
  switch (format) {
    case WeightFormat::q5_0:
    case WeightFormat::q5_1: return words.join_bits(1);
    case WeightFormat::q1_0: return words.join_bits(4);
    default: return to_panel_bits(format, words);  // the others are their own inverse
  }
}

}  // namespace ropewalk
