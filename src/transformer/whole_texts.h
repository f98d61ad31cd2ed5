// Texts that a model reads whole, without a cache: an encoder's, or those that a decoder embeds. The rows of several texts follow each
// other, and a token attends to its own text only. The keys of one layer live at a time, those of a layer that others read excepted.
#pragma once

#include <memory>
#include <span>

#include "cache/kv_cache.h"

namespace ropewalk {

class WholeTexts {
 public:
  WholeTexts() = default;
  WholeTexts(const WholeTexts&) = delete;
  WholeTexts& operator=(const WholeTexts&) = delete;

  void use_kernels(const AttentionKernels& kernels, const RotateKernels& rotate_kernels);

  // The layers of a cache of the same model, and their ropes, whose configs are copied. Returns cache_layers_out_of_range,
  // cache_rope_unknown, out_of_memory or what Rope::configure() returns. Changes nothing on failure.
  Status configure(std::span<const KvLayer> layers, std::span<const RopeConfig> ropes);
  std::span<const KvLayer> layers() const { return {layers_.data(), layers_.size()}; }

  // Sets the texts of the next run by their numbers of tokens, 1 or more each, and the type of each token (null: all 0). Positions are 0,
  // 1, 2 … in each text, and a rope whose frequencies depend on the length has those of the text's own. Returns token_count_out_of_range,
  // out_of_memory or a status of the ropes, and then there are no texts.
  Status begin(std::span<const int> lengths, const int* types);

  int texts() const { return static_cast<int>(starts_.size()) - 1; }
  int tokens() const { return texts() < 1 ? 0 : starts_[texts()]; }
  // The rows of a text are [start(text), start(text + 1)).
  int start(int text) const { return starts_[text]; }
  int position(int token) const { return positions_[token]; }
  int type(int token) const { return types_.empty() ? 0 : types_[token]; }
  int longest() const { return longest_; }

  // Rotates the keys and queries of all tokens in place (source == target; f32, thd), unless their rope has a position map: then attend()
  // does. Keys and values must stay where they are until attend(), unless `keeps` copies them for layers that read them later. Returns
  // head_dim_mismatch, out_of_memory or ok.
  Status append(int layer, const NewTokens& tokens, bool keeps);
  // The same for the queries of a layer that reads the keys of another.
  Status rotate_queries(int layer, const HeadTensor& queries) { return rotate(layer, Role::query, queries); }

  // The factor of a layer's rope on cos and sin in a text; 1 without a rope.
  double attention_factor(int layer, int text) const {
    const int rope = layers_[layer].rope;
    return rope == kNoRope ? 1 : rope_rows_[rope].factors[text];
  }

  // Attends from queries that append() has taken, each text for itself. The target may be the source. A scale of NaN means the rope's, or
  // 1/sqrt(head_dim).
  Status attend(int layer, const HeadTensor& queries, const AttentionOptions& options);

 private:
  // The rows of cos and sin of all tokens, [tokens][pairs], for queries and keys.
  struct RopeRows {
    Buffer<float> cos[2], sin[2];
    Buffer<double> scales, factors;  // of q · k, and of cos and sin, in each text
  };
  // Keys and values of a layer, [tokens][kv_heads][head_dim], and the memory of those that are kept.
  struct LayerRows {
    const float *keys, *values;
    Buffer<float> kept_keys, kept_values;
  };

  Status write_rows(int rope);
  Status rotate(int layer, Role role, const HeadTensor& heads);
  void clear() { starts_ = Buffer<int>(); }

  const RotateKernels* rotate_kernels_ = &fastest_rotate_kernels();
  Attention attention_;
  Buffer<AttentionRequest> requests_;  // of the texts
  Buffer<KvLayer> layers_;
  // The rope of a layer that attention applies, because it has a position map, else null.
  Rope* mapped_rope(int layer) const {
    const int rope = layers_[layer].rope;
    return rope == kNoRope || !ropes_[rope].plan().position_map ? nullptr : &ropes_[rope];
  }

  int rope_count_ = 0;
  std::unique_ptr<Rope[]> ropes_;
  std::unique_ptr<RopeRows[]> rope_rows_;
  std::unique_ptr<LayerRows[]> layer_rows_;
  Buffer<int> starts_;             // [texts + 1]
  Buffer<int> positions_, types_;  // [tokens]; types may be empty
  int longest_ = 0;
};

}  // namespace ropewalk
