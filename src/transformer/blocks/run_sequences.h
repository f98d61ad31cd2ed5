// The sequences of a run, whose rows follow each other: the next tokens of sequences with memories, or whole sequences without. The blocks
// of a forward pass compute rows. Which memory the keys, values and states of a row belong to is known here.
#pragma once

#include <span>

#include "cache/kv_cache.h"
#include "cache/recurrent_state.h"
#include "transformer/weights.h"
#include "transformer/whole_texts.h"

namespace ropewalk {

// Maximum number of tokens per run with memories: enough to read each weight once for many tokens, and few enough to need little memory.
constexpr int kForwardTokens = 256;

// What a model remembers of a sequence: keys and values in a sequence of a cache, and the states of recurrent layers, null if it has none.
struct TextMemory {
  KvCache* cache;
  int sequence;
  RecurrentState* states;
};

// The next tokens of a sequence.
struct TextTokens {
  TextMemory memory;
  const int* tokens;
  int count;
};

// The rows [first, first + count) of one sequence, with the state of a recurrent layer before them and the memory of the state after them.
struct StateRows {
  int first, count;
  const float* from;
  float* to;
};

class RunSequences {
 public:
  // The rows [first, first + count) of a sequence.
  struct Part {
    TextMemory memory;  // a whole sequence has none: the cache is null
    int first, count;
    int before;  // tokens in the memory before the run
  };

  // Takes the tokens of the next run. Return the statuses of Forward::run(), or out_of_memory. No memory of a sequence changes yet.
  Status take(const Weights& weights, std::span<const TextTokens> sequences);
  Status take(const Weights& weights, WholeTexts& sequences, const int* tokens);

  // Begin the tokens' states, commit them, or give the memories the tokens that they had before.
  void begin();
  void commit();
  void cancel();

  int tokens() const { return static_cast<int>(tokens_.size()); }
  const int* token_ids() const { return tokens_.data(); }
  // How many tokens of the row's sequence are before it.
  int index_in_sequence(int row) const { return indices_[row]; }
  std::span<const Part> parts() const { return {parts_.data(), parts_.size()}; }
  bool are_whole() const { return whole_ != nullptr; }
  // The whole sequences of this run; null for runs with memories.
  const WholeTexts* whole() const { return whole_; }

  // Rotates queries and keys at their positions, and adds keys and values to the layer's memory. A layer that reads the keys of another
  // only has its queries rotated. `is_read_later`: another layer reads these keys.
  Status append(const LayerConfig& layer, const NewTokens& heads, bool is_read_later);
  // Attends from queries that append() has rotated. options.temperatures are those of all rows.
  Status attend(const LayerConfig& layer, const HeadTensor& queries, AttentionOptions options);
  // The factor of a layer's rope on cos and sin in sequence `index` of parts().
  double attention_factor(const LayerConfig& layer, int index);
  // Writes the factor of each row's query, [tokens()].
  void write_temperatures(const QueryTemperature& temperature, float* out) const;

  // The rows of each sequence, with a recurrent layer's state of `size` floats before and after them. Returns out_of_memory or ok.
  Status states(int layer, std::size_t size, std::span<const StateRows>& rows);

 private:
  Status check_tokens(const ModelConfig& config) const;

  void write_indices();

  Buffer<int> tokens_, indices_;  // of each row
  Buffer<Part> parts_;
  WholeTexts* whole_ = nullptr;
  Buffer<StateRows> state_rows_;
  Buffer<float> whole_states_;  // of a whole sequence: the state before it, all zeros, and the state after it
};

}  // namespace ropewalk
