// Model of a cache in plain vectors: the original keys, their positions and the planned length, and from these the expected content.
//
// The invariant: within rounding errors, a cached key is the one computed from scratch at its current position and plan. Rounding
// to storage changes an element by at most u · |element| (half an ulp: f16 u = 2^-11, bf16 2^-8), so it changes a pair, as a vector of
// length r, by at most u · r. A rotation keeps lengths, or scales them and earlier errors equally. So after n rotations a pair is off by at
// most (1 + n) · u · r, where u includes kRotationError (the f32 error of one rotation) and kAngleError times the angle (the f64 error of
// the angle). q8_0 rounds by block: max|block| · (1/254 + 2^-11).
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "native/cache/kv_tokens.h"

namespace ropewalk {

// cos and sin are rounded, then four products and two sums: (2√2 + 1) · 2^-24 of a pair's length.
constexpr double kRotationError = 0x1p-22;

// Two products for the angle, its two parts, and the later difference of angles: 2^-53 each.
constexpr double kAngleError = 0x1p-51;

// A row after storing and loading: each element is rounded once.
inline std::vector<float> rounded(const std::vector<float>& row, RowType type) {
  if (type == RowType::f32) return row;
  std::vector<float> result;
  if (!has_blocks(type)) {
    const DType dtype = static_cast<DType>(type);
    for (const float value : row) result.push_back(static_cast<float>(oracle::decode(oracle::encode(value, dtype), dtype)));
    return result;
  }
  for (std::size_t block = 0; block < row.size(); block += 32) {  // GGUF: the scale is max|x| / 127 or x / -8, an f16
    const std::size_t end = std::min(row.size(), block + 32);
    float largest = 0;
    for (std::size_t i = block; i < end; ++i) largest = std::fabs(row[i]) > std::fabs(largest) ? row[i] : largest;
    const bool has_4_bits = type == RowType::q4_0;
    const float scale = has_4_bits ? largest / -8 : std::fabs(largest) / 127;
    const float stored = static_cast<float>(oracle::decode(oracle::encode(scale, DType::f16), DType::f16));
    for (std::size_t i = block; i < end; ++i) {
      const float steps = scale == 0 ? 0 : row[i] * (1 / scale);
      result.push_back((has_4_bits ? std::min(15.0f, std::trunc(steps + 8.5f)) - 8 : std::nearbyint(steps)) * stored);
    }
  }
  return result;
}

// The factors of each pair at a position.
struct PairRow {
  std::vector<double> cos, sin, scale, angle;  // cos and sin without scale, [pairs]
};

inline PairRow pair_row(const FrequencyPlan& plan, const std::vector<double>& position, Role role) {
  PairRow row;
  for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) {
    const double p = position[position.size() == 1 ? 0 : plan.axis_of_pair[j]], w = plan.inv_freq[j];
    const double angle = plan.precision == Precision::hf ? static_cast<float>(w) * static_cast<float>(p) : w * p;
    const double power = plan.xpos_scale.empty() ? 0 : (role == Role::key ? -1 : 1) * (p - plan.xpos_center) / plan.xpos_scale_base;
    row.cos.push_back(std::cos(angle));
    row.sin.push_back(std::sin(angle));
    row.angle.push_back(std::fabs(angle));
    row.scale.push_back(plan.attention_factor * (power == 0 ? 1 : std::pow(plan.xpos_scale[j], power)));
  }
  return row;
}

// Indices of the elements of pair j in a head, before and after rotation.
struct PairPlaces {
  int x, y, rotated_x, rotated_y;
};

inline PairPlaces places_of(const FrequencyPlan& plan, int j) {
  const int pairs = plan.rotary_dim / 2, first = plan.rotary_offset;
  const Pairing read = plan.pairing == Pairing::half ? Pairing::half : Pairing::interleaved,
                write = plan.pairing == Pairing::interleaved ? Pairing::interleaved : Pairing::half;
  return {first + oracle::index_of_x(read, j, pairs), first + oracle::index_of_y(read, j, pairs),
          first + oracle::index_of_x(write, j, pairs), first + oracle::index_of_y(write, j, pairs)};
}

// Rotates a head in double precision.
inline std::vector<double> rotated(const float* head, const FrequencyPlan& plan, const PairRow& row) {
  std::vector<double> result(head, head + plan.head_dim);
  for (int j = 0; j < plan.rotary_dim / 2; ++j) {
    const PairPlaces at = places_of(plan, j);
    const double x = head[at.x], y = head[at.y];
    result[at.rotated_x] = (x * row.cos[j] - y * row.sin[j]) * row.scale[j];
    result[at.rotated_y] = (y * row.cos[j] + x * row.sin[j]) * row.scale[j];
  }
  return result;
}

struct ModelHead {
  std::vector<float> key, value;  // original key, stored value
  std::vector<double> stored;     // expected stored key
  std::vector<double> error;      // largest allowed error of each element or its pair
};

struct ModelToken {
  std::vector<ModelHead> heads;
  std::vector<double> scale;  // current scale of each pair
};

struct ModelSequence {
  std::vector<std::vector<double>> positions;   // [tokens][axes]
  std::vector<std::vector<ModelToken>> layers;  // [layers][written]
  double planned = 1;                           // length whose plan keys are rotated by

  double largest_position() const {
    double largest = -1;
    bool is_first = true;
    for (const auto& position : positions) {
      for (const double p : position) largest = is_first ? p : std::max(largest, p), is_first = false;
    }
    return largest;
  }
};

class KvModel {
 public:
  explicit KvModel(const CacheSetup& setup) : setup_(setup), sequences_(setup.sequences) {
    for (ModelSequence& sequence : sequences_) sequence.layers.resize(setup.layers.size());
  }

  const CacheSetup& setup() const { return setup_; }
  const ModelSequence& operator[](int sequence) const { return sequences_[sequence]; }
  FrequencyPlan plan(int sequence, int rope) const { return plan_of(setup_.ropes[rope], sequences_[sequence].planned); }
  bool stores_rotated(int layer) const { return setup_.mode == KeyMode::rotated && setup_.layers[layer].rope != kNoRope; }

  // Batch row i belongs to sequence first + i.
  void append(int layer, int first, const Tokens& tokens) {
    for (int row = 0; row < tokens.k.shape().batches; ++row) append_row(layer, sequences_[first + row], tokens, row);
  }

  void truncate(int sequence, int tokens) {
    ModelSequence& cached = sequences_[sequence];
    cached.positions.resize(tokens);
    for (auto& layer : cached.layers) layer.resize(std::min<std::size_t>(layer.size(), tokens));
  }

  void shift(int sequence, int keep, int discard) {
    ModelSequence& cached = sequences_[sequence];
    auto positions = cached.positions;
    positions.erase(positions.begin() + keep, positions.begin() + keep + discard);
    for (std::size_t slot = keep; slot < positions.size(); ++slot) {
      for (double& p : positions[slot]) p -= cached.positions[keep + discard][0] - cached.positions[keep][0];
    }
    for (auto& layer : cached.layers) {
      const auto end = [&](int slot) { return layer.begin() + std::min<std::size_t>(layer.size(), slot); };
      layer.erase(end(keep), end(keep + discard));
    }
    cached.positions.erase(cached.positions.begin() + keep, cached.positions.begin() + keep + discard);
    move(sequence, positions);
  }

  void move(int sequence, const std::vector<std::vector<double>>& positions) {
    ModelSequence& cached = sequences_[sequence];
    const auto before = std::move(cached.positions);
    cached.positions = positions;
    for (int rope = 0; rope < static_cast<int>(setup_.ropes.size()); ++rope) {
      rerotate_tokens(cached, rope, [&](std::size_t slot) { return before[slot] != positions[slot]; });
    }
  }

  void retune(int rope, const RopeConfig& config) {
    setup_.ropes[rope] = config;
    for (ModelSequence& cached : sequences_) rerotate_tokens(cached, rope, [](std::size_t) { return true; });
  }

  void copy(int from, int to, int tokens) {
    sequences_[to] = sequences_[from];
    truncate(to, tokens);
  }

  // Re-rotates a sequence to the plans for another length.
  void replan(int sequence, double length) { plan_for(sequences_[sequence], length); }

  // Copies a sequence from a model whose cache has other ropes.
  void adopt(int sequence, const ModelSequence& other) {
    sequences_[sequence] = other;
    for (int rope = 0; rope < static_cast<int>(setup_.ropes.size()); ++rope) {
      rerotate_tokens(sequences_[sequence], rope, [](std::size_t) { return true; });
    }
  }

 private:
  void append_row(int layer, ModelSequence& cached, const Tokens& tokens, int row) {
    const Shape& shape = tokens.k.shape();
    const int placed = static_cast<int>(cached.positions.size() - cached.layers[layer].size());
    const double next = cached.largest_position() + 1;
    for (int token = placed; token < shape.tokens; ++token) {
      std::vector<double> position(setup_.axes(), next + token - placed);
      for (int axis = 0; tokens.has_positions() && axis < setup_.axes(); ++axis) position[axis] = tokens.positions().at(axis, row, token);
      cached.positions.push_back(position);
    }
    if (placed < shape.tokens) plan_for(cached, std::max(1.0, std::ceil(cached.largest_position()) + 1));
    for (int token = 0; token < shape.tokens; ++token) {
      const std::size_t slot = cached.layers[layer].size();
      ModelToken& added = cached.layers[layer].emplace_back();
      for (int head = 0; head < shape.heads; ++head) {
        const std::vector<float> key = tokens.row(tokens.k, row, token, head), stored = rounded(key, setup_.type);
        const std::vector<float>& stored_key =
            stores_rotated(layer) && has_blocks(setup_.type) ? key : stored;  // blocks are rounded after rotation
        added.heads.push_back({key,
                               rounded(tokens.row(tokens.v, row, token, head), setup_.type),
                               {stored_key.begin(), stored_key.end()},
                               std::vector<double>(key.size(), 0)});
      }
      if (!stores_rotated(layer)) continue;
      const FrequencyPlan plan = plan_of(setup_.ropes[setup_.layers[layer].rope], cached.planned);
      rerotate(added, plan, cached.positions[slot]);
    }
  }

  void plan_for(ModelSequence& cached, double length) {
    for (int rope = 0; rope < static_cast<int>(setup_.ropes.size()); ++rope) {
      const FrequencyPlan from = plan_of(setup_.ropes[rope], cached.planned), to = plan_of(setup_.ropes[rope], length);
      const bool is_same = std::equal(&from.inv_freq[0], &from.inv_freq[0] + from.inv_freq.size(), &to.inv_freq[0]) &&
                           from.attention_factor == to.attention_factor;
      const double before = std::exchange(cached.planned, length);
      if (!is_same) rerotate_tokens(cached, rope, [](std::size_t) { return true; });
      cached.planned = before;
    }
    cached.planned = length;
  }

  template <class Moves>
  void rerotate_tokens(ModelSequence& cached, int rope, Moves moves) {
    const FrequencyPlan plan = plan_of(setup_.ropes[rope], cached.planned);
    for (std::size_t layer = 0; layer < cached.layers.size(); ++layer) {
      if (setup_.layers[layer].rope != rope || setup_.mode == KeyMode::raw) continue;
      for (std::size_t slot = 0; slot < cached.layers[layer].size(); ++slot) {
        if (moves(slot)) rerotate(cached.layers[layer][slot], plan, cached.positions[slot]);
      }
    }
  }

  // Moves a token: computes its keys from scratch, and adds one rotation to their errors.
  void rerotate(ModelToken& token, const FrequencyPlan& plan, const std::vector<double>& position) {
    const PairRow row = pair_row(plan, position, Role::key);
    const double rotation_error =
        plan.precision == Precision::hf ? 2 * kRotationError : kRotationError;  // hf rounds cos, sin and factor first
    for (ModelHead& head : token.heads) {
      const std::vector<double> fresh = rotated(head.key.data(), plan, row);
      for (int j = 0; j < plan.rotary_dim / 2; ++j) {
        const PairPlaces at = places_of(plan, j);
        const double length = std::hypot(fresh[at.rotated_x], fresh[at.rotated_y]);
        const double earlier = token.scale.empty() ? 0 : head.error[at.rotated_x] * row.scale[j] / token.scale[j];
        const double arithmetic = length * (rotation_error + kAngleError * row.angle[j]);
        head.stored[at.rotated_x] = fresh[at.rotated_x], head.stored[at.rotated_y] = fresh[at.rotated_y];
        head.error[at.rotated_x] = head.error[at.rotated_y] = earlier + arithmetic + storage_error(length + earlier);
      }
      if (has_blocks(setup_.type)) add_block_errors(head, plan);
    }
    token.scale = row.scale;
  }

  double storage_error(double length) const {
    if (setup_.type == RowType::f16) return length * 0x1p-11 + 0x1p-24;  // below 2^-14 half an ulp is 2^-25, for each element
    return setup_.type == RowType::bf16 ? length * 0x1p-8 : 0;
  }

  void add_block_errors(ModelHead& head, const FrequencyPlan& plan) const {
    std::vector<double> rounding(head.stored.size());
    for (std::size_t i = 0; i < rounding.size(); ++i) {
      double largest = 0;
      for (std::size_t n = i / 32 * 32; n < std::min(rounding.size(), i / 32 * 32 + 32); ++n) {
        largest = std::max(largest, std::fabs(head.stored[n]) + head.error[n]);
      }
      // half a step of q8_0, a whole one of q4_0; and the rounding of the scale
      const bool has_4_bits = setup_.type == RowType::q4_0;
      rounding[i] = largest * ((has_4_bits ? 1.0 / 8 : 1.0 / 254) + 0x1p-11 + 0x1p-20) + (has_4_bits ? 8 : 127) * 0x1p-25;
    }
    std::vector<bool> is_paired(rounding.size(), false);
    for (int j = 0; j < plan.rotary_dim / 2; ++j) {
      const PairPlaces at = places_of(plan, j);
      head.error[at.rotated_x] = head.error[at.rotated_y] += std::hypot(rounding[at.rotated_x], rounding[at.rotated_y]);
      is_paired[at.rotated_x] = is_paired[at.rotated_y] = true;
    }
    for (std::size_t i = 0; i < rounding.size(); ++i) head.error[i] += is_paired[i] ? 0 : rounding[i];
  }

  CacheSetup setup_;
  std::vector<ModelSequence> sequences_;
};

}  // namespace ropewalk
