// A sequence for linear attention in any layout, and its running sums; shared by two tests.
#pragma once

#include <algorithm>

#include "attention/linear_attention.h"
#include "native/rope/ropes.h"

namespace ropewalk {

struct Shapes {
  int heads = 1;
  int kv_heads = 1;
  int dim = 8;
  int tokens = 40;
  Layout layout = Layout::thd;
};

inline std::size_t index_of(Layout layout, int tokens, int heads, int dim, int token, int head) {
  return (layout == Layout::bhtd ? static_cast<std::size_t>(head) * tokens + token : static_cast<std::size_t>(token) * heads + head) * dim;
}

// Queries, keys, values and outputs of a sequence.
struct Sequence {
  explicit Sequence(const Shapes& of, std::uint32_t seed = 1)
      : shapes(of),
        queries(random_floats(static_cast<std::size_t>(of.tokens) * of.heads * of.dim, seed)),
        keys(random_floats(static_cast<std::size_t>(of.tokens) * of.kv_heads * of.dim, seed + 1)),
        values(random_floats(keys.size(), seed + 2)),
        out(queries.size(), -7.0f) {}

  LinearTokens tokens() { return {queries.data(), keys.data(), values.data(), out.data(), shapes.layout, shapes.tokens}; }

  std::vector<oracle::Real> head_of(const std::vector<float>& tensor, int heads, int token, int head) const {
    const float* at = &tensor[index_of(shapes.layout, shapes.tokens, heads, shapes.dim, token, head)];
    return {at, at + shapes.dim};
  }

  // Tokens [first, first + count) as a separate sequence.
  Sequence piece(int first, int count) const {
    Shapes part = shapes;
    part.tokens = count;
    Sequence result(part);
    for (int token = 0; token < count; ++token) {
      copy_token(queries, shapes.tokens, first + token, result.queries, count, token, shapes.heads);
      copy_token(keys, shapes.tokens, first + token, result.keys, count, token, shapes.kv_heads);
      copy_token(values, shapes.tokens, first + token, result.values, count, token, shapes.kv_heads);
    }
    return result;
  }

  // Copies the outputs of a piece to their place.
  void put_back(const Sequence& piece, int first) {
    for (int token = 0; token < piece.shapes.tokens; ++token)
      copy_token(piece.out, piece.shapes.tokens, token, out, shapes.tokens, first + token, shapes.heads);
  }

  void copy_token(const std::vector<float>& from, int from_tokens, int from_token, std::vector<float>& to, int to_tokens, int to_token,
                  int heads) const {
    for (int head = 0; head < heads; ++head) {
      const std::size_t source = index_of(shapes.layout, from_tokens, heads, shapes.dim, from_token, head);
      std::copy_n(&from[source], shapes.dim, &to[index_of(shapes.layout, to_tokens, heads, shapes.dim, to_token, head)]);
    }
  }

  Shapes shapes;
  std::vector<float> queries, keys, values, out;
};

struct ConfiguredAttention : LinearAttention {
  explicit ConfiguredAttention(const Shapes& shapes) { EXPECT_EQ(configure(shapes.heads, shapes.kv_heads, shapes.dim), Status::ok); }
  std::vector<float> saved() const { return {state(), state() + state_size()}; }
};

inline Positions from(double offset, int tokens) { return {offset, nullptr, 1, 1, tokens}; }

constexpr Layout kLayouts[] = {Layout::bthd, Layout::bhtd, Layout::thd};

}  // namespace ropewalk
