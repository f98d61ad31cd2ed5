// Keys and values of a model's layers for some sequences, whose positions and plans can be changed after they were cached.
//
// Keys are held rotated (what a query is compared with as it is) or raw (turned as they are read). Either way the invariant is the same:
// scores are those of keys computed afresh at their present positions under the plan in force for the sequence's length, within one
// rounding of the storage for each time a rotated key was turned. Types whose frequencies depend on the length (dynamic NTK, dynamic YaRN,
// longrope) are turned by append() when the length leaves the range of their plan.
#pragma once

#include <memory>

#include "attention/attention.h"
#include "cache/kv_turn.h"

namespace ropewalk {

// rotated: attention is fastest. raw: changes of plan and position cost nothing and never round.
enum class KeyMode : int { rotated, raw };

// How much larger an element of a key may become by turning: √2, and room for rounding.
constexpr double kTurnGrowth = 1.5;

constexpr int kMaxSequences = 65536;
constexpr int kAllSequences = -1;

// Spans are needed until configure() returns.
struct KvCacheConfig {
  std::span<const KvLayer> layers;
  std::span<const RopeConfig> ropes;
  RowType type = RowType::f32;
  KeyMode mode = KeyMode::rotated;
  int sequences = 1;
  int max_tokens = 0;  // of each sequence
};

// New tokens of a layer: batch row i belongs to sequence i, or the one row to the sequence named.
struct NewTokens {
  HeadTensor keys;    // source only, not rotated yet; f32, f16 or bf16
  HeadTensor values;  // source only; shape, layout and type of the keys
  HeadTensor
      queries;  // turned in place (source == target); source null: none. Batches, tokens and layout of the keys, a type of their own.
  bool has_positions = false;  // else each token follows the largest position of its sequence, or stands where an earlier layer placed it
  Positions positions;
};

class KvCache {
 public:
  KvCache() = default;
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  // Makes an empty cache. Returns the first thing wrong with the config; the cache is then as it was.
  Status configure(const KvCacheConfig& config);

  void use_kernels(const AttentionKernels& kernels, const RotateKernels& rotate_kernels);

  const KvGeometry& geometry() const { return geometry_; }
  KeyMode mode() const { return mode_; }
  int max_tokens() const { return max_tokens_; }
  int sequences() const { return sequence_count_; }
  int ropes() const { return rope_count_; }
  const KvSequence& sequence(int index) const { return sequences_[index]; }
  const RopeConfig& rope_config(int rope) const { return ropes_[rope].config(); }
  // Bytes of all pages.
  double bytes() const;

  // Takes up new tokens in one pass: turns and stores k, stores v, turns q. The first layer to reach a token decides where it stands; the
  // others follow. Everything is checked first, NaN, infinity and keys that would not fit once they are turned included; on failure all is
  // as it was, except that keys may have been turned to the plan of the longer length already, which they are turned back from by the next
  // append.
  Status append(int layer, int sequence, const NewTokens& tokens);

  // Attends from queries that append() has turned, the newest tokens of their sequences. f32, any layout; target may be source.
  // For a layer with a rope, options.position is not read. A scale of NaN stands for default_scale().
  Status attend(int layer, int sequence, const HeadTensor& queries, const AttentionOptions& options);

  // What multiplies q · k unless the caller says otherwise: the plan's softmax scale, or 1/sqrt(head_dim) without a rope.
  Status default_scale(int layer, int sequence, double& scale);

  Status truncate(int sequence, int tokens);

  // Keeps the first `keep` tokens, drops the next `discard`, and moves the others into their place: the first of them stands where the
  // first of those dropped stood.
  Status shift(int sequence, int keep, int discard);
  // What shift() would return, out_of_memory aside.
  Status can_shift(int sequence, int keep, int discard) const;

  // Makes the first `tokens` tokens of one sequence those of another, in place of what that held.
  Status copy_prefix(int from, int to, int tokens);

  // Replaces a rope's config: the keys of its layers are turned from the old plan to the new.
  Status retune(int rope, const RopeConfig& config);
  // What retune() would return, out_of_memory aside.
  Status can_retune(int rope, const RopeConfig& config) const;

  // Makes a sequence's tokens stand elsewhere (positions of one row, one for each token).
  Status move(int sequence, const Positions& positions);
  // What move() would return, out_of_memory aside.
  Status can_move(int sequence, const Positions& positions) const;

  // Writes keys as they are held and values as floats, [count][heads][head_dim], from slot `first` on.
  Status read(int layer, int sequence, int first, int count, float* keys, float* values) const;

  // Takes the place of a sequence, whose keys have been turned for the plans `from` of `ropes()` ropes (not read in raw mode); they are
  // turned to this cache's for the same planned length (kv_image.h). On failure the cache is as it was, and `held` is of no more use.
  Status adopt(int sequence, KvSequence&& held, const FrequencyPlan* from);

 private:
  // Sequences [first, first + count), whose rows a batch holds.
  struct Range {
    int first;
    int count;
  };

  Range range_of(int sequence) const;
  // Whether a layer's keys are held turned.
  bool turns(int layer) const { return mode_ == KeyMode::rotated && geometry_.layer(layer).rope != kNoRope; }
  Status check_layer(int layer, int sequence) const;
  Status check_sequence(int sequence, bool may_be_all) const;

  // A sequence's part of an append.
  struct Part {
    int tokens;  // of the sequence before it, to go back to
    int written;
    double largest_position;  // of the new tokens
    float largest_key;        // as xPos scales it
  };

  // kv_cache_append.cpp
  Status take_up(int layer, const Range& range, const NewTokens& tokens);
  Status make_room(int layer, KvSequence& held, const NewTokens& tokens, const Part& part);
  Status check_part(int layer, const KvSequence& held, const NewTokens& tokens, int row, Part& part);
  Status check_append(int layer, const Range& range, const NewTokens& tokens) const;
  Status check_positions_of(int layer, const KvSequence& held, const NewTokens& tokens, int row) const;
  Status check_elements(int layer, const HeadTensor& tensor, int row, float limit, Status refusal, float& largest);
  Positions positions_of(const KvSequence& held, const NewTokens& tokens, int placed) const;
  Status write_tokens(int layer, KvSequence& held, const NewTokens& tokens, int row);
  void write_piece(int layer, KvSequence& held, const NewTokens& tokens, int row, int token, int count);

  // kv_cache_retune.cpp
  Status plan_for(KvSequence& held, double length);
  Status check_scale(const KvSequence& held, const FrequencyPlan& plan, double growth) const;
  Status check_shift(const KvSequence& held, int keep, int discard, double& delta) const;
  Status check_config(int rope, const RopeConfig& config, const FrequencyPlan& plan) const;
  Status check_moved(const KvSequence& held, const KeyMove& move) const;
  Status check_stands(const KvSequence& held, const KeyMove& move, const FrequencyPlan& plan) const;
  bool are_finite(const KvSequence& held);
  Status prepare_move(const KvSequence& held);
  void apply_move(KvSequence& held, const KeyMove& move);

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
  KeyTurn key_turn_;
  Buffer<float> rows_;        // [kBlockTokens][padded head_dim] on the way to storage
  Buffer<float> cos_, sin_;   // [kBlockTokens][pairs]
  Buffer<double> positions_;  // [axes][tokens] of queries
  Buffer<Part> parts_;        // of an append
};

}  // namespace ropewalk
