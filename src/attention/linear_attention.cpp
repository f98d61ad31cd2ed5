#include "attention/linear_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float_math_wasmsimd.h"

namespace ropewalk {
namespace {

// Tokens are processed in blocks of this size, so that the sums of a head stay in a cache during a block.
constexpr int kTokensAtOnce = 32;

constexpr double kLargestTokenCount = 0x1p53;

bool are_within(float limit, const float* values, std::int64_t count) {
  bool within = true;  // no early exit, so that compilers vectorize the loop
  for (std::int64_t i = 0; i < count; ++i) within &= std::fabs(values[i]) <= limit;
  return within;
}

// phi(x) = elu(x) + 1. NaN stays NaN.
void write_features(const float* source, int dim, float* target) {
  int i = 0;
  for (; i + 4 <= dim; i += 4) {
    const v128_t x = wasm_v128_load(source + i), grown = wasm_f32x4_add(x, wasm_f32x4_splat(1));
    wasm_v128_store(target + i, wasm_v128_bitselect(exp_f32x4(x), grown, wasm_f32x4_le(x, wasm_f32x4_splat(0))));
  }
  for (; i < dim; ++i) target[i] = source[i] <= 0 ? exp_f32(source[i]) : source[i] + 1;
}

// sums += factor · values. `lost` keeps the rounding error of each sum and adds it back with the next addition (Kahan summation).
void add_row(float factor, const float* values, int dim, float* sums, float* lost) {
  const v128_t factors = wasm_f32x4_splat(factor);
  int i = 0;
  for (; i + 4 <= dim; i += 4) {
    const v128_t added = wasm_f32x4_add(wasm_f32x4_mul(factors, wasm_v128_load(values + i)), wasm_v128_load(lost + i));
    const v128_t before = wasm_v128_load(sums + i), after = wasm_f32x4_add(before, added);
    wasm_v128_store(lost + i, wasm_f32x4_sub(added, wasm_f32x4_sub(after, before)));
    wasm_v128_store(sums + i, after);
  }
  for (; i < dim; ++i) {
    const float added = factor * values[i] + lost[i];
    const float before = sums[i], after = before + added;
    lost[i] = added - (after - before);
    sums[i] = after;
  }
}

float dot(const float* a, const float* b, int dim) {
  v128_t sums = wasm_f32x4_splat(0);
  int i = 0;
  for (; i + 4 <= dim; i += 4) sums = wasm_f32x4_add(sums, wasm_f32x4_mul(wasm_v128_load(a + i), wasm_v128_load(b + i)));
  float sum = (wasm_f32x4_extract_lane(sums, 0) + wasm_f32x4_extract_lane(sums, 1)) +
              (wasm_f32x4_extract_lane(sums, 2) + wasm_f32x4_extract_lane(sums, 3));
  for (; i < dim; ++i) sum = sum + a[i] * b[i];
  return sum;
}

// The sums of a key head and their rounding errors: S [dim][dim] followed by z [dim] in each.
struct HeadSums {
  float* sums;
  float* lost;
  int dim;

  const float* z() const { return sums + static_cast<std::ptrdiff_t>(dim) * dim; }

  void add_to_z(const float* key) const {
    const std::ptrdiff_t z = static_cast<std::ptrdiff_t>(dim) * dim;
    add_row(1, key, dim, sums + z, lost + z);
  }

  void add_to_s(const float* key, const float* value) const {
    for (std::ptrdiff_t i = 0; i < dim; ++i) add_row(key[i], value, dim, sums + i * dim, lost + i * dim);
  }
};

// Queries that use the same sums, and their outputs: out = (query S) / divisor, or 0 if the divisor is 0.
struct QueryRows {
  const float* queries;
  std::ptrdiff_t query_stride;
  const float* divisors;
  std::ptrdiff_t divisor_stride;
  float* out;
  std::ptrdiff_t out_stride;
  int count;
};

// Columns [column, column + 4 · kVectors) of the outputs of kRows queries. Their sums stay in registers while the rows of S are processed.
template <int kRows, int kVectors>
void write_columns(const QueryRows& rows, int row, const float* s, int dim, int column) {
  const float* query = rows.queries + row * rows.query_stride;
  v128_t sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = wasm_f32x4_splat(0);
  }
  for (int i = 0; i < dim; ++i, s += dim) {
    v128_t factors[kVectors];
    for (int v = 0; v < kVectors; ++v) factors[v] = wasm_v128_load(s + column + 4 * v);
    for (int r = 0; r < kRows; ++r) {
      const v128_t weight = wasm_v128_load32_splat(query + r * rows.query_stride + i);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = wasm_f32x4_add(sums[r][v], wasm_f32x4_mul(weight, factors[v]));
    }
  }
  for (int r = 0; r < kRows; ++r) {
    const v128_t divisor = wasm_v128_load32_splat(rows.divisors + (row + r) * rows.divisor_stride);
    const v128_t divides = wasm_f32x4_ne(divisor, wasm_f32x4_splat(0));
    float* out = rows.out + (row + r) * rows.out_stride + column;
    for (int v = 0; v < kVectors; ++v) wasm_v128_store(out + 4 * v, wasm_v128_and(wasm_f32x4_div(sums[r][v], divisor), divides));
  }
}

template <int kRows, int kVectors>
void write_outputs_of(const QueryRows& rows, int row, const float* s, int dim) {
  int column = 0;
  for (; column + 4 * kVectors <= dim; column += 4 * kVectors) write_columns<kRows, kVectors>(rows, row, s, dim, column);
  for (; column + 4 <= dim; column += 4) write_columns<kRows, 1>(rows, row, s, dim, column);
  for (; column < dim; ++column) {
    for (int r = row; r < row + kRows; ++r) {
      float sum = 0;
      for (std::ptrdiff_t i = 0; i < dim; ++i) sum = sum + rows.queries[r * rows.query_stride + i] * s[i * dim + column];
      const float divisor = rows.divisors[r * rows.divisor_stride];
      rows.out[r * rows.out_stride + column] = divisor == 0 ? 0 : sum / divisor;
    }
  }
}

void write_outputs(const QueryRows& rows, const HeadSums& sums) {
  int row = 0;
  for (; row + 4 <= rows.count; row += 4) write_outputs_of<4, 2>(rows, row, sums.sums, sums.dim);
  for (; row < rows.count; ++row) write_outputs_of<1, 4>(rows, row, sums.sums, sums.dim);
}

// Strides of tokens and heads, in floats.
struct Strides {
  std::ptrdiff_t token;
  std::ptrdiff_t head;
};

Strides strides_of(const LinearTokens& tokens, int heads, int dim) {
  const std::ptrdiff_t head_dim = dim;
  return tokens.layout == Layout::bhtd ? Strides{head_dim, head_dim * tokens.tokens} : Strides{head_dim * heads, head_dim};
}

// What a call does, and the shape of its tensors.
struct Task {
  bool adds_keys;
  bool answers_queries;
  int heads;
  int kv_heads;
  int dim;
};

// One call: processes tokens block by block.
class LinearPass {
 public:
  LinearPass(const Task& task, const LinearTokens& tokens, float* state)
      : task_(task),
        tokens_(tokens),
        state_(state),
        group_(task.heads / task.kv_heads),
        query_strides_(strides_of(tokens, task.heads, task.dim)),
        key_strides_(strides_of(tokens, task.kv_heads, task.dim)) {}

  // Allocates memory for blocks of up to `count` tokens whose rope rotates `pairs` pairs.
  bool allocate(std::int64_t count, int pairs) {
    const std::int64_t heads = task_.heads, kv_heads = task_.kv_heads, dim = task_.dim;
    if (!memory_.resize(count * ((heads + kv_heads) * dim + heads + 2 * pairs))) return false;
    queries_ = memory_.data();
    keys_ = queries_ + count * heads * dim;
    divisors_ = keys_ + count * kv_heads * dim;
    cos_ = divisors_ + count * heads;
    sin_ = cos_ + count * pairs;
    return true;
  }

  // Starts the block of tokens [first, first + count): computes phi of their queries and keys.
  void begin(int first, int count) {
    first_ = first;
    count_ = count;
    if (task_.answers_queries) write_features_of(tokens_.queries, query_strides_, task_.heads, queries_);
    if (task_.adds_keys) write_features_of(tokens_.keys, key_strides_, task_.kv_heads, keys_);
  }

  // Adds keys to z, and computes the divisor of each output.
  void add_to_z() {
    for (int kv_head = 0; kv_head < task_.kv_heads; ++kv_head) {
      const HeadSums sums = sums_of(kv_head);
      for (int token = 0; token < count_; ++token) {
        if (task_.adds_keys) sums.add_to_z(keys_ + at(kv_head, token) * task_.dim);
        if (!task_.answers_queries) continue;
        for (int head = kv_head * group_; head < (kv_head + 1) * group_; ++head)
          divisors_[at(head, token)] = dot(queries_ + at(head, token) * task_.dim, sums.z(), task_.dim);
      }
    }
  }

  void rotate_block(const RotateKernels& kernels, Rope& rope, const Positions& positions) {
    if (task_.answers_queries) rotate_features(kernels, rope, positions, Role::query, task_.heads, queries_);
    if (task_.adds_keys) rotate_features(kernels, rope, positions, Role::key, task_.kv_heads, keys_);
  }

  // Adds keys and values to S, and computes outputs.
  void add_to_s() {
    for (int kv_head = 0; kv_head < task_.kv_heads; ++kv_head) {
      const HeadSums sums = sums_of(kv_head);
      const int first_head = kv_head * group_;
      if (!task_.adds_keys) {
        for (int head = first_head; head < first_head + group_; ++head) write_outputs(tokens_of(head), sums);
        continue;
      }
      const float* values = tokens_.values + kv_head * key_strides_.head;
      for (int token = 0; token < count_; ++token) {
        sums.add_to_s(keys_ + at(kv_head, token) * task_.dim, values + (first_ + token) * key_strides_.token);
        if (task_.answers_queries) write_outputs(group_of(first_head, token), sums);
      }
    }
  }

 private:
  // Index of a head and token in the arrays of a block.
  std::ptrdiff_t at(int head, int token) const { return static_cast<std::ptrdiff_t>(head) * count_ + token; }

  HeadSums sums_of(int kv_head) const {
    const std::ptrdiff_t size = static_cast<std::ptrdiff_t>(task_.dim + 1) * task_.dim;
    return {state_ + kv_head * size, state_ + (task_.kv_heads + kv_head) * size, task_.dim};
  }

  void write_features_of(const float* source, const Strides& strides, int heads, float* features) const {
    for (int head = 0; head < heads; ++head) {
      for (int token = 0; token < count_; ++token, features += task_.dim)
        write_features(source + head * strides.head + (first_ + token) * strides.token, task_.dim, features);
    }
  }

  void rotate_features(const RotateKernels& kernels, Rope& rope, const Positions& positions, Role role, int heads, float* features) {
    const FrequencyPlan& plan = rope.plan();
    rope.write_rows(positions, {0, first_, count_}, {role, false}, cos_, sin_);
    rotate(kernels, rotation_of(plan.pairing, false), {features, features, DType::f32, Layout::bhtd, {1, count_, heads, task_.dim}},
           {plan.rotary_offset, plan.rotary_dim}, {cos_, sin_}, {0, 1, 0, count_});
  }

  // All queries of one head; and the queries of one token that share a key head.
  QueryRows tokens_of(int head) const { return rows_from(head, 0, 1, query_strides_.token, count_); }
  QueryRows group_of(int first_head, int token) const { return rows_from(first_head, token, count_, query_strides_.head, group_); }

  QueryRows rows_from(int head, int token, std::ptrdiff_t step, std::ptrdiff_t out_stride, int count) const {
    float* out = tokens_.out + head * query_strides_.head + (first_ + token) * query_strides_.token;
    return {queries_ + at(head, token) * task_.dim, step * task_.dim, divisors_ + at(head, token), step, out, out_stride, count};
  }

  const Task& task_;
  const LinearTokens& tokens_;
  float* state_;
  int group_;
  Strides query_strides_, key_strides_;

  Buffer<float> memory_;
  int first_ = 0, count_ = 0;
  float *queries_ = nullptr, *keys_ = nullptr;  // phi of a block, [heads][count][dim]; rotated by rotate_block()
  float* divisors_ = nullptr;                   // [heads][count]
  float *cos_ = nullptr, *sin_ = nullptr;       // [count][pairs]
};

Status check_rope(const FrequencyPlan& plan, int head_dim, const Positions& positions, int tokens) {
  if (plan.head_dim != head_dim) return Status::head_dim_mismatch;
  if (plan.position_map) return Status::position_map_in_attention;
  if (plan.valid_from > 1 || plan.valid_to < std::numeric_limits<double>::infinity()) return Status::linear_rope_changes;
  if (positions.tokens != tokens || positions.rows != 1) return Status::shape_out_of_range;
  return check_positions(plan, positions);
}

}  // namespace

Status LinearAttention::configure(int heads, int kv_heads, int head_dim) {
  if (head_dim < 1 || head_dim > kMaxHeadDim) return Status::head_dim_out_of_range;
  if (heads < 1) return Status::query_shape_out_of_range;
  if (kv_heads < 1 || heads % kv_heads != 0) return Status::heads_not_grouped;
  if (!state_.resize(2 * static_cast<std::uint64_t>(kv_heads) * (head_dim + 1) * head_dim)) return Status::out_of_memory;
  heads_ = heads;
  kv_heads_ = kv_heads;
  head_dim_ = head_dim;
  reset();
  return Status::ok;
}

void LinearAttention::reset() {
  std::fill_n(state_.data(), state_.size(), 0.0f);
  tokens_ = 0;
}

Status LinearAttention::set_state(const float* state, double tokens) {
  if (!(tokens >= 0 && tokens <= kLargestTokenCount && tokens == std::floor(tokens))) return Status::image_content;
  if (!are_within(std::numeric_limits<float>::max(), state, static_cast<std::int64_t>(state_.size()))) return Status::image_content;
  std::copy_n(state, state_.size(), state_.data());
  tokens_ = static_cast<std::int64_t>(tokens);
  return Status::ok;
}

Status LinearAttention::append(Rope* rope, const Positions& positions, const LinearTokens& tokens) {
  return perform(true, true, rope, positions, tokens);
}

Status LinearAttention::absorb(Rope* rope, const Positions& positions, const LinearTokens& tokens) {
  return perform(true, false, rope, positions, tokens);
}

Status LinearAttention::query(Rope* rope, const Positions& positions, const LinearTokens& tokens) {
  return perform(false, true, rope, positions, tokens);
}

Status LinearAttention::perform(bool adds_keys, bool answers_queries, Rope* rope, const Positions& positions, const LinearTokens& tokens) {
  if (static_cast<int>(tokens.layout) < 0 || tokens.layout > Layout::thd) return Status::layout_unknown;
  if (element_count({1, tokens.tokens, heads_, head_dim_}) < 0) return Status::query_shape_out_of_range;
  if (rope != nullptr) {
    if (const Status status = check_rope(rope->plan(), head_dim_, positions, tokens.tokens); status != Status::ok) return status;
  }
  if (adds_keys) {
    const std::int64_t elements = element_count({1, tokens.tokens, kv_heads_, head_dim_});
    if (!are_within(kLargestLinearElement, tokens.keys, elements)) return Status::key_not_finite;
    if (!are_within(kLargestLinearElement, tokens.values, elements)) return Status::value_not_finite;
  }
  const Task task = {adds_keys, answers_queries, heads_, kv_heads_, head_dim_};
  const int step = std::min(tokens.tokens, kTokensAtOnce);
  LinearPass pass(task, tokens, state_.data());
  if (!pass.allocate(step, rope == nullptr ? 0 : rope->plan().rotary_dim / 2)) return Status::out_of_memory;

  for (int first = 0; first < tokens.tokens; first += step) {
    pass.begin(first, std::min(step, tokens.tokens - first));
    pass.add_to_z();
    if (rope != nullptr) pass.rotate_block(*kernels_, *rope, positions);
    pass.add_to_s();
  }
  if (adds_keys) tokens_ += tokens.tokens;
  return Status::ok;
}

}  // namespace ropewalk
