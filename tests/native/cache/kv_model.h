// A cache as plain vectors: the keys as they were given, where they stand and for which length, and from these what a cache must hold.
//
// The invariant: a key held is the one computed afresh at its present position under the plan in force, within what rounding can do.
// Rounding to storage moves an element by u · |element| at most (half an ulp: f16 u = 2^-11, bf16 2^-8), so a pair, as a vector of length
// r, by u · r. A turn leaves lengths as they are, or scales them and earlier errors alike. So after n turns a pair is off by
// (1 + n) · u · r at most, where u includes kTurnError, what one turn errs in f32, and kAngleError times the angle, what f64 makes of it.
// q8_0 rounds by its block: max|block| · (1/254 + 2^-11).
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "native/cache/kv_tokens.h"

namespace ropewalk {

// cos and sin rounded, four products and two sums: (2√2 + 1) · 2^-24 of a pair's length.
constexpr double kTurnError = 0x1p-22;

// The angle's product here and there, its two parts, and the difference it is turned on by later: 2^-53 each.
constexpr double kAngleError = 0x1p-51;

// A row as it reads when it has been stored: each element rounded once.
inline std::vector<float> rounded(const std::vector<float>& row, RowType type) {
  if (type == RowType::f32) return row;
  std::vector<float> result;
  if (type != RowType::q8_0) {
    const DType dtype = static_cast<DType>(type);
    for (const float value : row) result.push_back(static_cast<float>(oracle::decode(oracle::encode(value, dtype), dtype)));
    return result;
  }
  for (std::size_t block = 0; block < row.size(); block += 32) {  // GGUF: the scale is max|x| / 127, an f16
    const std::size_t end = std::min(row.size(), block + 32);
    float largest = 0;
    for (std::size_t i = block; i < end; ++i) largest = std::max(largest, std::fabs(row[i]));
    const float scale = largest / 127, stored = static_cast<float>(oracle::decode(oracle::encode(scale, DType::f16), DType::f16));
    for (std::size_t i = block; i < end; ++i) result.push_back(scale == 0 ? 0 : std::nearbyint(row[i] * (1 / scale)) * stored);
  }
  return result;
}

// What a pair is multiplied by at a position.
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

// Where the elements of pair j stand in a head, before and after it turns.
struct PairPlaces {
  int x, y, turned_x, turned_y;
};

inline PairPlaces places_of(const FrequencyPlan& plan, int j) {
  const int pairs = plan.rotary_dim / 2, first = plan.rotary_offset;
  const Pairing read = plan.pairing == Pairing::half ? Pairing::half : Pairing::interleaved,
                write = plan.pairing == Pairing::interleaved ? Pairing::interleaved : Pairing::half;
  return {first + oracle::index_of_x(read, j, pairs), first + oracle::index_of_y(read, j, pairs),
          first + oracle::index_of_x(write, j, pairs), first + oracle::index_of_y(write, j, pairs)};
}

// A head turned in double precision.
inline std::vector<double> turned(const float* head, const FrequencyPlan& plan, const PairRow& row) {
  std::vector<double> result(head, head + plan.head_dim);
  for (int j = 0; j < plan.rotary_dim / 2; ++j) {
    const PairPlaces at = places_of(plan, j);
    const double x = head[at.x], y = head[at.y];
    result[at.turned_x] = (x * row.cos[j] - y * row.sin[j]) * row.scale[j];
    result[at.turned_y] = (y * row.cos[j] + x * row.sin[j]) * row.scale[j];
  }
  return result;
}

struct ModelHead {
  std::vector<float> key, value;  // the key as given, the value as stored
  std::vector<double> held;       // the key as it should be held
  std::vector<double> error;      // how far off each element, or its pair, may be
};

struct ModelToken {
  std::vector<ModelHead> heads;
  std::vector<double> scale;  // of each pair, as it stands
};

struct ModelSequence {
  std::vector<std::vector<double>> positions;   // [tokens][axes]
  std::vector<std::vector<ModelToken>> layers;  // [layers][written]
  double planned = 1;                           // the length that keys are turned for

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
  bool turns(int layer) const { return setup_.mode == KeyMode::rotated && setup_.layers[layer].rope != kNoRope; }

  // Batch row i belongs to sequence first + i.
  void append(int layer, int first, const Tokens& tokens) {
    for (int row = 0; row < tokens.k.shape().batches; ++row) append_row(layer, sequences_[first + row], tokens, row);
  }

  void truncate(int sequence, int tokens) {
    ModelSequence& held = sequences_[sequence];
    held.positions.resize(tokens);
    for (auto& layer : held.layers) layer.resize(std::min<std::size_t>(layer.size(), tokens));
  }

  void shift(int sequence, int keep, int discard) {
    ModelSequence& held = sequences_[sequence];
    auto positions = held.positions;
    positions.erase(positions.begin() + keep, positions.begin() + keep + discard);
    for (std::size_t slot = keep; slot < positions.size(); ++slot) {
      for (double& p : positions[slot]) p -= held.positions[keep + discard][0] - held.positions[keep][0];
    }
    for (auto& layer : held.layers) {
      const auto end = [&](int slot) { return layer.begin() + std::min<std::size_t>(layer.size(), slot); };
      layer.erase(end(keep), end(keep + discard));
    }
    held.positions.erase(held.positions.begin() + keep, held.positions.begin() + keep + discard);
    move(sequence, positions);
  }

  void move(int sequence, const std::vector<std::vector<double>>& positions) {
    ModelSequence& held = sequences_[sequence];
    const auto before = std::move(held.positions);
    held.positions = positions;
    for (int rope = 0; rope < static_cast<int>(setup_.ropes.size()); ++rope) {
      turn_tokens(held, rope, [&](std::size_t slot) { return before[slot] != positions[slot]; });
    }
  }

  void retune(int rope, const RopeConfig& config) {
    setup_.ropes[rope] = config;
    for (ModelSequence& held : sequences_) turn_tokens(held, rope, [](std::size_t) { return true; });
  }

  void copy(int from, int to, int tokens) {
    sequences_[to] = sequences_[from];
    truncate(to, tokens);
  }

  // Turns a sequence to the plans for another length.
  void replan(int sequence, double length) { plan_for(sequences_[sequence], length); }

  // Takes a sequence over from a model whose cache had other ropes.
  void adopt(int sequence, const ModelSequence& other) {
    sequences_[sequence] = other;
    for (int rope = 0; rope < static_cast<int>(setup_.ropes.size()); ++rope) {
      turn_tokens(sequences_[sequence], rope, [](std::size_t) { return true; });
    }
  }

 private:
  void append_row(int layer, ModelSequence& held, const Tokens& tokens, int row) {
    const Shape& shape = tokens.k.shape();
    const int placed = static_cast<int>(held.positions.size() - held.layers[layer].size());
    const double next = held.largest_position() + 1;
    for (int token = placed; token < shape.tokens; ++token) {
      std::vector<double> position(setup_.axes(), next + token - placed);
      for (int axis = 0; tokens.has_positions() && axis < setup_.axes(); ++axis) position[axis] = tokens.positions().at(axis, row, token);
      held.positions.push_back(position);
    }
    if (placed < shape.tokens) plan_for(held, std::max(1.0, std::ceil(held.largest_position()) + 1));
    for (int token = 0; token < shape.tokens; ++token) {
      const std::size_t slot = held.layers[layer].size();
      ModelToken& added = held.layers[layer].emplace_back();
      for (int head = 0; head < shape.heads; ++head) {
        const std::vector<float> key = tokens.row(tokens.k, row, token, head), stored = rounded(key, setup_.type);
        const std::vector<float>& held_key = turns(layer) && setup_.type == RowType::q8_0 ? key : stored;  // q8_0 rounds by blocks, turned
        added.heads.push_back({key,
                               rounded(tokens.row(tokens.v, row, token, head), setup_.type),
                               {held_key.begin(), held_key.end()},
                               std::vector<double>(key.size(), 0)});
      }
      if (!turns(layer)) continue;
      const FrequencyPlan plan = plan_of(setup_.ropes[setup_.layers[layer].rope], held.planned);
      turn(added, plan, held.positions[slot]);
    }
  }

  void plan_for(ModelSequence& held, double length) {
    for (int rope = 0; rope < static_cast<int>(setup_.ropes.size()); ++rope) {
      const FrequencyPlan from = plan_of(setup_.ropes[rope], held.planned), to = plan_of(setup_.ropes[rope], length);
      const bool is_same = std::equal(&from.inv_freq[0], &from.inv_freq[0] + from.inv_freq.size(), &to.inv_freq[0]) &&
                           from.attention_factor == to.attention_factor;
      const double before = std::exchange(held.planned, length);
      if (!is_same) turn_tokens(held, rope, [](std::size_t) { return true; });
      held.planned = before;
    }
    held.planned = length;
  }

  template <class Moves>
  void turn_tokens(ModelSequence& held, int rope, Moves moves) {
    const FrequencyPlan plan = plan_of(setup_.ropes[rope], held.planned);
    for (std::size_t layer = 0; layer < held.layers.size(); ++layer) {
      if (setup_.layers[layer].rope != rope || setup_.mode == KeyMode::raw) continue;
      for (std::size_t slot = 0; slot < held.layers[layer].size(); ++slot) {
        if (moves(slot)) turn(held.layers[layer][slot], plan, held.positions[slot]);
      }
    }
  }

  // Makes a token stand elsewhere: its keys afresh, and one more turn in their errors.
  void turn(ModelToken& token, const FrequencyPlan& plan, const std::vector<double>& position) {
    const PairRow row = pair_row(plan, position, Role::key);
    const double turn_error = plan.precision == Precision::hf ? 2 * kTurnError : kTurnError;  // cos, sin and factor are rounded before
    for (ModelHead& head : token.heads) {
      const std::vector<double> fresh = turned(head.key.data(), plan, row);
      for (int j = 0; j < plan.rotary_dim / 2; ++j) {
        const PairPlaces at = places_of(plan, j);
        const double length = std::hypot(fresh[at.turned_x], fresh[at.turned_y]);
        const double earlier = token.scale.empty() ? 0 : head.error[at.turned_x] * row.scale[j] / token.scale[j];
        const double arithmetic = length * (turn_error + kAngleError * row.angle[j]);
        head.held[at.turned_x] = fresh[at.turned_x], head.held[at.turned_y] = fresh[at.turned_y];
        head.error[at.turned_x] = head.error[at.turned_y] = earlier + arithmetic + storage_error(length + earlier);
      }
      if (setup_.type == RowType::q8_0) add_block_errors(head, plan);
    }
    token.scale = row.scale;
  }

  double storage_error(double length) const {
    if (setup_.type == RowType::f16) return length * 0x1p-11 + 0x1p-24;  // below 2^-14 half an ulp is 2^-25, for each element
    return setup_.type == RowType::bf16 ? length * 0x1p-8 : 0;
  }

  void add_block_errors(ModelHead& head, const FrequencyPlan& plan) const {
    std::vector<double> rounding(head.held.size());
    for (std::size_t i = 0; i < rounding.size(); ++i) {
      double largest = 0;
      for (std::size_t n = i / 32 * 32; n < std::min(rounding.size(), i / 32 * 32 + 32); ++n) {
        largest = std::max(largest, std::fabs(head.held[n]) + head.error[n]);
      }
      rounding[i] = largest * (1.0 / 254 + 0x1p-11 + 0x1p-20) + 127 * 0x1p-25;
    }
    std::vector<bool> is_paired(rounding.size(), false);
    for (int j = 0; j < plan.rotary_dim / 2; ++j) {
      const PairPlaces at = places_of(plan, j);
      head.error[at.turned_x] = head.error[at.turned_y] += std::hypot(rounding[at.turned_x], rounding[at.turned_y]);
      is_paired[at.turned_x] = is_paired[at.turned_y] = true;
    }
    for (std::size_t i = 0; i < rounding.size(); ++i) head.error[i] += is_paired[i] ? 0 : rounding[i];
  }

  CacheSetup setup_;
  std::vector<ModelSequence> sequences_;
};

}  // namespace ropewalk
