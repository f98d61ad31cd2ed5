// The order of bits within the words of a panel, where it differs from the file's.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __wasm_relaxed_simd__
#include "base/relaxed_simd.h"
#endif
#include "base/add_product.h"
#include "matmul/joined_quants.h"
#include "matmul/weight_format.h"

namespace ropewalk {

// Which sign bits of four bytes of q8_0 panels flip. If the second of each two bytes stays signed, products of words are faster (JoinedDot
// in kernels/matmul_integer_dot.h), but relaxed products, where an engine's read eight bits, read all bytes alike.
inline std::uint32_t flipped_signs() {
  constexpr std::uint32_t kOfEvens = 0x00800080;
#ifdef __wasm_relaxed_simd__
  if (relaxed_sign() != RelaxedSign::neither) return 0x80808080;
#endif
  return kOfEvens;
}

// A word of each of four rows next to each other.
using FourWords = std::uint32_t __attribute__((vector_size(16)));

// The steps between a block's words and those of a panel, for one row or four. Word is std::uint32_t or FourWords. Words are `stride` bytes
// apart.
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
  static constexpr Word each(std::uint32_t bits) { return Word{} | bits; }

  // Makes signed bytes unsigned, and back.
  void flip(std::uint32_t signs, int count) { ROPEWALK_ROLLED for (int i = 0; i < count; ++i) store(i, load(i) ^ each(signs)); }

  // Bit 4 · u + b of a word becomes bit u of byte b.
  void spread_bits(int count) {
    ROPEWALK_ROLLED for (int i = 0; i < count; ++i) {
      const Word bits = load(i);
      Word spread{};
      for (int u = 0; u < 8; ++u) spread |= ((bits >> 4 * u & each(15)) * 0x00204081 & each(0x01010101)) << u;
      store(i, spread);
    }
  }
  void join_bits(int count) {
    ROPEWALK_ROLLED for (int i = 0; i < count; ++i) {
      const Word spread = load(i);
      Word bits{};
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
    ROPEWALK_ROLLED for (int i = 0; i < count; ++i) store(i, exchange(exchange(load(i), 12, 0x0000F0F0), 6, 0x00CC00CC));
  }

  // In q5_0 and q5_1, a word of fifth bits and four of nibbles become five of joined quants, and back.
  void join_q5() {
    spread_bits(1);
    Word quants[8], joined[5];
    for (int u = 0; u < 8; ++u) quants[u] = nibbles(1 + u % 4, u / 4) | fifth_bits(load(0), u);
    join_fives(quants, joined);
    for (int i = 0; i < 5; ++i) store(i, joined[i]);
  }
  void split_q5() {
    Word joined[5], quants[8], split[5] = {};
    for (int i = 0; i < 5; ++i) joined[i] = load(i);
    split_fives(joined, quants);
    for (int u = 0; u < 8; ++u) split_five(quants[u], u, split[0], u / 4, split[1 + u % 4]);
    for (int i = 0; i < 5; ++i) store(i, split[i]);
    join_bits(1);
  }

  // In q5_k, after the sub-scales, eight words of fifth bits and 32 of nibbles become five for each of eight groups, and back.
  void join_q5_k() {
    Word joined[8][5];
    ROPEWALK_ROLLED for (int group = 0; group < 8; ++group) {
      Word quants[8];
      for (int u = 0; u < 8; ++u) quants[u] = nibbles(11 + group / 2 * 8 + u, group % 2) | fifth_bits(load(3 + u), group);
      join_fives(quants, joined[group]);
    }
    ROPEWALK_ROLLED for (int i = 0; i < 40; ++i) store(3 + i, joined[i / 5][i % 5]);
  }
  void split_q5_k() {
    Word split[40] = {};
    ROPEWALK_ROLLED for (int group = 0; group < 8; ++group) {
      Word joined[5], quants[8];
      for (int i = 0; i < 5; ++i) joined[i] = load(3 + 5 * group + i);
      split_fives(joined, quants);
      for (int u = 0; u < 8; ++u) split_five(quants[u], group, split[u], group % 2, split[8 + group / 2 * 8 + u]);
    }
    ROPEWALK_ROLLED for (int i = 0; i < 40; ++i) store(3 + i, split[i]);
  }

  // In q6_k, two words with the nibbles of four parts and one with their other bits become three of joined quants, and back.
  void join_q6_k() {
    each_three_words([this](int first, int second, int third) {
      const auto pairs = [&](int part) { return (load(third) >> 2 * part & each(0x03030303)) << 4; };
      const Word quants[4] = {nibbles(first, 0) | pairs(0), nibbles(second, 0) | pairs(1), nibbles(first, 1) | pairs(2),
                              nibbles(second, 1) | pairs(3)};
      Word joined[3];
      join_sixes(quants, joined);
      store(first, joined[0]);
      store(second, joined[1]);
      store(third, joined[2]);
    });
  }
  void split_q6_k() {
    each_three_words([this](int first, int second, int third) {
      const Word joined[3] = {load(first), load(second), load(third)};
      Word quants[4], nibbles[4], pairs{};
      split_sixes(joined, quants);
      for (int part = 0; part < 4; ++part) {
        nibbles[part] = quants[part] & each(0x0F0F0F0F);
        pairs |= (quants[part] >> 4 & each(0x03030303)) << 2 * part;
      }
      store(first, nibbles[0] | nibbles[2] << 4);
      store(second, nibbles[1] | nibbles[3] << 4);
      store(third, pairs);
    });
  }

  // Bit g of each byte of word u becomes bit u of the same byte of word g.
  void transpose_bits() {
    constexpr std::uint32_t kMasks[3] = {0x0F0F0F0F, 0x33333333, 0x55555555};
    ROPEWALK_ROLLED for (int step = 0; step < 3; ++step) {
      const int distance = 4 >> step;
      ROPEWALK_ROLLED for (int i = 0; i < 8; ++i) {
        if ((i & distance) != 0) continue;
        const Word low = load(i), high = load(i + distance);
        const Word swapped = ((low >> distance) ^ high) & each(kMasks[step]);
        store(i, low ^ swapped << distance);
        store(i + distance, high ^ swapped);
      }
    }
  }

 private:
  // The lower (0) or upper (1) nibbles of a word.
  Word nibbles(int i, int upper) const { return load(i) >> 4 * upper & each(0x0F0F0F0F); }

  // Bit `bit` of each byte, as bit 4.
  static Word fifth_bits(Word bytes, int bit) { return (bytes >> bit & each(0x01010101)) << 4; }

  static void split_five(Word quants, int bit, Word& fifth_bits, int upper, Word& nibbles) {
    fifth_bits |= (quants >> 4 & each(0x01010101)) << bit;
    nibbles |= (quants & each(0x0F0F0F0F)) << 4 * upper;
  }

  template <class Act>
  static void each_three_words(const Act& act) {
    ROPEWALK_ROLLED for (int i = 0; i < 16; ++i) {
      const int first = i / 8 * 16 + i % 8;
      act(first, first + 8, 32 + i);
    }
  }

  std::uint8_t* words_;
  int stride_;
};

// `signs` are those of flipped_signs().
template <class Word>
void to_panel_bits(WeightFormat format, std::uint32_t signs, Words<Word> words) {
  switch (format) {
    case WeightFormat::q8_0: return words.flip(signs, 8);
    case WeightFormat::q5_0:
    case WeightFormat::q5_1: return words.join_q5();
    case WeightFormat::q1_0: return words.spread_bits(4);
    case WeightFormat::q2_0: return words.transpose_pairs(4);
    case WeightFormat::q3_k: return words.transpose_bits();
    case WeightFormat::q5_k: return words.join_q5_k();
    case WeightFormat::q6_k: return words.join_q6_k();
    default: return;
  }
}

inline void from_panel_bits(WeightFormat format, std::uint32_t signs, Words<std::uint32_t> words) {
  switch (format) {
    case WeightFormat::q5_0:
    case WeightFormat::q5_1: return words.split_q5();
    case WeightFormat::q5_k: return words.split_q5_k();
    case WeightFormat::q6_k: return words.split_q6_k();
    case WeightFormat::q1_0: return words.join_bits(4);
    default: return to_panel_bits(format, signs, words);  // the others are their own inverse
  }
}

}  // namespace ropewalk
