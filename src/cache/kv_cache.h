// The KV cache: keys and values of a model's layers for one or more sequences. Positions and ropes can change after tokens were cached.
//
// Keys are stored rotated (attention uses them as they are) or raw (attention rotates them as it reads them). Either way, scores are those
// of keys computed from scratch at their current positions, under the plan for the sequence's current length. Rotated keys are within one
// rounding of their storage format for each time they were re-rotated. If a rope's frequencies depend on the length (dynamic NTK, dynamic
// YaRN, longrope), append() re-rotates the keys when the length leaves the range of their plan.
#pragma once

#include "cache/kv_adopt.h"
#include "cache/kv_append.h"
#include "cache/kv_attention.h"
#include "cache/kv_retune.h"
#include "cache/kv_shift.h"

namespace ropewalk {

class KvCache {
 public:
  KvCache() = default;
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  // Makes an empty cache. Returns the first thing wrong with the config, and then changes nothing.
  Status configure(const KvCacheConfig& config) { return storage_.configure(config); }

  void use_kernels(const AttentionKernels& kernels, const RotateKernels& rotate_kernels);

  const KvGeometry& geometry() const { return storage_.geometry; }
  KeyMode mode() const { return storage_.mode; }
  int max_tokens() const { return storage_.max_tokens; }
  int sequences() const { return storage_.sequence_count; }
  int ropes() const { return storage_.rope_count; }
  const KvSequence& sequence(int index) const { return storage_.sequences[index]; }
  const RopeConfig& rope_config(int rope) const { return storage_.ropes[rope].config(); }
  // Size of all pages in bytes. A page that n sequences hold, of this cache or others, counts as n parts.
  double bytes() const;

  // Appends new tokens to a layer in one pass: rotates and stores k, stores v, rotates q (under a position map attend() rotates both).
  // `sequence` may be kAllSequences. The first layer that gets a token sets its position; other layers follow. Everything is checked
  // first, including NaN, infinity and keys that would not fit their storage once rotated. On failure nothing changes, with one exception:
  // keys may already be re-rotated to the plan of the longer length. The next append re-rotates them back if needed.
  Status append(int layer, int sequence, const NewTokens& tokens) { return append_.append(layer, sequence, tokens); }

  // Rotates more queries in place (source == target), at the positions of the newest tokens of a layer, as append() would: for a layer that
  // reads the keys and values of another. `sequence` may be kAllSequences.
  Status rotate_queries(int layer, int sequence, const HeadTensor& queries) { return append_.rotate_queries(layer, sequence, queries); }

  // Attends from queries that append() has rotated: the newest tokens of their sequences. f32, any layout; target may be source. `sequence`
  // may be kAllSequences. options.position is ignored for layers with a rope. A scale of NaN means default_scale().
  Status attend(int layer, int sequence, const HeadTensor& queries, const AttentionOptions& options) {
    return attention_.attend(layer, sequence, queries, options);
  }

  // The weights of one query token that append() has rotated, as if it were the newest of its sequence and the layer had only the first
  // `tokens` tokens: [heads][tokens]. `query` is [heads][head_dim] floats. Sizes, options and statuses as Attention::weights();
  // query_shape_out_of_range if the layer has fewer tokens.
  Status weights(int layer, int sequence, int tokens, const float* query, int heads, const AttentionOptions& options, float* weights) {
    return attention_.weights(layer, sequence, tokens, query, heads, options, weights);
  }

  // The default factor of q · k: the plan's softmax scale, or 1/sqrt(head_dim) for layers without a rope.
  Status default_scale(int layer, int sequence, double& scale) { return attention_.default_scale(layer, sequence, scale); }
  // The factor of the plan on cos and sin, 1 for layers without a rope. The layer and the sequence must exist.
  double attention_factor(int layer, int sequence) { return attention_.attention_factor(layer, sequence); }

  // Releases memory that only tokens of the last append() read, and a truncation to one of them. The next append() does so as well.
  void settle(int sequence) { storage_.sequences[sequence].drop_open_pages(); }

  // Keeps the first `tokens` tokens of a sequence.
  Status truncate(int sequence, int tokens) { return truncate_tokens(storage_, sequence, tokens); }

  // Keeps the first `keep` tokens, discards the next `discard`, and moves the rest down by the gap: the first of them gets the position of
  // the first discarded token. Changes nothing on failure.
  Status shift(int sequence, int keep, int discard) { return shift_tokens(storage_, sequence, keep, discard); }
  // What shift() would return, except out_of_memory.
  Status can_shift(int sequence, int keep, int discard) const { return can_shift_tokens(storage_, sequence, keep, discard); }

  // Replaces a sequence with a copy of the first `tokens` tokens of another, which may belong to another cache with the same layers, type,
  // mode and ropes (else plans_differ). Both hold the same pages until one of them changes a page: then that one gets its own copy.
  Status copy_prefix(const KvCache& source, int from, int to, int tokens) {
    return copy_tokens(source.storage_, from, storage_, to, tokens);
  }
  Status copy_prefix(int from, int to, int tokens) { return copy_prefix(*this, from, to, tokens); }

  // Changes ropes, positions or both. Rotated keys are rotated once, from the old rope and position to the new, and rounded once. Positions
  // must be valid under the ropes after the change. Changes nothing on failure.
  Status retune(const KvRetune& change) { return retune_keys(storage_, change); }
  // What retune() would return, except out_of_memory.
  Status can_retune(const KvRetune& change) const { return can_retune_keys(storage_, change); }

  // Replaces the config of one rope.
  Status retune(int rope, const RopeConfig& config) { return retune({{&rope, 1}, &config, 0, nullptr}); }
  Status can_retune(int rope, const RopeConfig& config) const { return can_retune({{&rope, 1}, &config, 0, nullptr}); }

  // Moves the tokens of a sequence to new positions (one row, a position for each token).
  Status move(int sequence, const Positions& positions) { return retune({{}, nullptr, sequence, &positions}); }
  Status can_move(int sequence, const Positions& positions) const { return can_retune({{}, nullptr, sequence, &positions}); }

  // Writes keys as they are stored (rotated or raw) and values as floats, [count][heads][head_dim] each, from slot `first` on.
  Status read(int layer, int sequence, int first, int count, float* keys, float* values) const;

  // Replaces a sequence with a restored one (kv_image.h). Its keys are rotated by the plans `from`, one for each of the ropes() ropes, and
  // are re-rotated to this cache's plans for the same planned length. `from` is ignored in raw mode. On failure the cache is unchanged, and
  // `restored` must not be used any more.
  Status adopt(int sequence, KvSequence&& restored, const FrequencyPlan* from) {
    return adopt_sequence(storage_, sequence, std::move(restored), from);
  }

 private:
  KvStorage storage_;
  KvAppend append_{storage_};
  KvAttention attention_{storage_};
};

}  // namespace ropewalk
