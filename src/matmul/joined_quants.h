// Quants of five and six bits in bytes that have no bit left. Most quants are the lower bits of bytes, which a mask unpacks. The upper bits
// of these bytes are the other quants. Words have a quant of the same row in each byte.
#pragma once

#include <cstdint>

namespace ropewalk {

// The same byte in all bytes of a word.
template <class Word>
constexpr Word each_byte(std::uint8_t byte) {
  return Word{} | byte * 0x01010101u;
}

// The fourth of four quants of six bits: bits 0 and 1 are in the first byte, 2 and 3 in the second, 4 and 5 in the third.
template <class Word>
void join_sixes(const Word (&quants)[4], Word (&words)[3]) {
  for (int i = 0; i < 3; ++i) words[i] = quants[i] | (quants[3] << (6 - 2 * i) & each_byte<Word>(0xC0));
}

template <class Word>
void split_sixes(const Word (&words)[3], Word (&quants)[4]) {
  const Word upper = each_byte<Word>(0xC0);
  for (int i = 0; i < 3; ++i) quants[i] = words[i] & each_byte<Word>(0x3F);
  quants[3] = (words[0] & upper) >> 6 | (words[1] & upper) >> 4 | (words[2] & upper) >> 2;
}

// The last three of eight quants of five bits: bits 0 to 2 are in bytes 0, 1 and 2. Bits 3 and 4 of two of them are the last bits of bytes
// 3 and 4, and those of the last one are bit 5 of bytes 3 and 4.
template <class Word>
void join_fives(const Word (&quants)[8], Word (&words)[5]) {
  const auto bits = [&](int quant, std::uint8_t mask) { return quants[quant] & each_byte<Word>(mask); };
  for (int i = 0; i < 3; ++i) words[i] = quants[i] | bits(5 + i, 0x07) << 5;
  words[3] = quants[3] | bits(5, 0x18) << 3 | bits(7, 0x08) << 2;
  words[4] = quants[4] | bits(6, 0x18) << 3 | bits(7, 0x10) << 1;
}

template <class Word>
void split_fives(const Word (&words)[5], Word (&quants)[8]) {
  const auto bits = [&](int word, std::uint8_t mask) { return words[word] & each_byte<Word>(mask); };
  for (int i = 0; i < 5; ++i) quants[i] = bits(i, 0x1F);
  quants[5] = bits(0, 0xE0) >> 5 | bits(3, 0xC0) >> 3;
  quants[6] = bits(1, 0xE0) >> 5 | bits(4, 0xC0) >> 3;
  quants[7] = bits(2, 0xE0) >> 5 | bits(3, 0x20) >> 2 | bits(4, 0x20) >> 1;
}

}  // namespace ropewalk
