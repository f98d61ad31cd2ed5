// Closed groups of the cache type q4_channel: the keys of one head and kBlockTokens tokens, before RoPE, with four bits per element. Each
// channel has its own scale and zero over the tokens (KIVI, arXiv:2402.02750; before RoPE: KVQuant, arXiv:2401.18079): outliers and offsets
// of keys stay in the same channels, and rotation would mix them.
//
//   group   codes [head_dim][16], zeros [head_dim] f16, scales [head_dim], a byte if that makes the size even
//
// Byte j of a channel's codes has token j in its low half and token j + 16 in its high half. An element is code · scale + zero. A scale is
// an f16 of which only the exponent and three bits of the mantissa are stored, bits 7 to 14.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "attention/kernels/attention_kernels.h"

namespace ropewalk {

// Tokens beyond a group that must follow before it is closed. So a rejected guess of so many tokens never reaches a closed group.
constexpr int kOpenTokens = 32;

constexpr int kCodeBytes = kBlockTokens / 2;

constexpr std::size_t channel_group_bytes(int head_dim) { return (static_cast<std::size_t>(head_dim) * (kCodeBytes + 3) + 1) / 2 * 2; }

// A closed page has the keys of all heads, a group each, and their values in rows. The first page of a sequence has rows of both: all
// tokens look at the first ones (attention sinks), whose keys are unlike others.
constexpr RowType closed_row_type(bool is_first) { return is_first ? RowType::q8_0 : RowType::q4_0; }
constexpr bool closes_as_group(int part, bool is_first) { return part == 0 && !is_first; }

// Bytes of a head's keys (part 0) or values (part 1) in a closed page.
constexpr std::size_t closed_bytes(int part, bool is_first, int head_dim) {
  return closes_as_group(part, is_first) ? channel_group_bytes(head_dim) : kBlockTokens * row_bytes(closed_row_type(is_first), head_dim);
}

// Whether a group is closed in a cache that has `tokens` tokens. A token reads the groups that are closed in a cache of which it is the
// last.
constexpr int closed_groups(int tokens) { return tokens < kOpenTokens ? 0 : (tokens - kOpenTokens) / kBlockTokens; }

// The parts of a stored group.
struct ChannelGroup {
  const std::uint8_t* codes;
  const Float16* zeros;
  const std::uint8_t* scales;

  ChannelGroup(const void* stored, int head_dim)
      : codes(static_cast<const std::uint8_t*>(stored)),
        zeros(reinterpret_cast<const Float16*>(codes + static_cast<std::size_t>(head_dim) * kCodeBytes)),
        scales(reinterpret_cast<const std::uint8_t*>(zeros + head_dim)) {}

  float element(int channel, int token) const {
    const std::uint8_t byte = codes[channel * kCodeBytes + token % kCodeBytes];
    return static_cast<float>(token < kCodeBytes ? byte & 15 : byte >> 4) * scale(channel) + to_float(zeros[channel]);
  }
  float scale(int channel) const { return to_float(Float16{static_cast<std::uint16_t>(scales[channel] << 7)}); }
};

// The closed pages of a layer in a paged cache.
struct ClosedPages {
  const char* const* pages = nullptr;  // null for types without groups
  int count = 0;                       // groups that the layer has closed, from the first
  bool has_first = false;              // whether page 0 has the form of a sequence's first
  std::size_t start[2] = {};           // of keys (part 0) and values (part 1) in a page, in bytes
  std::size_t first_start[2] = {};     // the same in the first page

  bool is_first(int page) const { return page == 0 && has_first; }
  std::size_t bytes(int page, int part, int head_dim) const { return closed_bytes(part, is_first(page), head_dim); }
  const char* block(int page, int part, int head, int head_dim) const {
    return pages[page] + (is_first(page) ? first_start : start)[part] + head * bytes(page, part, head_dim);
  }
};

// Stores rows of f32, [kBlockTokens][padded_dim(head_dim)], as a group. The scale is the range of a channel / 15.5, rounded to nearest: so
// no element is off by more than about half a step. The zero is the middle of the range minus 7.5 scales.
void store_channel_group(const float* rows, int head_dim, void* stored);

// Reads a group as rows of f32, [kBlockTokens][padded_dim(head_dim)].
void load_channel_group(const void* stored, int head_dim, float* rows);

}  // namespace ropewalk
