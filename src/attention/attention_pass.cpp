#include "attention/attention_pass.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "base/thread_pool.h"
#include "base/touch.h"

namespace ropewalk {
namespace {

// Bytes of keys and values that are fetched at a time, of several heads and blocks if they fit: part of a first-level cache.
constexpr std::ptrdiff_t kTouchedBytes = 1 << 15;

// Calls act(part) for the part of a range in each block.
template <typename Act>
void each_block(SlotRange range, const Act& act) {
  for (int slot = range.first; slot < range.last;) {
    const int end = std::min(range.last, (slot / kBlockTokens + 1) * kBlockTokens);
    act(SlotRange{slot, end});
    slot = end;
  }
}

// Multiplies queries by kF16Unit, unless one is too large or no number. Loops without exits, so that compilers vectorize them.
bool scale_for_f16(float* queries, int count) {
  unsigned unfit = 0;
  for (int i = 0; i < count; ++i) unfit |= !(std::fabs(queries[i]) < kLargestF16Query);
  if (unfit != 0) return false;
  for (int i = 0; i < count; ++i) queries[i] *= kF16Unit;
  return true;
}

// The slot from which a range is read, rounded down to a multiple of four. Otherwise the start of the range would decide which of the
// four partial sums a weight is added to (attention_kernels.h), and a query's last bit would depend on what its neighbors see.
int first_read(SlotRange range) { return range.first - range.first % kRowFloats; }

}  // namespace

Pass::Pass(const AttentionKernels& kernels, const RotateKernels& rotate_kernels, const KeyValues& kv, const Queries& queries,
           const Positions& positions, const AttentionOptions& options)
    : kernels_(kernels),
      kv_(kv),
      queries_(queries),
      positions_(positions),
      options_(options),
      mask_(options, kv.tokens),
      map_(options.position.map()),
      encoder_(options.position, rotate_kernels),
      group_(queries.heads / kv.heads),
      dim_(padded_dim(kv.head_dim)),
      row_bytes_(static_cast<std::ptrdiff_t>(row_bytes(kv.type, kv.head_dim))),
      is_short_(static_cast<std::int64_t>(queries.tokens) * queries.heads <= kTileRows) {
  const bool shares_encoding = options.position.scheme != PositionScheme::none;
  tile_tokens_ = is_short_ ? queries.tokens : std::min(queries.tokens, std::max(1, kTileRows / group_));
  tile_heads_ = is_short_ && (shares_encoding || thread_pool().threads() == 1) ? kv.heads : 1;
  if (map_ && kv.tokens > 0) start_ = key_positions(kv, 0).first_position();
  rows_ = tile_tokens_ * tile_heads_ * group_;
  reads_in_place_ = kv.type == RowType::f32 && kv.head_dim == dim_;
  const bool is_finite = kv.pages != nullptr;
  blends_f16_ = kv.type == RowType::f16 && is_finite && kv.closed.pages == nullptr && kv.head_dim == dim_ &&
                tile_tokens_ * group_ <= kernels.max_f16_rows;
}

std::uint64_t Pass::memory_floats() const {
  const std::uint64_t tile = static_cast<std::uint64_t>(rows_) * dim_, block = static_cast<std::uint64_t>(kBlockTokens) * dim_;
  const std::uint64_t scheme = Encoder::memory_floats(options_.position, kv_.head_dim, queries_.heads);
  return 3 * tile + column_floats() + block + static_cast<std::uint64_t>(rows_) * (kBlockTokens + 1) + scheme;
}

void Pass::use_memory(float* memory, SoftmaxState* states, CosSinRows& rows) {
  const std::ptrdiff_t tile = static_cast<std::ptrdiff_t>(rows_) * dim_;
  const auto take = [&](std::ptrdiff_t floats) { return std::exchange(memory, memory + floats); };
  query_rows_ = take(tile);
  chunk_.sums = take(tile);
  total_.sums = take(tile);
  block_rows_ = take(static_cast<std::ptrdiff_t>(kBlockTokens) * dim_);
  scores_ = take(static_cast<std::ptrdiff_t>(rows_) * kBlockTokens);
  corrections_ = take(rows_);
  query_columns_ = take(column_floats());
  chunk_.states = states;
  total_.states = states + rows_;
  encoder_.prepare(memory, rows, kv_.head_dim, queries_.heads);
}

std::int64_t Pass::work() const {
  const int seen = options_.chunk > 0 ? std::min(options_.window, options_.chunk) : options_.window;
  const std::int64_t visible = std::int64_t{seen} + options_.sink_tokens + tile_tokens_;
  return std::int64_t{2} * rows_ * dim_ * std::min<std::int64_t>(kv_.tokens, visible);
}

// The heads of the last tokens come first: they see the most keys, so that threads end at the same time.
Tile Pass::tile(std::int64_t index) const {
  const int heads = kv_.heads / tile_heads_;
  const int token = (token_tiles() - 1 - static_cast<int>(index / heads)) * tile_tokens_;
  return {token, std::min(tile_tokens_, queries_.tokens - token), static_cast<int>(index % heads) * tile_heads_, tile_heads_};
}

void Pass::run_tile(const Tile& tile) {
  const Chunks seen = chunks(tile);
  if (seen.count() != 1) start(tile, total_);
  for (int i = 0, part = -1; i < seen.count(); ++i) {
    const Chunk chunk = seen[i];
    if (chunk.part != part) read_queries(tile, part = chunk.part);
    attend_chunk(tile, chunk, seen.count() == 1 ? total_ : chunk_);
    if (seen.count() != 1) merge(tile, chunk, chunk_, total_);
  }
  write_out(tile, total_);
}

void Pass::read_queries(const Tile& tile, int part) {
  for (int t = 0; t < tile.tokens; ++t) {
    const int token = tile.first_token + t;
    const bool encodes = encoder_.encodes_keys() && options_.position.encodes_queries;
    if (encodes) encoder_.use_query(positions_, token, part);
    for (int k = 0; k < tile.kv_heads; ++k) {
      float* rows = query_rows_ + static_cast<std::ptrdiff_t>(row_of(tile, k, t)) * dim_;
      for (int g = 0; g < group_; ++g) {
        const int head = (tile.first_kv_head + k) * group_ + g;
        float* row = rows + g * dim_;
        std::memcpy(row, queries_.queries + token * queries_.token_stride + head * queries_.head_stride, kv_.head_dim * sizeof(float));
        for (int i = kv_.head_dim; i < dim_; ++i) row[i] = 0;
      }
      if (encodes) encoder_.encode_query({rows, dim_, rows, dim_, group_});
    }
  }
  for (int row = 0; kv_.closed.pages != nullptr && row < rows_of(tile); ++row) {
    for (int i = 0; i < dim_; ++i) {
      query_columns_[(i / kBlockTokens * rows_ + row) * kBlockTokens + i % kBlockTokens] = query_rows_[row * dim_ + i];
    }
  }
  scores_f16_ = blends_f16_ && !encoder_.encodes_keys() && scale_for_f16(query_rows_, rows_of(tile) * dim_);
}

void Pass::attend_chunk(const Tile& tile, const Chunk& chunk, const PartialRows& partial) {
  start(tile, partial);
  if (options_.sinks != nullptr) {
    for (int t = 0; t < tile.tokens; ++t) {
      const Chunks seen = chunks(tile.first_token + t, tile.first_token + t);
      if (seen.count() == 0 || !(seen[0] == chunk)) continue;
      for (int k = 0; k < tile.kv_heads; ++k) {
        // a sink is a score without a value, processed before the token's first key
        const float* sinks = options_.sinks + (tile.first_kv_head + k) * group_;
        for (int g = 0; g < group_; ++g) partial.states[row_of(tile, k, t) + g] = {sinks[g], 1};
      }
    }
  }
  const VisibleKeys visible = visible_to(chunk.part, tile);
  for (const SlotRange keys : {visible.sinks, visible.window}) {
    const SlotRange seen = intersection(keys, chunk.slots);
    const std::ptrdiff_t block_bytes = 2 * kBlockTokens * row_bytes_ * tile.kv_heads;
    const int together = kBlockTokens * static_cast<int>(is_short_ ? std::max<std::ptrdiff_t>(1, kTouchedBytes / block_bytes) : 1);
    each_block(seen, [&](SlotRange range) {
      const bool is_first = range.first == seen.first || range.first % together == 0;
      attend_block(tile, {chunk.part, range},
                   {range.first, is_first ? std::min(seen.last, (range.first / together + 1) * together) : range.first}, partial);
    });
  }
}

// Processes the keys of a range within one block: first the scores of all rows, then their weights, then the values. So one block of keys
// or values at a time is in the first-level cache. The rows of `fetched` are touched before.
void Pass::attend_block(const Tile& tile, const Chunk& range, SlotRange fetched, const PartialRows& partial) {
  const SlotRange tokens = find_seen(tile, range);
  int split = tokens.first;  // later tokens see more groups as closed
  if (kv_.closed.pages == nullptr) split = tokens.last;
  while (split < tokens.last && !reads_closed(slot_of(tile.first_token + split), range.slots.first / kBlockTokens)) ++split;
  is_closed_ = false;
  attend_tokens(tile, {tokens.first, split}, range, fetched, partial);
  is_closed_ = true;
  attend_tokens(tile, {split, tokens.last}, range, fetched, partial);
  is_closed_ = false;
}

void Pass::attend_tokens(const Tile& tile, SlotRange tokens, const Chunk& range, SlotRange fetched, const PartialRows& partial) {
  if (tokens.is_empty()) return;
  const SlotRange read = use_block(range);
  const int heads = static_cast<int>(std::max<std::ptrdiff_t>(1, kTouchedBytes / (2 * kBlockTokens * row_bytes_)));
  for (int k = 0; k < tile.kv_heads; ++k) {
    const int head = tile.first_kv_head + k;
    if (k % heads == 0) {
      each_block(fetched, [&](SlotRange block) {
        for (int i = head; i < tile.first_kv_head + std::min(k + heads, tile.kv_heads); ++i) touch_block(i, block);
      });
    }
    const int first = row_of(tile, k, tokens.first), rows = (tokens.last - tokens.first) * group_;

    score(tile, first, rows, k, read);
    for (int t = tokens.first, row = 0; t < tokens.last; ++t, row += group_) {
      weigh(tile.first_token + t, head * group_, seen_[t], read.first, blends_f16_ ? kF16Unit : 1,
            scores_ + static_cast<std::ptrdiff_t>(row) * kBlockTokens, corrections_ + row, partial.states + first + row);
    }
    blend(rows, head, read, partial.sums + static_cast<std::ptrdiff_t>(first) * dim_);
  }
}

SlotRange Pass::use_block(const Chunk& range) {
  const SlotRange read = {first_read(range.slots), range.slots.last};
  const int block = read.first / kBlockTokens;
  if (encoder_.encodes_keys() && reads_channels(block)) {
    encoder_.use_channels(key_positions(kv_, block * kBlockTokens), range.part, block_rows_);
  } else if (encoder_.encodes_keys() || encoder_.has_bias()) {
    encoder_.use_keys(key_positions(kv_, read.first), read.length(), range.part);
  }
  return read;
}

void Pass::score(const Tile& tile, int first_row, int rows, int kv_head, SlotRange read) {
  const int head = tile.first_kv_head + kv_head, count = read.last - read.first;
  if (reads_channels(read.first / kBlockTokens)) return score_channels(first_row, rows, head, read);
  const float* queries = query_rows_ + static_cast<std::ptrdiff_t>(first_row) * dim_;
  if (scores_f16_) {
    return kernels_.score_f16({queries, dim_, rows, f16_rows(key_row(head, read.first)), f16_stride(), count, dim_, scores_});
  }
  const Floats keys = read_keys(head, read);
  kernels_.score({queries, dim_, rows, keys.rows, keys.stride, count, dim_, scores_});
}

// Blend adds channels that are weighted by the elements of a query.
void Pass::score_channels(int first_row, int rows, int head, SlotRange read) {
  const int first = read.first % kBlockTokens, count = padded_dim(read.length());
  kernels_.load_channels(
      {kv_.closed.block(read.first / kBlockTokens, 0, head, kv_.head_dim), kv_.head_dim, encoder_.rotation(), block_rows_});
  encoder_.add_to_channels(block_rows_);
  std::fill_n(scores_, rows * kBlockTokens, 0.0f);
  std::fill_n(corrections_, rows, 1.0f);
  for (int i = 0; i < dim_; i += kBlockTokens) {
    const float* queries = query_columns_ + static_cast<std::ptrdiff_t>(i) * rows_ + first_row * kBlockTokens;
    kernels_.blend({queries, corrections_, rows, block_rows_ + i * kBlockTokens + first, kBlockTokens, std::min(kBlockTokens, dim_ - i),
                    count, scores_, kBlockTokens});
  }
}

void Pass::blend(int rows, int head, SlotRange read, float* sums) {
  const int count = read.last - read.first;
  if (blends_f16_) {
    const Float16* values = f16_rows(value_row(head, read.first));
    return kernels_.blend_f16({scores_, corrections_, rows, values, f16_stride(), count, dim_, sums, dim_});
  }
  const Floats values = read_values(head, read);
  kernels_.blend({scores_, corrections_, rows, values.rows, values.stride, count, dim_, sums, dim_});
}

void Pass::write_weights(const Tile& tile, float* weights) {
  const int first_head = tile.first_kv_head * group_;
  const auto row_of_head = [&](int head) { return weights + static_cast<std::ptrdiff_t>(head) * kv_.tokens; };
  std::fill(row_of_head(first_head), row_of_head(first_head + tile.kv_heads * group_), 0.0f);
  for (int part = 0; part < map_.parts(); ++part) {
    const VisibleKeys visible = visible_to(part, tile);
    if (map_) read_queries(tile, part);
    for (const SlotRange keys : {visible.sinks, visible.window}) {
      each_block(keys, [&](SlotRange range) {
        is_closed_ = reads_closed(slot_of(tile.first_token), range.first / kBlockTokens);
        const SlotRange read = use_block({part, range});
        for (int k = 0; k < tile.kv_heads; ++k) {
          const int row = row_of(tile, k, 0), head = first_head + row;
          score(tile, row, group_, k, read);
          // relative to the largest score of all keys, so the sums stay as they are
          for (int g = 0; g < group_; ++g) chunk_.states[row + g] = {total_.states[row + g].maximum, 0};
          weigh(tile.first_token, head, range, read.first, 1, scores_, corrections_, chunk_.states + row);
          for (int g = 0; g < group_; ++g) {
            const float* shares = scores_ + g * kBlockTokens - read.first;
            for (int slot = range.first; slot < range.last; ++slot) row_of_head(head + g)[slot] = shares[slot] / total_.states[row + g].sum;
          }
        }
      });
    }
  }
}

VisibleKeys Pass::visible_to(int part, int first, int last) const {
  VisibleKeys visible = mask_.visible_to(slot_of(first), slot_of(last));
  if (map_) keep_part(part, first, last, visible);
  return visible;
}

void Pass::keep_part(int part, int first, int last, VisibleKeys& visible) const {
  const auto slot_at = [&](double position) {
    return static_cast<int>(std::clamp(position - start_, 0.0, static_cast<double>(kv_.tokens)));
  };
  const SlotRange keys = {slot_at(map_.keys(part, start_ + slot_of(first), start_).first),
                          slot_at(map_.keys(part, start_ + slot_of(last), start_).last)};
  visible.sinks = intersection(visible.sinks, keys);
  visible.window = intersection(visible.window, keys);
}

Chunks Pass::chunks(int first, int last) const {
  Chunks result;
  for (int part = 0; part < map_.parts(); ++part) result.add(visible_to(part, first, last));
  return result;
}

// The keys of a range that a token sees. The range holds either sinks or keys of the window, never both (attend_chunk).
SlotRange Pass::seen_by(int token, const Chunk& range) const {
  const VisibleKeys visible = visible_to(range.part, token, token);
  const SlotRange sinks = intersection(visible.sinks, range.slots);
  return sinks.is_empty() ? intersection(visible.window, range.slots) : sinks;
}

SlotRange Pass::find_seen(const Tile& tile, const Chunk& range) {
  SlotRange tokens = {0, tile.tokens};
  for (int t = 0; t < tile.tokens; ++t) seen_[t] = seen_by(tile.first_token + t, range);
  while (!tokens.is_empty() && seen_[tokens.first].is_empty()) ++tokens.first;
  while (!tokens.is_empty() && seen_[tokens.last - 1].is_empty()) --tokens.last;
  return tokens;
}

const char* Pass::stored(const char* base, std::size_t page_offset, int head, int slot) const {
  const std::ptrdiff_t in_head = head * kv_.head_stride;
  if (kv_.pages == nullptr) return base + slot * kv_.token_stride + in_head;
  return kv_.pages[slot / kBlockTokens] + page_offset + slot % kBlockTokens * kv_.token_stride + in_head;
}

// Fetches rows at full memory speed. The arithmetic alone would wait for each row. Keys and values, and those of several heads or blocks,
// are fetched together, which waits once.
void Pass::touch(const char* rows, int count) const {
  if (kv_.token_stride == row_bytes_) return touch_lines(rows, count * row_bytes_);
  for (int row = 0; row < count; ++row) touch_lines(rows + row * kv_.token_stride, row_bytes_);
}

void Pass::touch_block(int head, SlotRange block) const {
  const int page = block.first / kBlockTokens;
  if (page >= kv_.closed.count) {
    touch(key_row(head, block.first), block.last - block.first);
    return touch(value_row(head, block.first), block.last - block.first);
  }
  for (const int part : {0, 1}) {  // most tokens read this form
    touch_lines(kv_.closed.block(page, part, head, kv_.head_dim), static_cast<std::ptrdiff_t>(kv_.closed.bytes(page, part, kv_.head_dim)));
  }
}

Pass::Floats Pass::load_closed_rows(int part, int head, SlotRange range) const {
  const int page = range.first / kBlockTokens, first = range.first % kBlockTokens;
  const char* stored = kv_.closed.block(page, part, head, kv_.head_dim);
  const RowType type = closed_row_type(kv_.closed.is_first(page));
  const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(row_bytes(type, kv_.head_dim));
  kernels_.load[static_cast<int>(type)]({row, dim_, range.last - range.first, kv_.head_dim}, stored + first * row, block_rows_);
  return {block_rows_, dim_};
}

Pass::Floats Pass::read_keys(int head, SlotRange range) {
  const int count = range.last - range.first;
  if (is_closed_) {
    const Floats keys = load_closed_rows(0, head, range);
    if (encoder_.encodes_keys()) encoder_.encode_keys({keys.rows, dim_, block_rows_, dim_, count});
    return keys;
  }
  const char* keys = key_row(head, range.first);
  if (!encoder_.encodes_keys()) return reads_in_place_ ? in_place(keys) : load(keys, count);
  const Floats from = reads_in_place_ && encoder_.encodes_all() ? in_place(keys) : load(keys, count);
  encoder_.encode_keys({from.rows, from.stride, block_rows_, dim_, count});
  return {block_rows_, dim_};
}

Pass::Floats Pass::read_values(int head, SlotRange range) {
  if (is_closed_) return load_closed_rows(1, head, range);
  const char* values = value_row(head, range.first);
  return reads_in_place_ ? in_place(values) : load(values, range.last - range.first);
}

Pass::Floats Pass::in_place(const char* rows) const {
  return {reinterpret_cast<const float*>(rows), kv_.token_stride / static_cast<std::ptrdiff_t>(sizeof(float))};
}

Pass::Floats Pass::load(const char* rows, int count) const {
  kernels_.load[static_cast<int>(kv_.type)]({kv_.token_stride, dim_, count, kv_.head_dim}, rows, block_rows_);
  return {block_rows_, dim_};
}

// The rows of one token and one group of heads.
void Pass::weigh(int token, int first_head, SlotRange seen, int first_slot, float unit, float* scores, float* corrections,
                 SoftmaxState* states) {
  float scale = static_cast<float>(options_.scale);
  if (options_.temperatures != nullptr) scale *= options_.temperatures[token];
  if (options_.logn.length > 0) scale *= static_cast<float>(logn_factor(options_.logn, positions_.at(0, 0, token)));
  const int first = seen.first - first_slot, last = seen.last - first_slot;
  const float soft_cap = static_cast<float>(options_.soft_cap);
  if (!encoder_.has_bias()) return kernels_.weigh({scores, group_, nullptr, first, last, scale, soft_cap, unit}, states, corrections);
  for (int g = 0; g < group_; ++g) {
    float bias[kBlockTokens];
    encoder_.write_bias(positions_.at(0, 0, token), first_head + g, bias);
    kernels_.weigh({scores + g * kBlockTokens, 1, bias, first, last, scale, soft_cap, unit}, states + g, corrections + g);
  }
}

}  // namespace ropewalk
