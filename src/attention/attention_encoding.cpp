#include "attention/attention_encoding.h"

#include <wasm_simd128.h>

#include <cmath>
#include <cstring>

namespace ropewalk {
namespace {

bool adds_rows(PositionScheme scheme) { return scheme == PositionScheme::sinusoidal || scheme == PositionScheme::learned; }

bool are_finite(const float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) return false;
  }
  return true;
}

bool has_row(const PositionEncoding& encoding, double position) {
  return position >= 0 && position < encoding.table_rows && position == std::floor(position);
}

Status check_table(const PositionEncoding& encoding, const KeyValues& kv, const Positions& queries) {
  if (encoding.table == nullptr || encoding.table_rows < 1) return Status::position_table_too_short;
  for (int token = 0; token < queries.tokens; ++token) {
    if (!has_row(encoding, queries.at(0, 0, token))) return Status::position_table_too_short;
  }
  for (int token = 0; token < kv.tokens; ++token) {
    const KeyPositions at = key_positions(kv, token);
    if (!has_row(encoding, at.positions.at(0, 0, at.first))) return Status::position_table_too_short;
  }
  return Status::ok;
}

// Whether the positions of keys in a tensor are consecutive integers, and those of the queries the last of them. KvCache has checked its
// own.
bool are_consecutive(const KeyValues& kv, const Positions& queries) {
  const double start = kv.tokens == 0 ? 0 : kv.positions.at(0, 0, 0);
  return kv.pages != nullptr || (run_from(start, kv.positions, 0) && run_from(start + kv.tokens - queries.tokens, queries, 0));
}

// The largest |position| of a call; infinity if a position is NaN.
double farthest_position(const KeyValues& kv, const Positions& queries) {
  double farthest = 0;
  const auto visit = [&](double position) { farthest = std::isnan(position) ? INFINITY : std::fmax(farthest, std::fabs(position)); };
  for (int token = 0; token < queries.tokens; ++token) visit(queries.at(0, 0, token));
  for (int token = 0; token < kv.tokens; ++token) {
    const KeyPositions at = key_positions(kv, token);
    visit(at.positions.at(0, 0, at.first));
  }
  return farthest;
}

Status check_sinusoidal(const PositionEncoding& encoding, const KeyValues& kv, const Positions& queries) {
  float row[1];
  return sinusoidal_row(farthest_position(kv, queries), encoding.base, 1, row);
}

Status check_bias(const PositionEncoding& encoding, int heads) {
  if (encoding.scheme == PositionScheme::alibi) {
    return encoding.slopes == nullptr || are_finite(encoding.slopes, heads) ? Status::ok : Status::position_bias_out_of_range;
  }
  if (encoding.table == nullptr) return Status::position_bias_out_of_range;
  if (const Status status = check_t5(encoding.t5); status != Status::ok) return status;
  return are_finite(encoding.table, static_cast<std::size_t>(encoding.t5.buckets) * heads) ? Status::ok
                                                                                           : Status::position_bias_out_of_range;
}

// [kBlockTokens][floats] to [floats][kBlockTokens].
void transpose(const float* rows, int floats, float* columns) {
  const auto load = [&](int token, int i) { return wasm_v128_load(rows + token * floats + i); };
  int i = 0;
  for (; i + 4 <= floats; i += 4) {
    for (int token = 0; token < kBlockTokens; token += 4) {
      const v128_t a = load(token, i), b = load(token + 1, i), c = load(token + 2, i), d = load(token + 3, i);
      const v128_t low_ab = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), high_ab = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7);
      const v128_t low_cd = wasm_i32x4_shuffle(c, d, 0, 4, 1, 5), high_cd = wasm_i32x4_shuffle(c, d, 2, 6, 3, 7);
      float* to = columns + i * kBlockTokens + token;
      wasm_v128_store(to, wasm_i64x2_shuffle(low_ab, low_cd, 0, 2));
      wasm_v128_store(to + kBlockTokens, wasm_i64x2_shuffle(low_ab, low_cd, 1, 3));
      wasm_v128_store(to + 2 * kBlockTokens, wasm_i64x2_shuffle(high_ab, high_cd, 0, 2));
      wasm_v128_store(to + 3 * kBlockTokens, wasm_i64x2_shuffle(high_ab, high_cd, 1, 3));
    }
  }
  for (; i < floats; ++i) {
    for (int token = 0; token < kBlockTokens; ++token) columns[i * kBlockTokens + token] = rows[token * floats + i];
  }
}

}  // namespace

KeyPositions key_positions(const KeyValues& kv, int first) {
  if (kv.pages == nullptr) return {kv.positions, first};
  const int page = first / kBlockTokens;
  const double* ids = reinterpret_cast<const double*>(kv.pages[page] != nullptr ? kv.pages[page] : kv.closed.pages[page]);
  return {{0, ids, kv.axes, 1, kBlockTokens}, first % kBlockTokens};
}

Status check_encoding(const PositionEncoding& encoding, const KeyValues& kv, const Positions& queries, int heads) {
  if (encoding.scheme == PositionScheme::none) return Status::ok;
  if (kv.pages == nullptr && (kv.positions.rows != 1 || kv.positions.tokens != kv.tokens)) return Status::shape_out_of_range;
  switch (encoding.scheme) {
    case PositionScheme::none: return Status::ok;
    case PositionScheme::rope: {
      const FrequencyPlan& plan = encoding.rope->plan();
      if (plan.head_dim != kv.head_dim) return Status::head_dim_mismatch;
      if (plan.position_map && !are_consecutive(kv, queries)) return Status::position_map_positions;
      if (encoding.encodes_queries) {
        if (const Status status = check_positions(plan, queries); status != Status::ok) return status;
      }
      return kv.pages != nullptr || kv.tokens == 0 ? Status::ok : check_positions(plan, kv.positions);
    }
    case PositionScheme::sinusoidal: return check_sinusoidal(encoding, kv, queries);
    case PositionScheme::learned: return check_table(encoding, kv, queries);
    case PositionScheme::alibi:
    case PositionScheme::t5:
      if (!(farthest_position(kv, queries) <= kPositionLimit)) return Status::position_out_of_range;
      return check_bias(encoding, heads);
  }
  return Status::position_scheme_unknown;
}

std::uint64_t Encoder::memory_floats(const PositionEncoding& encoding, int head_dim, int heads) {
  if (encoding.scheme == PositionScheme::none) return 0;
  return static_cast<std::uint64_t>(kBlockTokens) * padded_dim(head_dim) + (encoding.scheme == PositionScheme::alibi ? heads : 0);
}

void Encoder::prepare(float* memory, CosSinRows& rows, int head_dim, int heads) {
  rows_ = &rows;
  head_dim_ = head_dim;
  heads_ = heads;
  encodes_rows_ = encoding_.scheme == PositionScheme::rope || adds_rows(encoding_.scheme);
  if (encoding_.scheme == PositionScheme::rope) {
    static_cast<void>(rows.share(encoding_.rope->rows()));  // has the memory
    cos_ = memory;
    sin_ = memory + static_cast<std::ptrdiff_t>(kBlockTokens) * pairs();
  }
  table_ = memory;
  if (encoding_.scheme == PositionScheme::alibi) {
    slopes_ = memory;
    if (encoding_.slopes == nullptr) {
      alibi_slopes(heads, slopes_);
    } else {
      std::memcpy(slopes_, encoding_.slopes, heads * sizeof(float));
    }
  }
}

void Encoder::write_rows(const Positions& positions, int first, int count, Role role, int part, float* memory) const {
  float* sin = memory + (sin_ - cos_);
  if (const PositionMap map = encoding_.map()) {
    double mapped[kBlockTokens];
    for (int n = 0; n < count; ++n) {
      const double position = positions.at(0, 0, first + n);
      mapped[n] = role == Role::query ? map.query_position(part, position) : map.key_position(part, position);
    }
    ropewalk::write_rows(*rows_, {0, mapped, 1, 1, count}, {0, 0, count}, {role, false}, memory, sin);
    return;
  }
  if (encoding_.scheme == PositionScheme::rope) {
    ropewalk::write_rows(*rows_, positions, {0, first, count}, {role, false}, memory, sin);
    return;
  }
  for (int token = 0; token < count; ++token) {
    const double position = positions.at(0, 0, first + token);
    float* row = memory + static_cast<std::ptrdiff_t>(token) * head_dim_;
    if (encoding_.scheme == PositionScheme::sinusoidal) {
      static_cast<void>(sinusoidal_row(position, encoding_.base, head_dim_, row));  // check_sinusoidal() has checked the range
    } else {
      std::memcpy(row, encoding_.table + static_cast<std::ptrdiff_t>(position) * head_dim_, head_dim_ * sizeof(float));
    }
  }
}

bool Encoder::encodes_all() const { return encoding_.scheme != PositionScheme::rope || encoding_.rope->plan().rotary_dim == head_dim_; }

void Encoder::encode(const EncodedRows& rows, bool share_row) const {
  if (encoding_.scheme == PositionScheme::rope) {
    const FrequencyPlan& plan = encoding_.rope->plan();
    const RotateKernel kernel = kernels_.rotate[static_cast<int>(rotation_of(plan.pairing, false))][static_cast<int>(DType::f32)];
    kernel({rows.source + plan.rotary_offset, rows.target + plan.rotary_offset, rows.source_stride, rows.target_stride,
            share_row ? 0 : pairs(), cos_, sin_, pairs(), rows.count});
    return;
  }
  for (int row = 0; row < rows.count; ++row) {
    const float* added = table_ + (share_row ? 0 : row) * static_cast<std::ptrdiff_t>(head_dim_);
    for (int i = 0; i < head_dim_; ++i) rows.target[row * rows.target_stride + i] = rows.source[row * rows.source_stride + i] + added[i];
  }
}

void Encoder::use_keys(const KeyPositions& at, int count, int part) {
  key_count_ = count;
  bucket_position_ = NAN;
  if (encodes_rows_) return write_rows(at.positions, at.first, count, Role::key, part, table_);
  for (int n = 0; n < count; ++n) key_position_[n] = at.positions.at(0, 0, at.first + n);
}

void Encoder::use_channels(const KeyPositions& at, int part, float* memory) {
  const bool is_rope = encoding_.scheme == PositionScheme::rope;
  const int floats = is_rope ? pairs() : head_dim_;
  write_rows(at.positions, at.first, kBlockTokens, Role::key, part, memory);
  transpose(memory, floats, table_);
  if (is_rope) transpose(memory + (sin_ - cos_), floats, sin_);
}

ChannelRotation Encoder::rotation() const {
  if (encoding_.scheme != PositionScheme::rope) return {};
  const FrequencyPlan& plan = encoding_.rope->plan();
  const ChannelPairs half = {1, pairs()}, interleaved = {2, 1};
  return {plan.rotary_offset,
          pairs(),
          plan.pairing == Pairing::half ? half : interleaved,
          plan.pairing == Pairing::interleaved ? interleaved : half,
          cos_,
          sin_};
}

void Encoder::add_to_channels(float* floats) const {
  for (int i = 0; adds_rows(encoding_.scheme) && i < head_dim_ * kBlockTokens; ++i) floats[i] += table_[i];
}

void Encoder::encode_keys(const EncodedRows& rows) const { encode(rows, false); }

void Encoder::use_query(const Positions& positions, int token, int part) { write_rows(positions, token, 1, Role::query, part, table_); }

void Encoder::encode_query(const EncodedRows& rows) const { encode(rows, true); }

void Encoder::write_bias(double position, int head, float* bias) {
  if (encoding_.scheme == PositionScheme::alibi) {
    for (int n = 0; n < key_count_; ++n) bias[n] = static_cast<float>(-slopes_[head] * std::fabs(key_position_[n] - position));
    return;
  }
  if (position != bucket_position_) {  // all heads of a token share its buckets
    for (int n = 0; n < key_count_; ++n) bucket_[n] = t5_bucket(encoding_.t5, key_position_[n] - position);
    bucket_position_ = position;
  }
  for (int n = 0; n < key_count_; ++n) bias[n] = encoding_.table[static_cast<std::ptrdiff_t>(bucket_[n]) * heads_ + head];
}

}  // namespace ropewalk
