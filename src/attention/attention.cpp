#include "attention/attention.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "attention/attention_encoding.h"
#include "attention/attention_mask.h"
#include "base/thread_pool.h"
#include "base/touch.h"

namespace ropewalk {
namespace {

// Rows (one head of one token) that are processed together. Their queries and outputs, 128 KB at head_dim 128, fit a second-level cache.
constexpr int kTileRows = 128;

bool are_finite(const float* values, int count) {
  for (int i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) return false;
  }
  return true;
}

// A run of tokens, and the query heads that belong to a run of key heads.
struct Tile {
  int first_token;
  int tokens;
  int first_kv_head;
  int kv_heads;
};

// One call of attend(): walks over its tiles.
class Pass {
 public:
  Pass(const AttentionKernels& kernels, const RotateKernels& rotate_kernels, const KeyValues& kv, const Queries& queries,
       const Positions& positions, const AttentionOptions& options)
      : kernels_(kernels),
        kv_(kv),
        queries_(queries),
        positions_(positions),
        options_(options),
        mask_(options, kv.tokens),
        encoder_(options.position, rotate_kernels),
        group_(queries.heads / kv.heads),
        dim_(padded_dim(kv.head_dim)),
        row_bytes_(static_cast<std::ptrdiff_t>(row_bytes(kv.type, kv.head_dim))) {
    const bool is_short = static_cast<std::int64_t>(queries.tokens) * queries.heads <= kTileRows;
    const bool shares_encoding = options.position.scheme != PositionScheme::none;
    tile_tokens_ = is_short ? queries.tokens : std::min(queries.tokens, std::max(1, kTileRows / group_));
    tile_heads_ = is_short && (shares_encoding || thread_pool().threads() == 1) ? kv.heads : 1;
    rows_ = tile_tokens_ * tile_heads_ * group_;
    reads_in_place_ = kv.type == RowType::f32 && kv.head_dim == dim_;
  }

  // Working memory of a thread, in floats, and its number of rows.
  std::uint64_t memory_floats() const {
    const std::uint64_t tile = static_cast<std::uint64_t>(rows_) * dim_, block = static_cast<std::uint64_t>(kBlockTokens) * dim_;
    const std::uint64_t scheme = Encoder::memory_floats(options_.position, kv_.head_dim, queries_.heads);
    return 2 * tile + block + static_cast<std::uint64_t>(rows_) * kBlockTokens + rows_ + scheme;
  }
  int rows() const { return rows_; }

  void use_memory(float* memory, SoftmaxState* states) {
    const std::ptrdiff_t tile = static_cast<std::ptrdiff_t>(rows_) * dim_;
    query_rows_ = memory;
    out_rows_ = query_rows_ + tile;
    block_rows_ = out_rows_ + tile;
    scores_ = block_rows_ + static_cast<std::ptrdiff_t>(kBlockTokens) * dim_;
    corrections_ = scores_ + static_cast<std::ptrdiff_t>(rows_) * kBlockTokens;
    encoder_.prepare(corrections_ + rows_, kv_.head_dim, queries_.heads);
    states_ = states;
  }

  std::int64_t tiles() const { return std::int64_t{token_tiles()} * (kv_.heads / tile_heads_); }

  // Multiplications of a tile, at most.
  std::int64_t work() const {
    const std::int64_t visible = std::int64_t{options_.window} + options_.sink_tokens + tile_tokens_;
    return std::int64_t{2} * rows_ * dim_ * std::min<std::int64_t>(kv_.tokens, visible);
  }

  // The heads of the last tokens come first: they see the most keys, so that threads end at the same time.
  void run_tile(std::int64_t index) {
    const int heads = kv_.heads / tile_heads_;
    const int token = (token_tiles() - 1 - static_cast<int>(index / heads)) * tile_tokens_;
    run_tile(Tile{token, std::min(tile_tokens_, queries_.tokens - token), static_cast<int>(index % heads) * tile_heads_, tile_heads_});
  }

 private:
  int token_tiles() const { return (queries_.tokens + tile_tokens_ - 1) / tile_tokens_; }

  // Rows of a tile are ordered by key head, then token, then query head in the group.
  int row_of(const Tile& tile, int kv_head, int token) const { return (kv_head * tile.tokens + token) * group_; }
  int slot_of(int token) const { return kv_.tokens - queries_.tokens + token; }

  void run_tile(const Tile& tile) {
    read_queries(tile);
    const int first = slot_of(tile.first_token);
    const VisibleKeys visible = mask_.visible_to(first, first + tile.tokens - 1);
    for (const SlotRange range : {visible.sinks, visible.window}) {
      for (int slot = range.first; slot < range.last;) {
        const int end = std::min(range.last, (slot / kBlockTokens + 1) * kBlockTokens);
        attend_block(tile, {slot, end});
        slot = end;
      }
    }
    write_out(tile);
  }

  void read_queries(const Tile& tile) {
    for (int t = 0; t < tile.tokens; ++t) {
      const int token = tile.first_token + t;
      if (encoder_.encodes_keys() && options_.position.encodes_queries) encoder_.use_query(positions_, token);
      for (int k = 0; k < tile.kv_heads; ++k) {
        float* rows = query_rows_ + static_cast<std::ptrdiff_t>(row_of(tile, k, t)) * dim_;
        for (int g = 0; g < group_; ++g) {
          const int head = (tile.first_kv_head + k) * group_ + g;
          float* row = rows + g * dim_;
          std::memcpy(row, queries_.queries + token * queries_.token_stride + head * queries_.head_stride, kv_.head_dim * sizeof(float));
          for (int i = kv_.head_dim; i < dim_; ++i) row[i] = 0;
          SoftmaxState& state = states_[row_of(tile, k, t) + g];
          // a sink is a score without a value, processed before the first key
          state = options_.sinks == nullptr ? SoftmaxState{std::numeric_limits<float>::lowest(), 0} : SoftmaxState{options_.sinks[head], 1};
        }
        if (encoder_.encodes_keys() && options_.position.encodes_queries) encoder_.encode_query({rows, dim_, rows, dim_, group_});
      }
    }
    std::memset(out_rows_, 0, static_cast<std::size_t>(tile.kv_heads) * tile.tokens * group_ * dim_ * sizeof(float));
  }

  // The slot from which a range is read, rounded down to a multiple of four. Otherwise the start of the range would decide which of the
  // four partial sums a weight is added to (attention_kernels.h), and a query's last bit would depend on what its neighbors see.
  static int first_read(SlotRange range) { return range.first - range.first % kRowFloats; }

  // Processes the keys of a range within one block: first the scores of all rows, then their weights, then the values. So one block of keys
  // or values at a time is in the first-level cache.
  void attend_block(const Tile& tile, SlotRange range) {
    const SlotRange tokens = tokens_that_see(tile, range);
    if (tokens.is_empty()) return;
    const SlotRange read = {first_read(range), range.last};
    const int count = read.last - read.first;
    if (encoder_.encodes_keys() || encoder_.has_bias()) encoder_.use_keys(key_positions(kv_, read.first), count);
    for (int k = 0; k < tile.kv_heads; ++k) {
      const int head = tile.first_kv_head + k;
      const int first = row_of(tile, k, tokens.first), rows = (tokens.last - tokens.first) * group_;
      const std::ptrdiff_t start = static_cast<std::ptrdiff_t>(first) * dim_;

      const Floats keys = read_keys(head, read);
      kernels_.score({query_rows_ + start, dim_, rows, keys.rows, keys.stride, count, dim_, scores_});
      for (int row = 0; row < rows; ++row) {
        const int token = tile.first_token + tokens.first + row / group_;
        corrections_[row] = weigh(token, head * group_ + row % group_, range, scores_ + static_cast<std::ptrdiff_t>(row) * kBlockTokens,
                                  states_[first + row]);
      }
      const Floats values = read_values(head, read);
      kernels_.blend({scores_, corrections_, rows, values.rows, values.stride, count, dim_, out_rows_ + start, dim_});
    }
  }

  // The keys of a range that a token sees. The range holds either sinks or keys of the window, never both (run_tile).
  SlotRange seen_by(int token, SlotRange range) const {
    const VisibleKeys visible = mask_.visible_to(slot_of(token), slot_of(token));
    const SlotRange sinks = intersection(visible.sinks, range);
    return sinks.is_empty() ? intersection(visible.window, range) : sinks;
  }

  // The tokens of a tile that see a key of a range, counted from the tile's first token. They are always consecutive.
  SlotRange tokens_that_see(const Tile& tile, SlotRange range) const {
    SlotRange tokens = {0, tile.tokens};
    while (!tokens.is_empty() && seen_by(tile.first_token + tokens.first, range).is_empty()) ++tokens.first;
    while (!tokens.is_empty() && seen_by(tile.first_token + tokens.last - 1, range).is_empty()) --tokens.last;
    return tokens;
  }

  struct Floats {
    const float* rows;
    std::ptrdiff_t stride;
  };

  const char* stored(const char* base, std::size_t page_offset, int head, int slot) const {
    const std::ptrdiff_t in_head = head * kv_.head_stride;
    if (kv_.pages == nullptr) return base + slot * kv_.token_stride + in_head;
    return kv_.pages[slot / kBlockTokens] + page_offset + slot % kBlockTokens * kv_.token_stride + in_head;
  }

  Floats read_keys(int head, SlotRange range) {
    const char* keys = stored(kv_.keys, kv_.key_offset, head, range.first);
    if (!encoder_.encodes_keys()) return reads_in_place_ ? in_place(keys, range) : load(keys, range);
    const Floats from = reads_in_place_ && encoder_.encodes_all() ? in_place(keys, range) : load(keys, range);
    encoder_.encode_keys({from.rows, from.stride, block_rows_, dim_, range.last - range.first});
    return {block_rows_, dim_};
  }

  Floats read_values(int head, SlotRange range) {
    const char* values = stored(kv_.values, kv_.value_offset, head, range.first);
    return reads_in_place_ ? in_place(values, range) : load(values, range);
  }

  // Touches all rows first, so that they are fetched at full memory speed. The arithmetic alone would wait for each row.
  Floats in_place(const char* rows, SlotRange range) const {
    for (int row = 0; row < range.last - range.first; ++row) touch_lines(rows + row * kv_.token_stride, row_bytes_);
    return {reinterpret_cast<const float*>(rows), kv_.token_stride / static_cast<std::ptrdiff_t>(sizeof(float))};
  }

  Floats load(const char* rows, SlotRange range) const {
    kernels_.load[static_cast<int>(kv_.type)]({kv_.token_stride, dim_, range.last - range.first, kv_.head_dim}, rows, block_rows_);
    return {block_rows_, dim_};
  }

  float weigh(int token, int head, SlotRange range, float* scores, SoftmaxState& state) {
    const SlotRange seen = seen_by(token, range);
    float bias[kBlockTokens];
    if (encoder_.has_bias()) encoder_.write_bias(positions_.at(0, 0, token), head, bias);
    float scale = static_cast<float>(options_.scale);
    if (options_.temperatures != nullptr) scale *= options_.temperatures[token];
    const WeighRow row = {scores, encoder_.has_bias() ? bias : nullptr, seen.first - first_read(range), seen.last - first_read(range),
                          scale,  static_cast<float>(options_.soft_cap)};
    return kernels_.weigh(row, state);
  }

  void write_out(const Tile& tile) {
    for (int t = 0; t < tile.tokens; ++t) {
      const int token = tile.first_token + t;
      const VisibleKeys visible = mask_.visible_to(slot_of(token), slot_of(token));
      const bool saw_keys = !visible.sinks.is_empty() || !visible.window.is_empty();
      for (int k = 0; k < tile.kv_heads; ++k) {
        for (int g = 0; g < group_; ++g) {
          const int row = row_of(tile, k, t) + g, head = (tile.first_kv_head + k) * group_ + g;
          const float* sum = out_rows_ + static_cast<std::ptrdiff_t>(row) * dim_;
          float* out = queries_.out + token * queries_.token_stride + head * queries_.head_stride;
          // if a row saw keys, its largest weight is 1, unless a non-finite query made all scores NaN
          const float factor = states_[row].sum > 0 ? 1 / states_[row].sum : saw_keys ? std::numeric_limits<float>::quiet_NaN() : 0;
          for (int i = 0; i < kv_.head_dim; ++i) out[i] = sum[i] * factor;
        }
      }
    }
  }

  const AttentionKernels& kernels_;
  const KeyValues& kv_;
  const Queries& queries_;
  const Positions& positions_;
  const AttentionOptions& options_;
  Mask mask_;
  Encoder encoder_;
  int group_;  // query heads per key head
  int dim_;    // floats per row
  std::ptrdiff_t row_bytes_;
  int tile_tokens_;
  int tile_heads_;  // key heads: all if there are few rows, so that the encoding of a block of positions is computed once for all
  int rows_;
  bool reads_in_place_;

  float* query_rows_ = nullptr;   // [rows_][dim_]
  float* out_rows_ = nullptr;     // [rows_][dim_]
  float* block_rows_ = nullptr;   // [kBlockTokens][dim_]: keys, then values, if they are not read in place
  float* scores_ = nullptr;       // [rows_][kBlockTokens]
  float* corrections_ = nullptr;  // [rows_]
  SoftmaxState* states_ = nullptr;
};

}  // namespace

Status check_attention(const KeyValues& kv, const Queries& queries, const Positions& positions, const AttentionOptions& options) {
  if (static_cast<int>(kv.type) < 0 || static_cast<int>(kv.type) >= kRowTypes) return Status::row_type_unknown;
  if (kv.heads < 1 || kv.head_dim < 1 || kv.head_dim > kMaxHeadDim || kv.tokens < 0) return Status::shape_out_of_range;
  if (queries.tokens < 1 || queries.heads < 1 || queries.heads > kMaxQueryHeads) return Status::query_shape_out_of_range;
  if (queries.heads % kv.heads != 0) return Status::heads_not_grouped;
  if (positions.rows != 1 || positions.tokens != queries.tokens) return Status::shape_out_of_range;
  if (options.causal && queries.tokens > kv.tokens) return Status::more_queries_than_keys;
  if (options.window < 1) return Status::window_out_of_range;
  if (options.sink_tokens < 0) return Status::sink_tokens_out_of_range;
  if (options.sinks != nullptr && !are_finite(options.sinks, queries.heads)) return Status::sinks_not_finite;
  if (options.soft_cap != 0 && !(options.soft_cap >= 1e-3 && options.soft_cap <= 1e6)) return Status::soft_cap_out_of_range;
  if (!std::isfinite(static_cast<float>(options.scale))) return Status::attention_scale_out_of_range;
  if (options.temperatures != nullptr && !are_finite(options.temperatures, queries.tokens)) return Status::temperature_not_finite;
  return check_encoding(options.position, kv, positions, queries.heads);
}

Status Attention::attend(const KeyValues& kv, const Queries& queries, const Positions& positions, const AttentionOptions& options) {
  if (const Status status = check_attention(kv, queries, positions, options); status != Status::ok) return status;
  Pass pass(*kernels_, *rotate_kernels_, kv, queries, positions, options);
  // The rows of a rope are cached in the rope, which one thread uses at a time.
  const int parts = options.position.scheme == PositionScheme::rope ? 1 : parts_of(pass.tiles(), pass.work());
  const std::uint64_t threads = parts == 1 ? 1 : thread_pool().threads(), floats = pass.memory_floats();
  if (!memory_.resize(threads * floats) || !states_.resize(threads * pass.rows())) return Status::out_of_memory;
  in_parallel(parts, [&](int part, int thread) {
    Pass own = pass;
    own.use_memory(memory_.data() + thread * floats, states_.data() + thread * pass.rows());
    const auto [first, last] = part_range(pass.tiles(), parts, part);
    for (std::int64_t tile = first; tile < last; ++tile) own.run_tile(tile);
  });
  return Status::ok;
}

}  // namespace ropewalk
