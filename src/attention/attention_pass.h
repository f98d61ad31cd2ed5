// One call of attention as pieces that threads compute: tiles of rows, and chunks of keys.
#pragma once

#include <algorithm>

#include "attention/attention_encoding.h"
#include "attention/attention_mask.h"
#include "attention/channel_group.h"
#include "attention/kernels/attention_kernels.h"

namespace ropewalk {

// Keys are processed in chunks of this many slots. Each chunk is a softmax of its own, and chunks are merged in the order of their slots.
// So the chunks of a token can be computed on any number of threads with the same bits.
constexpr int kChunkTokens = 512;
static_assert(kChunkTokens % kBlockTokens == 0);

// Rows (one head of one token) that are processed together. Their queries and outputs, 128 KB at head_dim 128, fit a second-level cache.
constexpr int kTileRows = 128;

// A chunk of keys in one part of the position map (rope/plans/position_map.h). Without a map there is one part.
struct Chunk {
  int part;
  SlotRange slots;
  bool operator==(const Chunk&) const = default;
};

// The chunks that contain visible keys, in the order of the parts, then of the slots. Those between the sinks and the window are left out.
class Chunks {
 public:
  // Adds the keys that are visible in the next part.
  void add(const VisibleKeys& visible) {
    Part& part = parts_[part_count_++];
    const auto run = [](SlotRange range, int least) {
      const int first = std::max(least, range.first / kChunkTokens);
      return range.is_empty() ? SlotRange{least, least} : SlotRange{first, std::max(first, chunks_up_to(range.last))};
    };
    part.sinks = run(visible.sinks, 0);
    part.window = run(visible.window, part.sinks.last);
    count_ += part.count();
  }

  int count() const { return count_; }
  Chunk operator[](int index) const {
    int part = 0;
    while (index >= parts_[part].count()) index -= parts_[part++].count();
    const int sinks = parts_[part].sinks.length();
    const int first = (index < sinks ? parts_[part].sinks.first + index : parts_[part].window.first + index - sinks) * kChunkTokens;
    return {part, {first, first + kChunkTokens}};
  }

 private:
  // Numbers of chunks.
  struct Part {
    SlotRange sinks, window;
    int count() const { return sinks.length() + window.length(); }
  };
  static int chunks_up_to(int slot) { return slot / kChunkTokens + (slot % kChunkTokens != 0 ? 1 : 0); }

  Part parts_[PositionMap::kMaxParts] = {};
  int part_count_ = 0;
  int count_ = 0;
};

// A run of tokens, and the query heads that belong to a run of key heads.
struct Tile {
  int first_token;
  int tokens;
  int first_kv_head;
  int kv_heads;
};

// The softmax state of rows, and their weighted sums of values relative to it, [rows][dim].
struct PartialRows {
  SoftmaxState* states;
  float* sums;
};

class Pass {
 public:
  Pass(const AttentionKernels& kernels, const RotateKernels& rotate_kernels, const KeyValues& kv, const Queries& queries,
       const Positions& positions, const AttentionOptions& options);

  // Working memory of a thread: floats, and states of 2 · rows() rows.
  std::uint64_t memory_floats() const;
  // `rows` have memory for pairs().
  void use_memory(float* memory, SoftmaxState* states, CosSinRows& rows);

  std::int64_t tiles() const { return std::int64_t{token_tiles()} * (kv_.heads / tile_heads_); }
  Tile tile(std::int64_t index) const;
  Chunks chunks(const Tile& tile) const { return chunks(tile.first_token, tile.first_token + tile.tokens - 1); }

  // Rows of a tile, at most, and floats per row.
  int rows() const { return rows_; }
  int dim() const { return dim_; }
  // Pairs that a rope rotates.
  int pairs() const { return encoder_.pairs(); }
  // Multiplications of a tile, at most.
  std::int64_t work() const;
  // Whether one job can be divided by chunks: there are few rows.
  bool can_split() const { return is_short_; }

  // Computes a tile from start to end in the thread's own memory.
  void run_tile(const Tile& tile);

  // The same in steps. start() and attend_chunk() write to rows that the caller keeps.
  void start(const Tile& tile, const PartialRows& rows) const;
  // Queries are encoded for a part. attend_chunk() needs those of the chunk's part.
  void read_queries(const Tile& tile, int part);
  void attend_chunk(const Tile& tile, const Chunk& chunk, const PartialRows& partial);
  void merge(const Tile& tile, const Chunk& chunk, const PartialRows& partial, const PartialRows& total) const;
  void write_out(const Tile& tile, const PartialRows& total) const;

  // After run_tile() of a tile of one token: writes the weights of its query heads, [heads][kv.tokens], 0 for keys that it doesn't see.
  void write_weights(const Tile& tile, float* weights);

 private:
  std::ptrdiff_t column_floats() const {
    return kv_.closed.pages == nullptr ? 0 : std::ptrdiff_t{rows_} * ((dim_ + kBlockTokens - 1) / kBlockTokens * kBlockTokens);
  }
  int token_tiles() const { return (queries_.tokens + tile_tokens_ - 1) / tile_tokens_; }
  // Rows of a tile are ordered by key head, then token, then query head in the group.
  int row_of(const Tile& tile, int kv_head, int token) const { return (kv_head * tile.tokens + token) * group_; }
  int rows_of(const Tile& tile) const { return tile.kv_heads * tile.tokens * group_; }
  int slot_of(int token) const { return kv_.tokens - queries_.tokens + token; }
  // The keys of a part that at least one of the tokens [first, last], both inclusive, sees.
  VisibleKeys visible_to(int part, int first, int last) const;
  [[gnu::noinline]] void keep_part(int part, int first, int last, VisibleKeys& visible) const;
  VisibleKeys visible_to(int part, const Tile& tile) const {
    return visible_to(part, tile.first_token, tile.first_token + tile.tokens - 1);
  }
  [[gnu::noinline]] Chunks chunks(int first, int last) const;
  SlotRange seen_by(int token, const Chunk& range) const;
  // Sets seen_. Returns the tokens of a tile that see a key of a range, counted from the tile's first token: they are
  // always consecutive.
  SlotRange find_seen(const Tile& tile, const Chunk& range);

  // `range` is within one block.
  void attend_block(const Tile& tile, const Chunk& range, SlotRange fetched, const PartialRows& partial);
  // The same for tokens of the tile that read the block in one form.
  void attend_tokens(const Tile& tile, SlotRange tokens, const Chunk& range, SlotRange fetched, const PartialRows& partial);
  // Whether the token at a slot reads a block as a closed group: if there is no other form, or the group is closed when it is the last
  // token.
  bool reads_closed(int slot, int block) const {
    return block < kv_.closed.count && (kv_.pages[block] == nullptr || block < closed_groups(slot + 1));
  }
  // Whether that form is a group of channels.
  bool reads_channels(int block) const { return is_closed_ && closes_as_group(0, kv_.closed.is_first(block)); }
  // Prepares for the keys of a range within one block. Returns the range that is read: it may start before.
  SlotRange use_block(const Chunk& range);
  // Writes the scores of `rows` rows of a tile, from `first_row` on, and the keys of that range to scores_.
  void score(const Tile& tile, int first_row, int rows, int kv_head, SlotRange read);
  void score_channels(int first_row, int rows, int head, SlotRange read);
  // `seen` of one token, in scores of keys from `first_slot` on.
  void weigh(int token, int first_head, SlotRange seen, int first_slot, float unit, float* scores, float* corrections,
             SoftmaxState* states);
  // Adds the values of the keys of that range, weighted by scores_, to rows.
  void blend(int rows, int head, SlotRange read, float* sums);

  struct Floats {
    const float* rows;
    std::ptrdiff_t stride;
  };
  const char* stored(const char* base, std::size_t page_offset, int head, int slot) const;
  const char* key_row(int head, int slot) const { return stored(kv_.keys, kv_.key_offset, head, slot); }
  const char* value_row(int head, int slot) const { return stored(kv_.values, kv_.value_offset, head, slot); }
  void touch(const char* rows, int count) const;
  void touch_block(int head, SlotRange block) const;
  // The keys (part 0) or values (part 1) of a range in a closed page that has them in rows.
  Floats load_closed_rows(int part, int head, SlotRange range) const;
  static const Float16* f16_rows(const char* rows) { return reinterpret_cast<const Float16*>(rows); }
  std::ptrdiff_t f16_stride() const { return kv_.token_stride / static_cast<std::ptrdiff_t>(sizeof(Float16)); }
  Floats read_keys(int head, SlotRange range);
  Floats read_values(int head, SlotRange range);
  Floats in_place(const char* rows) const;
  Floats load(const char* rows, int count) const;

  const AttentionKernels& kernels_;
  const KeyValues& kv_;
  const Queries& queries_;
  const Positions& positions_;
  const AttentionOptions& options_;
  Mask mask_;
  PositionMap map_;
  double start_ = 0;  // position of the first key, with a map
  Encoder encoder_;
  int group_;  // query heads per key head
  int dim_;    // floats per row
  std::ptrdiff_t row_bytes_;
  bool is_short_;
  int tile_tokens_;
  int tile_heads_;  // key heads: all if there are few rows, so that the encoding of a block of positions is computed once for all
  int rows_;
  bool reads_in_place_;
  bool is_closed_ = false;   // the block is read as a closed group
  bool blends_f16_;          // values are used as they are stored
  bool scores_f16_ = false;  // keys, too, and query_rows_ are multiplied by kF16Unit

  SlotRange seen_[kTileRows];       // what each token of a tile sees of the range that is processed
  float* query_rows_ = nullptr;     // [rows_][dim_]
  float* query_columns_ = nullptr;  // [dim_ / kBlockTokens][rows_][kBlockTokens]: the same for groups of channels
  PartialRows chunk_ = {};          // of run_tile()
  PartialRows total_ = {};
  float* block_rows_ = nullptr;   // [kBlockTokens][dim_]: keys, then values, if they are not read in place
  float* scores_ = nullptr;       // [rows_][kBlockTokens]
  float* corrections_ = nullptr;  // [rows_]
};

}  // namespace ropewalk
