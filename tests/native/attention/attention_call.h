// A call of Attention on random tensors in a chosen memory layout, and the same call for the oracle.
#pragma once

#include <gtest/gtest.h>

#include <list>

#include "attention/attention.h"
#include "native/attention/attention_oracle.h"
#include "native/attention/attention_rows.h"

namespace ropewalk {

struct CallShape {
  int queries = 1;
  int keys = 1;
  int heads = 1;
  int kv_heads = 1;
  int head_dim = 8;
};

// [token][head][head_dim], [head][token][head_dim], or pages of 32 tokens, [head][token][head_dim] each.
enum class Place { tokens_first, heads_first, pages };

class AttentionCall {
 public:
  AttentionCall(const CallShape& shape, std::uint32_t seed, RowType type = RowType::f32, Place place = Place::tokens_first,
                const std::vector<double>& key_positions = {}, int axes = 1)
      : shape_(shape), type_(type), place_(place), axes_(axes), key_ids_(key_positions) {
    Random random(seed);
    q_.resize(static_cast<std::size_t>(shape.heads) * shape.queries * shape.head_dim);
    for (float& value : q_) value = static_cast<float>(random.next());
    store(random);
    options.scale = 1 / std::sqrt(shape.head_dim);
    query_positions.offset = shape.keys - shape.queries;
    query_positions.tokens = shape.queries;
  }

  AttentionOptions options;
  Positions query_positions;  // default: the newest tokens of 0, 1, 2, …

  const CallShape& shape() const { return shape_; }
  float& query(int head, int query, int i) { return q_[query_index(head, query) + i]; }

  KeyValues keys_and_values() {
    KeyValues kv;
    kv.type = type_;
    kv.heads = shape_.kv_heads;
    kv.head_dim = shape_.head_dim;
    kv.tokens = shape_.keys;
    kv.head_stride = head_stride_;
    kv.token_stride = token_stride_;
    kv.positions.tokens = shape_.keys;
    kv.positions.axes = axes_;
    kv.positions.ids = key_ids_.empty() ? nullptr : key_ids_.data();
    if (place_ == Place::pages) {
      kv.pages = pages_.data();
      kv.key_offset = key_offset();
      kv.value_offset = value_offset();
      kv.axes = axes_;
    } else {
      kv.keys = reinterpret_cast<const char*>(memory_.front().data());
      kv.values = reinterpret_cast<const char*>(memory_.back().data());
    }
    return kv;
  }

  // Outputs, [heads][queries][head_dim].
  Status attend(ropewalk::Attention& attention, std::vector<float>& out, bool in_place = false) {
    return run(out, in_place, [&](const auto&... arguments) { return attention.attend(arguments...); });
  }

  // The weights as well, [heads][keys].
  Status weights(ropewalk::Attention& attention, float* weights, std::vector<float>& out) {
    return run(out, false, [&](const auto&... arguments) { return attention.weights(arguments..., weights); });
  }

  std::vector<float> attend(const AttentionKernels& kernels = fastest_attention_kernels(),
                            const RotateKernels& rotate_kernels = fastest_rotate_kernels()) {
    ropewalk::Attention attention;
    attention.use_kernels(kernels, rotate_kernels);
    std::vector<float> out;
    EXPECT_EQ(attend(attention, out), Status::ok);
    return out;
  }

  // The call without its position encoding.
  oracle::Attention exact() const {
    oracle::Attention exact;
    exact.queries = shape_.queries;
    exact.keys = shape_.keys;
    exact.heads = shape_.heads;
    exact.kv_heads = shape_.kv_heads;
    exact.head_dim = shape_.head_dim;
    for (int head = 0; head < shape_.heads; ++head) {
      for (int query = 0; query < shape_.queries; ++query) {
        exact.q.insert(exact.q.end(), &q_[query_index(head, query)], &q_[query_index(head, query)] + shape_.head_dim);
      }
    }
    for (int head = 0; head < shape_.kv_heads; ++head) {
      for (int token = 0; token < shape_.keys; ++token) {
        for (int i = 0; i < shape_.head_dim; ++i) {
          exact.k.push_back(decoded(type_, row(false, head, token), i));
          exact.v.push_back(decoded(type_, row(true, head, token), i));
        }
      }
    }
    exact.scale = options.scale;
    exact.causal = options.causal;
    if (options.window != kNoWindow) exact.window = options.window;
    exact.sink_tokens = options.sink_tokens;
    if (options.sinks != nullptr) exact.sinks.assign(options.sinks, options.sinks + shape_.heads);
    exact.soft_cap = options.soft_cap;
    if (options.temperatures != nullptr) exact.temperatures.assign(options.temperatures, options.temperatures + shape_.queries);
    return exact;
  }

  // One element of a stored key or value.
  std::uint8_t* row(bool is_value, int head, int token) {
    return const_cast<std::uint8_t*>(static_cast<const AttentionCall*>(this)->row(is_value, head, token));
  }
  const std::uint8_t* row(bool is_value, int head, int token) const {
    if (place_ != Place::pages) return (is_value ? memory_.back() : memory_.front()).data() + head * head_stride_ + token * token_stride_;
    const std::size_t offset = (is_value ? value_offset() : key_offset()) + head * head_stride_ + token % 32 * token_stride_;
    return reinterpret_cast<const std::uint8_t*>(pages_[token / 32]) + offset;
  }

  static constexpr float kUnwritten = -777;

 private:
  template <typename Call>
  Status run(std::vector<float>& out, bool in_place, const Call& call) {
    Guarded<float> queries(q_), target(q_.size(), kUnwritten);
    float* to = in_place ? queries.data() : target.data();
    const bool heads_first = place_ == Place::heads_first;
    const std::ptrdiff_t dim = shape_.head_dim;
    const Queries all = {queries.data(), to,          heads_first ? dim : dim * shape_.heads, heads_first ? dim * shape_.queries : dim,
                         shape_.queries, shape_.heads};
    const Status status = call(keys_and_values(), all, query_positions, options);
    out.resize(q_.size());
    for (int head = 0; head < shape_.heads; ++head) {
      for (int query = 0; query < shape_.queries; ++query) {
        std::copy_n(to + query_index(head, query), dim, &out[(static_cast<std::size_t>(head) * shape_.queries + query) * dim]);
      }
    }
    EXPECT_TRUE(queries.guards_are_intact() && target.guards_are_intact());
    return status;
  }

  std::size_t query_index(int head, int query) const {
    const std::size_t row = place_ == Place::heads_first ? static_cast<std::size_t>(head) * shape_.queries + query
                                                         : static_cast<std::size_t>(query) * shape_.heads + head;
    return row * shape_.head_dim;
  }

  std::size_t key_offset() const { return static_cast<std::size_t>(axes_) * 32 * sizeof(double); }
  std::size_t value_offset() const { return key_offset() + static_cast<std::size_t>(head_stride_) * shape_.kv_heads; }

  void store(Random& random) {
    const std::ptrdiff_t bytes = stored_bytes(type_, shape_.head_dim);
    token_stride_ = place_ == Place::tokens_first ? bytes * shape_.kv_heads : bytes;
    head_stride_ = place_ == Place::tokens_first ? bytes : bytes * (place_ == Place::pages ? 32 : shape_.keys);
    if (place_ == Place::pages) {
      store_pages();
    } else {
      for (int i = 0; i < 2; ++i) memory_.emplace_back(static_cast<std::size_t>(bytes) * shape_.kv_heads * shape_.keys);
    }
    for (int head = 0; head < shape_.kv_heads; ++head) {
      for (int token = 0; token < shape_.keys; ++token) {
        for (const bool is_value : {false, true}) fill_row(type_, row(is_value, head, token), shape_.head_dim, random);
      }
    }
  }

  // Pages aren't contiguous, and are filled with NaN where there is no token.
  void store_pages() {
    for (int first = 0; first < shape_.keys; first += 32) {
      const std::size_t bytes = key_offset() + 2 * static_cast<std::size_t>(head_stride_) * shape_.kv_heads;
      Guarded<std::uint8_t>& page = memory_.emplace_back(bytes, std::uint8_t{0xFF});
      pages_.push_back(reinterpret_cast<const char*>(page.data()));
      for (int axis = 0; axis < axes_; ++axis) {
        for (int token = first; token < std::min(first + 32, shape_.keys); ++token) {
          const double id = key_ids_.empty() ? token : key_ids_[static_cast<std::size_t>(axis) * shape_.keys + token];
          std::memcpy(page.data() + (axis * 32 + token - first) * sizeof id, &id, sizeof id);
        }
      }
    }
  }

  CallShape shape_;
  RowType type_;
  Place place_;
  int axes_;
  std::vector<double> key_ids_;  // [axes][keys]
  std::vector<float> q_;         // as `place_` orders them
  std::ptrdiff_t head_stride_ = 0, token_stride_ = 0;
  std::list<Guarded<std::uint8_t>> memory_;  // keys and values, or pages
  std::vector<const char*> pages_;
};

// The largest |out - exact| as a share of the sum of weights times |values| of its element. A score that is off by d multiplies a weight by
// 1 + d, so this share measures the errors of scores regardless of cancellation in the sum.
inline double worst_error(const std::vector<float>& out, const oracle::Attention::Result& exact) {
  double worst = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double error = std::fabs(out[i] - exact.out[i]);
    if (!(error == 0)) worst = std::fmax(worst, std::isnan(error) ? std::numeric_limits<double>::infinity() : error / exact.size[i]);
  }
  return worst;
}

}  // namespace ropewalk
