// Caches and new tokens for tests.
#pragma once

#include "cache/kv_cache.h"
#include "native/rope/configs.h"
#include "native/rope/guarded_tensor.h"

namespace ropewalk {

inline const RowType kTestedRowTypes[] = {RowType::f32, RowType::f16, RowType::bf16, RowType::q8_0, RowType::q4_0};
inline const KeyMode kKeyModes[] = {KeyMode::rotated, KeyMode::raw};

inline const char* name_of(RowType type, KeyMode mode) {
  const char* names[2][5] = {{"f32 rotated", "f16 rotated", "bf16 rotated", "q8_0 rotated", "q4_0 rotated"},
                             {"f32 raw", "f16 raw", "bf16 raw", "q8_0 raw", "q4_0 raw"}};
  return names[static_cast<int>(mode)][static_cast<int>(type)];
}

// The config of a cache with its lists.
struct CacheSetup {
  std::vector<KvLayer> layers;
  std::vector<RopeConfig> ropes;
  RowType type = RowType::f32;
  KeyMode mode = KeyMode::rotated;
  int sequences = 1;
  int max_tokens = 1000;

  KvCacheConfig config() const { return {layers, ropes, type, mode, sequences, max_tokens}; }
  int axes() const {
    int axes = 1;
    for (const RopeConfig& rope : ropes)
      axes = std::max(axes, rope.mrope_section.empty() ? 1 : static_cast<int>(rope.mrope_section.size()));
    return axes;
  }
};

// A cache with equal layers that share one rope.
inline CacheSetup simple_setup(const RopeConfig& rope, RowType type = RowType::f32, KeyMode mode = KeyMode::rotated, int layers = 1,
                               int sequences = 1) {
  return {std::vector<KvLayer>(layers, {2, rope.head_dim, 0}), {rope}, type, mode, sequences, 1000};
}

struct ConfiguredCache : KvCache {
  explicit ConfiguredCache(const CacheSetup& setup) { EXPECT_EQ(configure(setup.config()), Status::ok); }
};

// Same as GuardedTensor::fill but faster, without long double: the property tests fill many tokens.
inline void fill(GuardedTensor& tensor, std::uint32_t seed) {
  if (tensor.dtype() != DType::f32) return static_cast<void>(tensor.fill(seed));
  Random random(seed);
  for (std::size_t i = 0; i < tensor.count(); ++i) tensor.set_bits(i, std::bit_cast<std::uint32_t>(static_cast<float>(random.next())));
}

// Tokens of a layer between guard bytes: random keys, values and queries, and optional positions.
struct Tokens {
  GuardedTensor k, v, q;
  std::vector<double> ids = {};  // [axes][rows][tokens]
  int axes = 1;
  int rows = 1;

  // Seed 0: not filled, to be copied from others.
  Tokens(const KvLayer& layer, int tokens, std::uint32_t seed, int batches = 1, DType dtype = DType::f32, Layout layout = Layout::bthd,
         int group = 2)
      : k(dtype, layout, {batches, tokens, layer.kv_heads, layer.head_dim}),
        v(dtype, layout, k.shape()),
        q(dtype, layout, {batches, tokens, group * layer.kv_heads, layer.head_dim}) {
    if (seed != 0) fill(k, seed), fill(v, seed + 1000000), fill(q, seed + 2000000);
  }

  Tokens& at(std::vector<double> positions, int position_axes = 1, int position_rows = 1) {
    ids = std::move(positions), axes = position_axes, rows = position_rows;
    return *this;
  }

  bool has_positions() const { return !ids.empty(); }
  Positions positions() const { return {0, ids.data(), axes, rows, k.shape().tokens}; }

  NewTokens with_queries() {
    NewTokens tokens = without_queries();
    tokens.queries = q.in_place();
    return tokens;
  }
  NewTokens without_queries() {
    NewTokens tokens = {k.in_place(), v.in_place(), {}, has_positions(), {}};
    if (has_positions()) tokens.positions = positions();
    return tokens;
  }

  std::vector<float> row(const GuardedTensor& tensor, int batch, int token, int head) const {
    std::vector<float> elements;
    for (int i = 0; i < tensor.shape().head_dim; ++i)
      elements.push_back(static_cast<float>(tensor.value(tensor.index(batch, token, head, i))));
    return elements;
  }

  // Copies token `token` of all batch rows from other tokens.
  void take(int token, const Tokens& other, int other_token) {
    const auto copy = [&](GuardedTensor& to, const GuardedTensor& from) {
      for (int batch = 0; batch < to.shape().batches; ++batch) {
        for (int head = 0; head < to.shape().heads; ++head) {
          for (int i = 0; i < to.shape().head_dim; ++i) {
            to.set_bits(to.index(batch, token, head, i), from.bits(from.index(batch, other_token, head, i)));
          }
        }
      }
    };
    copy(k, other.k), copy(v, other.v), copy(q, other.q);
  }
};

struct KeysAndValues {
  std::vector<float> keys, values;  // [tokens][heads][head_dim]
  bool operator==(const KeysAndValues&) const = default;
};

inline KeysAndValues read_all(const KvCache& cache, int layer, int sequence) {
  const KvGeometry::Layer& place = cache.geometry().layer(layer);
  const int tokens = cache.sequence(sequence).written(layer);
  KeysAndValues cached;
  cached.keys.resize(static_cast<std::size_t>(tokens) * place.heads * place.head_dim);
  cached.values.resize(cached.keys.size());
  EXPECT_EQ(cache.read(layer, sequence, 0, tokens, cached.keys.data(), cached.values.data()), Status::ok);
  return cached;
}

// The whole content of a cache: equal snapshots mean equal caches, bit for bit.
struct Snapshot {
  double bytes = 0;
  std::vector<double> positions, planned;
  std::vector<int> tokens, written;
  std::vector<KeysAndValues> stored;
  bool operator==(const Snapshot&) const = default;
};

inline Snapshot snapshot_of(const KvCache& cache) {
  Snapshot result;
  result.bytes = cache.bytes();
  for (int index = 0; index < cache.sequences(); ++index) {
    const KvSequence& sequence = cache.sequence(index);
    result.tokens.push_back(sequence.tokens());
    result.positions.push_back(sequence.largest_position());
    for (int slot = 0; slot < sequence.tokens(); ++slot) {
      for (int axis = 0; axis < cache.geometry().axes(); ++axis) result.positions.push_back(sequence.position(axis, slot));
    }
    for (int rope = 0; rope < cache.ropes(); ++rope) result.planned.push_back(sequence.planned_length(rope));
    for (int layer = 0; layer < cache.geometry().layers(); ++layer) {
      result.written.push_back(sequence.written(layer));
      result.stored.push_back(read_all(cache, layer, index));
    }
  }
  return result;
}

}  // namespace ropewalk
