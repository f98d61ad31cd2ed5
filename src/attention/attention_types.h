// What attention reads, writes and can be asked for: types shared by the mask, the position encoding and attention itself.
#pragma once

#include <climits>
#include <cstddef>

#include "attention/channel_group.h"
#include "attention/position_scheme.h"
#include "attention/row_storage.h"
#include "rope/rope.h"

namespace ropewalk {

// Keys and values of one sequence, in one of two forms:
// - a tensor: the row of a head and token starts at keys + head · head_stride + token · token_stride, and at values + the same offset;
// - pages of kBlockTokens tokens each (attention_kernels.h): the same offset counts from pages[token / kBlockTokens] + key_offset or
//   + value_offset, with token % kBlockTokens.
// All strides are in bytes.
struct KeyValues {
  RowType type = RowType::f32;
  int heads = 0;
  int head_dim = 0;
  int tokens = 0;
  std::ptrdiff_t head_stride = 0;
  std::ptrdiff_t token_stride = 0;

  const char* keys = nullptr;
  const char* values = nullptr;
  Positions positions;  // one row

  // [ceil(tokens / kBlockTokens)]; each begins with its positions, [axes][kBlockTokens] f64. All elements are finite.
  const char* const* pages = nullptr;
  std::size_t key_offset = 0;  // bytes from the start of a page
  std::size_t value_offset = 0;
  int axes = 1;  // of the positions in pages

  // Of q4_channel. Pages that some layer has closed also have this form, or no other.
  ClosedPages closed;
};

// Queries and outputs, [token][head][head_dim] or [head][token][head_dim], as the strides (in floats) say. out may be queries.
struct Queries {
  const float* queries = nullptr;
  float* out = nullptr;
  std::ptrdiff_t token_stride = 0;
  std::ptrdiff_t head_stride = 0;
  int tokens = 0;
  int heads = 0;
};

// How positions affect the scores. Fields that belong to other schemes are ignored.
struct PositionEncoding {
  PositionScheme scheme = PositionScheme::none;
  bool encodes_queries = true;    // false: the queries are already rotated
  Rope* rope = nullptr;           // uses its current plan
  double base = 10000;            // sinusoidal
  const float* table = nullptr;   // learned: [rows][head_dim]; t5: [buckets][heads]
  int table_rows = 0;             // learned
  const float* slopes = nullptr;  // alibi: [heads], or null for alibi_slopes()
  T5Buckets t5;

  // The map of the rope, or none.
  PositionMap map() const { return scheme == PositionScheme::rope ? rope->plan().position_map : PositionMap(); }
};

constexpr int kNoWindow = INT_MAX;

constexpr int kMaxQueryHeads = 1 << 20;  // keeps products with rows of a tile inside 32 bits

struct AttentionOptions {
  double scale = 1;              // multiplies q · k
  bool causal = true;            // a query sees no key after its own slot
  int window = kNoWindow;        // a query sees the last `window` keys up to its own slot; if not causal, keys less than `window` away
  int chunk = 0;                 // a query sees no key before its own chunk of so many slots, counted from slot 0 (Llama 4); 0: no chunks
  int sink_tokens = 0;           // the first keys of the sequence stay visible outside the window (StreamingLLM, arXiv:2309.17453)
  const float* sinks = nullptr;  // [heads] logits that count in the softmax sum but have no value (gpt-oss)
  double soft_cap = 0;           // s becomes cap · tanh(s / cap) (Gemma 2); 0: no cap
  const float* temperatures = nullptr;  // [query tokens] factors of q, from query_temperature() (Llama 4)
  LognScale logn;                       // scales the scores of a query by its position
  // Keys were normalized, so that the attention factor of their rope doesn't count: KvCache and WholeTexts divide the scale by it.
  bool has_normalized_keys = false;
  PositionEncoding position;
};

}  // namespace ropewalk
