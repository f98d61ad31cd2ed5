#include "transformer/blocks/run_sequences.h"

#include <algorithm>

#include "vectors/row_work.h"

namespace ropewalk {
namespace {

// The tokens of a call that may be a token and guesses, the last of which are truncated.
constexpr int kMostGuesses = 64;

// Whether a memory is that of the model's layers, with the same number of tokens everywhere.
Status check(const Weights& weights, const TextMemory& memory) {
  const ModelConfig& c = weights.config();
  const KvCache& cache = *memory.cache;
  const RecurrentState* states = memory.states;
  const KvGeometry& geometry = cache.geometry();
  if (geometry.layers() != weights.cache_layers()) return Status::cache_geometry;
  for (int i = 0; i < c.layers; ++i) {
    const LayerConfig& l = weights.layer_config(i);
    if (l.recurrence != Recurrence::none) {
      if (states == nullptr || states->layers() != c.layers || states->size(i) != weights.state_size(i)) return Status::cache_geometry;
    }
    if (!l.has_attention) continue;
    const KvGeometry::Layer& shape = geometry.layer(l.cache_layer);
    if (shape.heads != l.kv_heads || shape.head_dim != l.head_dim || shape.has_values() != (c.latent.latent == 0))
      return Status::cache_geometry;
  }
  if (memory.sequence < 0 || memory.sequence >= cache.sequences()) return Status::sequence_out_of_range;
  const KvSequence& cached = cache.sequence(memory.sequence);
  for (int i = 0; i < geometry.layers(); ++i) {
    if (cached.written(i) != cached.tokens()) return Status::cache_geometry;
  }
  return states != nullptr && geometry.layers() > 0 && states->tokens() != cached.tokens() ? Status::cache_geometry : Status::ok;
}

Status check(const Weights& weights, std::span<const TextTokens> sequences) {
  if (!weights.is_finished()) return Status::weight_missing;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const TextMemory& memory = sequences[i].memory;
    if (const Status status = check(weights, memory); status != Status::ok) return status;
    for (const TextTokens& other : sequences.first(i)) {
      const bool is_same = other.memory.cache == memory.cache && other.memory.sequence == memory.sequence;
      if (is_same || (memory.states != nullptr && other.memory.states == memory.states)) return Status::cache_geometry;
    }
    if (sequences[i].count < 1) return Status::token_count_out_of_range;
    count += sequences[i].count;
  }
  if (count < 1 || count > kForwardTokens) return Status::token_count_out_of_range;
  const int positions = weights.config().positions;
  for (const auto& [memory, tokens, rows] : sequences) {
    if (positions > 0 && memory.cache->sequence(memory.sequence).tokens() > positions - rows) return Status::position_table_too_short;
  }
  return Status::ok;
}

Status check(const Weights& weights, const WholeTexts& sequences) {
  if (!weights.is_finished()) return Status::weight_missing;
  const ModelConfig& c = weights.config();
  const std::span<const KvLayer> layers = sequences.layers();
  int own = 0;
  for (int i = 0; i < c.layers; ++i) {
    const LayerConfig& l = weights.layer_config(i);
    if (!l.has_attention) continue;
    own = std::max(own, l.cache_layer + 1);
    if (l.cache_layer >= static_cast<int>(layers.size())) return Status::cache_geometry;
    const KvLayer& shape = layers[l.cache_layer];
    if (shape.kv_heads != l.kv_heads || shape.head_dim != l.head_dim || shape.has_values != (c.latent.latent == 0))
      return Status::cache_geometry;
  }
  if (own != static_cast<int>(layers.size())) return Status::cache_geometry;
  if (sequences.tokens() < 1) return Status::token_count_out_of_range;
  if (c.positions > 0 && sequences.longest() > c.positions) return Status::position_table_too_short;
  for (int t = 0; t < sequences.tokens(); ++t) {
    if (c.token_types > 0 && (sequences.type(t) < 0 || sequences.type(t) >= c.token_types)) return Status::token_out_of_range;
  }
  return Status::ok;
}

// Rows [first, first + count) of f32 heads, [rows][heads][head_dim]. Null pointers stay null.
HeadTensor rows_of(const HeadTensor& heads, int first, int count) {
  HeadTensor rows = heads;
  const std::ptrdiff_t at = elements(first, heads.shape.heads * heads.shape.head_dim);
  if (heads.source != nullptr) rows.source = static_cast<const float*>(heads.source) + at;
  if (heads.target != nullptr) rows.target = static_cast<float*>(heads.target) + at;
  rows.shape.tokens = count;
  return rows;
}

}  // namespace

Status RunSequences::take(const Weights& weights, std::span<const TextTokens> sequences) {
  if (const Status status = check(weights, sequences); status != Status::ok) return status;
  int count = 0;
  for (const TextTokens& sequence : sequences) count += sequence.count;
  if (!tokens_.resize(count) || !indices_.resize(count) || !parts_.resize(sequences.size())) return Status::out_of_memory;
  whole_ = nullptr;
  int first = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const auto& [memory, tokens, rows] = sequences[i];
    parts_[i] = {memory, first, rows, memory.cache->sequence(memory.sequence).tokens()};
    std::copy_n(tokens, rows, tokens_.data() + first);
    first += rows;
  }
  write_indices();
  return check_tokens(weights.config());
}

Status RunSequences::take(const Weights& weights, WholeTexts& sequences, const int* tokens) {
  if (const Status status = check(weights, sequences); status != Status::ok) return status;
  if (!tokens_.resize(sequences.tokens()) || !indices_.resize(sequences.tokens()) || !parts_.resize(sequences.texts()))
    return Status::out_of_memory;
  whole_ = &sequences;
  for (int i = 0; i < sequences.texts(); ++i) {
    const int first = sequences.start(i);
    parts_[i] = {{nullptr, 0, nullptr}, first, sequences.start(i + 1) - first, 0};
  }
  std::copy_n(tokens, sequences.tokens(), tokens_.data());
  write_indices();
  return check_tokens(weights.config());
}

void RunSequences::write_indices() {
  for (const Part& part : parts()) {
    for (int i = 0; i < part.count; ++i) indices_[part.first + i] = part.before + i;
  }
}

Status RunSequences::check_tokens(const ModelConfig& config) const {
  for (int t = 0; t < tokens(); ++t) {
    if (tokens_[t] < 0 || tokens_[t] >= config.vocabulary_size) return Status::token_out_of_range;
  }
  return Status::ok;
}

void RunSequences::begin() {
  for (const Part& part : parts()) {
    if (part.memory.states != nullptr) part.memory.states->begin();
  }
}

void RunSequences::commit() {
  for (const Part& part : parts()) {
    if (part.memory.states != nullptr) part.memory.states->commit(part.count);
    const bool may_be_guesses = part.count <= kMostGuesses;
    if (part.memory.cache != nullptr && !may_be_guesses) part.memory.cache->settle(part.memory.sequence);
  }
}

void RunSequences::cancel() {
  for (const Part& part : parts()) {
    if (part.memory.cache != nullptr) part.memory.cache->truncate(part.memory.sequence, part.before);
  }
}

Status RunSequences::append(const LayerConfig& layer, const NewTokens& heads, bool is_read_later) {
  const bool has_keys = layer.keys_of == kOwnKeys;
  if (whole_ != nullptr) {
    return has_keys ? whole_->append(layer.cache_layer, heads, is_read_later) : whole_->rotate_queries(layer.cache_layer, heads.queries);
  }
  for (const Part& part : parts()) {
    NewTokens tokens;
    tokens.queries = rows_of(heads.queries, part.first, part.count);
    tokens.keys = rows_of(heads.keys, part.first, part.count);
    tokens.values = rows_of(heads.values, part.first, part.count);
    KvCache& cache = *part.memory.cache;
    const Status status = has_keys ? cache.append(layer.cache_layer, part.memory.sequence, tokens)
                                   : cache.rotate_queries(layer.cache_layer, part.memory.sequence, tokens.queries);
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

Status RunSequences::attend(const LayerConfig& layer, const HeadTensor& queries, AttentionOptions options) {
  if (whole_ != nullptr) return whole_->attend(layer.cache_layer, queries, options);
  const float* const temperatures = options.temperatures;
  for (const Part& part : parts()) {
    if (temperatures != nullptr) options.temperatures = temperatures + part.first;
    const HeadTensor rows = rows_of(queries, part.first, part.count);
    const Status status = part.memory.cache->attend(layer.cache_layer, part.memory.sequence, rows, options);
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

double RunSequences::attention_factor(const LayerConfig& layer, int index) {
  if (whole_ != nullptr) return whole_->attention_factor(layer.cache_layer, index);
  const TextMemory& memory = parts_[index].memory;
  return memory.cache->attention_factor(layer.cache_layer, memory.sequence);
}

void RunSequences::write_temperatures(const QueryTemperature& temperature, float* out) const {
  for (const Part& part : parts()) {
    for (int t = part.first; t < part.first + part.count; ++t) {
      const double position = whole_ != nullptr
                                  ? whole_->position(t)
                                  : part.memory.cache->sequence(part.memory.sequence).position(0, part.before + t - part.first);
      out[t] = static_cast<float>(query_temperature(temperature, position));
    }
  }
}

Status RunSequences::states(int layer, std::size_t size, std::span<const StateRows>& rows) {
  rows = {};
  if (!state_rows_.resize(parts_.size())) return Status::out_of_memory;
  if (whole_ != nullptr) {
    if (!whole_states_.resize(2 * static_cast<std::uint64_t>(size))) return Status::out_of_memory;
    std::fill_n(whole_states_.data(), size, 0.0f);
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    RecurrentState* states = part.memory.states;
    const float* from = whole_ != nullptr ? whole_states_.data() : states->from(layer);
    float* to = whole_ != nullptr ? whole_states_.data() + size : states->to(layer);
    state_rows_[i] = {part.first, part.count, from, to};
  }
  rows = {state_rows_.data(), state_rows_.size()};
  return Status::ok;
}

}  // namespace ropewalk
