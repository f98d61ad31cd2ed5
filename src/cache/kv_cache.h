// The KV cache: keys and values of a model's layers for one or more sequences. Positions and ropes can change after tokens were cached.
//
// Keys are stored rotated (attention uses them as they are) or raw (attention rotates them as it reads them). Either way, scores are those
// of keys computed from scratch at their current positions, under the plan for the sequence's current length. Rotated keys are within one
// rounding of their storage format for each time they were re-rotated. If a rope's frequencies depend on the length (dynamic NTK, dynamic
// YaRN, longrope), append() re-rotates the keys when the length leaves the range of their plan.
#pragma once

#include <memory>

#include "attention/attention.h"
#include "cache/kv_rerotate.h"

namespace ropewalk {

// rotated: attention is fastest. raw: changes of rope and position cost nothing and never round.
enum class KeyMode : int { rotated, raw };

// Largest factor by which rotation can enlarge an element of a key: √2, plus room for rounding.
constexpr double kRotationGrowth = 1.5;

constexpr int kMaxSequences = 65536;
constexpr int kAllSequences = -1;

// The spans must stay valid until configure() returns.
struct KvCacheConfig {
  std::span<const KvLayer> layers;
  std::span<const RopeConfig> ropes;
  RowType type = RowType::f32;
  KeyMode mode = KeyMode::rotated;
  int sequences = 1;
  int max_tokens = 0;  // per sequence
};

// New tokens of a layer. Batch row i belongs to sequence i; a single row belongs to the sequence that the call names.
struct NewTokens {
  HeadTensor keys;             // source only, not rotated; f32, f16 or bf16
  HeadTensor values;           // source only; shape, layout and type of the keys; not read if the layer has no values of its own
  HeadTensor queries;          // rotated in place (source == target), or source null; batches, tokens and layout of the keys, any type
  bool has_positions = false;  // false: tokens keep the positions from an earlier layer; others follow the sequence's largest position
  Positions positions;
};

// A change of some ropes, of the positions of one sequence, or of both.
struct KvRetune {
  std::span<const int> ropes;            // indices of the cache's ropes that get `config`, each once
  const RopeConfig* config = nullptr;    // may be null if `ropes` is empty
  int sequence = 0;                      // the sequence that gets `positions`
  const Positions* positions = nullptr;  // one row, a position for each token; null: positions stay
};

class KvCache {
 public:
  KvCache() = default;
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  // Makes an empty cache. Returns the first thing wrong with the config, and then changes nothing.
  Status configure(const KvCacheConfig& config);

  void use_kernels(const AttentionKernels& kernels, const RotateKernels& rotate_kernels);

  const KvGeometry& geometry() const { return geometry_; }
  KeyMode mode() const { return mode_; }
  int max_tokens() const { return max_tokens_; }
  int sequences() const { return sequence_count_; }
  int ropes() const { return rope_count_; }
  const KvSequence& sequence(int index) const { return sequences_[index]; }
  const RopeConfig& rope_config(int rope) const { return ropes_[rope].config(); }
  // Size of all pages in bytes. A page that n sequences hold, of this cache or others, counts as n parts.
  double bytes() const;

  // Appends new tokens to a layer in one pass: rotates and stores k, stores v, rotates q. `sequence` may be kAllSequences. The first layer
  // that gets a token sets its position; other layers follow. Everything is checked first, including NaN, infinity and keys that would not
  // fit their storage once rotated. On failure nothing changes, with one exception: keys may already be re-rotated to the plan of the
  // longer length. The next append re-rotates them back if needed.
  Status append(int layer, int sequence, const NewTokens& tokens);

  // Rotates more queries in place (source == target), at the positions of the newest tokens of a layer, as append() would: for a layer that
  // reads the keys and values of another. `sequence` may be kAllSequences.
  Status rotate_queries(int layer, int sequence, const HeadTensor& queries);

  // Attends from queries that append() has rotated: the newest tokens of their sequences. f32, any layout; target may be source. `sequence`
  // may be kAllSequences. options.position is ignored for layers with a rope. A scale of NaN means default_scale().
  Status attend(int layer, int sequence, const HeadTensor& queries, const AttentionOptions& options);

  // The weights of one query token that append() has rotated, as if it were the newest of its sequence and the layer had only the first
  // `tokens` tokens: [heads][tokens]. `query` is [heads][head_dim] floats. Sizes, options and statuses as Attention::weights();
  // query_shape_out_of_range if the layer has fewer tokens.
  Status weights(int layer, int sequence, int tokens, const float* query, int heads, const AttentionOptions& options, float* weights);

  // The default factor of q · k: the plan's softmax scale, or 1/sqrt(head_dim) for layers without a rope.
  Status default_scale(int layer, int sequence, double& scale);
  // The factor of the plan on cos and sin, 1 for layers without a rope. The layer and the sequence must exist.
  double attention_factor(int layer, int sequence);

  // Keeps the first `tokens` tokens of a sequence.
  Status truncate(int sequence, int tokens);

  // Keeps the first `keep` tokens, discards the next `discard`, and moves the rest down by the gap: the first of them gets the position of
  // the first discarded token. Changes nothing on failure.
  Status shift(int sequence, int keep, int discard);
  // What shift() would return, except out_of_memory.
  Status can_shift(int sequence, int keep, int discard) const;

  // Replaces a sequence with a copy of the first `tokens` tokens of another, which may belong to another cache with the same layers, type,
  // mode and ropes (else plans_differ). Both hold the same pages until one of them changes a page: then that one gets its own copy.
  Status copy_prefix(const KvCache& source, int from, int to, int tokens);
  Status copy_prefix(int from, int to, int tokens) { return copy_prefix(*this, from, to, tokens); }

  // Changes ropes, positions or both. Rotated keys are rotated once, from the old rope and position to the new, and rounded once. Positions
  // must be valid under the ropes after the change. Changes nothing on failure.
  Status retune(const KvRetune& change);
  // What retune() would return, except out_of_memory.
  Status can_retune(const KvRetune& change) const;

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
  Status adopt(int sequence, KvSequence&& restored, const FrequencyPlan* from);

 private:
  // Sequences [first, first + count): the rows of a batch.
  struct Range {
    int first;
    int count;
  };

  Range range_of(int sequence) const;
  bool stores_rotated_keys(int layer) const { return mode_ == KeyMode::rotated && geometry_.layer(layer).rope != kNoRope; }
  Status check_layer(int layer, int sequence) const;
  Status check_sequence(int sequence, bool may_be_all) const;
  Status check_same_keys(const KvCache& other, const KvSequence& cached) const;

  // One sequence's part of an append.
  struct Part {
    int tokens;               // tokens of the sequence before the append, to restore on failure
    int written;              // the same for the tokens of the layer
    double largest_position;  // of the new tokens
    float largest_key;        // as scaled by xPos
  };

  // What a layer's keys and values of a sequence are to attention, and `options` with the layer's rope and scale.
  Status view(int layer, int sequence, KeyValues& kv, AttentionOptions& options);
  // The positions of the newest `count` tokens, in positions_. Those of slots below 0 are 0.
  Positions newest_positions(const KvSequence& cached, int written, int count);

  // kv_cache_append.cpp
  Status write_parts(int layer, const Range& range, const NewTokens& tokens);
  Status reserve(int layer, KvSequence& cached, const NewTokens& tokens, const Part& part);
  Status check_part(int layer, const KvSequence& cached, const NewTokens& tokens, int row, Part& part);
  Status check_append(int layer, const Range& range, const NewTokens& tokens) const;
  Status check_positions_of(int layer, const KvSequence& cached, const NewTokens& tokens, int row) const;
  Status check_cached_positions(const FrequencyPlan& plan, const KvSequence& cached) const;
  double largest_added(const Positions& added, int row) const;
  Status find_plan(int rope, double length, FrequencyPlan& made, const FrequencyPlan*& plan) const;
  Status check_elements(int layer, const HeadTensor& tensor, int row, float limit, Status refusal, float& largest);
  Positions positions_of(const KvSequence& cached, const NewTokens& tokens, int known) const;
  Status write_tokens(int layer, KvSequence& cached, const NewTokens& tokens, int row);
  void rotate_piece(Rope& rope, const KvSequence& cached, int slot, const HeadTensor& queries, int row, int token, int count,
                    bool has_rows);
  void write_piece(int layer, KvSequence& cached, const NewTokens& tokens, int row, int token, int count);

  // kv_cache_retune.cpp
  Status plan_for(KvSequence& cached, double length);
  Status check_scale(const KvSequence& cached, const FrequencyPlan& plan, double growth) const;
  Status check_shift(const KvSequence& cached, int keep, int discard, double& delta) const;
  Status check_new_rope(int rope, const RopeConfig& config) const;
  Status check_new_positions(const KvRetune& change) const;
  Status check_keys(const KvSequence& cached, const KeyMove& move, const FrequencyPlan& from, const FrequencyPlan& to) const;
  Status check_move(const KvSequence& cached, const KeyMove& move) const;
  Status make_ropes(const KvRetune& change, std::unique_ptr<Rope[]>& ropes) const;
  Status make_turns(const KvRetune& change, std::unique_ptr<KeyTurn[]>& turns, std::size_t& count);
  bool are_finite(const KvSequence& cached);
  Status prepare_move(const KvSequence& cached);
  void apply_move(KvSequence& cached, const KeyMove& move);

  const AttentionKernels* kernels_ = &fastest_attention_kernels();
  const RotateKernels* rotate_kernels_ = &fastest_rotate_kernels();
  KvGeometry geometry_;
  KeyMode mode_ = KeyMode::rotated;
  int max_tokens_ = 0;
  int sequence_count_ = 0;
  int rope_count_ = 0;
  std::unique_ptr<KvSequence[]> sequences_;
  std::unique_ptr<Rope[]> ropes_;
  Attention attention_;
  KeyRerotation rerotation_;
  Buffer<float> rows_;        // [kBlockTokens][padded head_dim] before they are stored
  Buffer<float> cos_, sin_;   // [kBlockTokens][pairs]
  Buffer<double> positions_;  // [axes][tokens] of queries
  Buffer<Part> parts_;        // of an append
};

}  // namespace ropewalk
