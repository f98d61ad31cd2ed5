#include "attention/attention.h"

#include <algorithm>
#include <cmath>

#include "attention/attention_encoding.h"
#include "attention/attention_pass.h"
#include "base/thread_pool.h"

namespace ropewalk {
namespace {

// Floats for the chunks of one job. The chunks of 16,000 keys fit at 32 heads of 128.
constexpr std::uint64_t kChunkFloats = 1 << 17;

bool are_finite(const float* values, int count) {
  for (int i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) return false;
  }
  return true;
}

}  // namespace

Status check_attention(const KeyValues& kv, const Queries& queries, const Positions& positions, const AttentionOptions& options) {
  if (static_cast<int>(kv.type) < 0 || static_cast<int>(kv.type) >= kRowTypes) return Status::row_type_unknown;
  if (kv.heads < 1 || kv.head_dim < 1 || kv.head_dim > kMaxHeadDim || kv.tokens < 0) return Status::shape_out_of_range;
  if (queries.tokens < 1 || queries.heads < 1 || queries.heads > kMaxQueryHeads) return Status::query_shape_out_of_range;
  if (queries.heads % kv.heads != 0) return Status::heads_not_grouped;
  if (positions.rows != 1 || positions.tokens != queries.tokens) return Status::shape_out_of_range;
  if (options.causal && queries.tokens > kv.tokens) return Status::more_queries_than_keys;
  if (options.window < 1 || options.chunk < 0) return Status::window_out_of_range;
  if (options.sink_tokens < 0) return Status::sink_tokens_out_of_range;
  if (options.sinks != nullptr && !are_finite(options.sinks, queries.heads)) return Status::sinks_not_finite;
  if (options.soft_cap != 0 && !(options.soft_cap >= 1e-3 && options.soft_cap <= 1e6)) return Status::soft_cap_out_of_range;
  if (!std::isfinite(static_cast<float>(options.scale))) return Status::attention_scale_out_of_range;
  if (options.temperatures != nullptr && !are_finite(options.temperatures, queries.tokens)) return Status::temperature_not_finite;
  if (options.position.map() && !options.causal) return Status::position_map_causal;
  return check_encoding(options.position, kv, positions, queries.heads);
}

Status Attention::attend(const KeyValues& kv, const Queries& queries, const Positions& positions, const AttentionOptions& options) {
  const AttentionRequest request = {kv, queries, positions, options};
  return attend({&request, 1});
}

Status Attention::attend(std::span<const AttentionRequest> requests) {
  const auto pass_of = [&](const AttentionRequest& request) {
    return Pass(*kernels_, *rotate_kernels_, request.kv, request.queries, request.positions, request.options);
  };
  const int threads = thread_pool().threads();
  std::int64_t tiles = 0, work = 0;
  per_thread_ = {};
  for (const AttentionRequest& request : requests) {
    if (const Status status = check_attention(request.kv, request.queries, request.positions, request.options); status != Status::ok)
      return status;
    const Pass pass = pass_of(request);
    if (requests.size() == 1 && threads > 1 && pass.can_split()) return attend_chunks(pass);
    per_thread_.include(pass);
    tiles += pass.tiles();
    work += pass.tiles() * pass.work();
  }
  if (tiles == 0) return Status::ok;
  const int parts = parts_of(tiles, work / tiles);
  if (!reserve(parts == 1 ? 1 : threads)) return Status::out_of_memory;
  in_parallel(parts, [&](int part, int thread) {
    auto [first, last] = part_range(tiles, parts, part);
    for (const AttentionRequest& request : requests) {
      if (last <= 0) return;
      const Pass pass = pass_of(request);
      const std::int64_t count = pass.tiles();
      if (first < count) {
        Pass own = on_thread(pass, thread);
        for (std::int64_t tile = std::max<std::int64_t>(first, 0); tile < std::min(last, count); ++tile) own.run_tile(pass.tile(tile));
      }
      first -= count;
      last -= count;
    }
  });
  return thread_pool().status();
}

Status Attention::weights(const KeyValues& kv, const Queries& query, const Positions& positions, const AttentionOptions& options,
                          float* weights) {
  if (query.tokens != 1) return Status::query_shape_out_of_range;
  if (const Status status = check_attention(kv, query, positions, options); status != Status::ok) return status;
  const Pass pass(*kernels_, *rotate_kernels_, kv, query, positions, options);
  per_thread_ = {};
  per_thread_.include(pass);
  if (!reserve(1)) return Status::out_of_memory;
  Pass own = on_thread(pass, 0);
  for (std::int64_t i = 0; i < pass.tiles(); ++i) {
    own.run_tile(pass.tile(i));
    own.write_weights(pass.tile(i), weights);
  }
  return Status::ok;
}

void Attention::Memory::include(const Pass& pass) {
  floats = std::max(floats, pass.memory_floats());
  rows = std::max(rows, pass.rows());
  pairs = std::max(pairs, pass.pairs());
}

bool Attention::reserve(int threads) {
  for (int thread = 0; thread < threads; ++thread) {
    if (!rows_[thread].reserve(per_thread_.pairs)) return false;
  }
  return memory_.resize(threads * per_thread_.floats) && states_.resize(std::uint64_t{2} * threads * per_thread_.rows);
}

Pass Attention::on_thread(const Pass& pass, int thread) {
  Pass own = pass;
  own.use_memory(memory_.data() + thread * per_thread_.floats, states_.data() + std::ptrdiff_t{2} * thread * per_thread_.rows,
                 rows_[thread]);
  return own;
}

// Computes several chunks at a time and merges them in their order, as Pass::run_tile() does. A single chunk is the total.
Status Attention::attend_chunks(const Pass& pass) {
  const int tiles = static_cast<int>(pass.tiles()), rows = tiles * pass.rows();
  const std::uint64_t floats = static_cast<std::uint64_t>(rows) * pass.dim();
  const int max_chunks = static_cast<int>(std::max<std::uint64_t>(1, kChunkFloats / floats));
  per_thread_ = {};
  per_thread_.include(pass);
  const bool has_memory = reserve(thread_pool().threads()) && chunk_sums_.resize((max_chunks + 1) * floats) &&
                          chunk_states_.resize((std::uint64_t{1} + max_chunks) * rows);
  if (!has_memory) return Status::out_of_memory;
  const auto rows_of = [&](int tile, int index) {  // index 0: the total
    const std::ptrdiff_t row = std::ptrdiff_t{index} * rows + tile * pass.rows();
    return PartialRows{chunk_states_.data() + row, chunk_sums_.data() + row * pass.dim()};
  };
  for (int tile = 0; tile < tiles; ++tile) pass.start(pass.tile(tile), rows_of(tile, 0));
  const Chunks chunks = pass.chunks(pass.tile(0));  // all tiles have the same tokens
  const bool is_total = chunks.count() == 1;
  for (int done = 0; done < chunks.count(); done += max_chunks) {
    const int count = std::min(max_chunks, chunks.count() - done), units = tiles * count;
    const int parts = parts_of(units, pass.work() / chunks.count());
    in_parallel(parts, [&](int part, int thread) {
      Pass own = on_thread(pass, thread);
      const auto [first, last] = part_range(units, parts, part);
      for (int unit = static_cast<int>(first); unit < last; ++unit) {
        const int tile = unit % tiles, chunk = unit / tiles;
        own.read_queries(pass.tile(tile), chunks[done + chunk].part);
        own.attend_chunk(pass.tile(tile), chunks[done + chunk], rows_of(tile, is_total ? 0 : 1 + chunk));
      }
    });
    for (int tile = 0; tile < tiles && !is_total; ++tile) {
      for (int chunk = 0; chunk < count; ++chunk) {
        pass.merge(pass.tile(tile), chunks[done + chunk], rows_of(tile, 1 + chunk), rows_of(tile, 0));
      }
    }
  }
  for (int tile = 0; tile < tiles; ++tile) pass.write_out(pass.tile(tile), rows_of(tile, 0));
  return thread_pool().status();
}

}  // namespace ropewalk
