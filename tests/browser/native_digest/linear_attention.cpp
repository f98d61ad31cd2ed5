// Linear attention of whole tensors and of a sequence in pieces: pages/cases/linear_attention.mjs.
#include "attention/linear_attention.h"

#include "attention/linear_image.h"
#include "inputs.h"
#include "stages.h"

using namespace ropewalk;

namespace {

LinearAttention empty_sums(Arguments& arguments) {
  LinearAttention sums;
  require_ok(sums.configure(arguments.integer("heads"), arguments.integer("kv_heads"), arguments.integer("head_dim")));
  return sums;
}

Rope* rope_of(Arguments& arguments, Rope& rope) {
  if (arguments.text("position") != "rope") return nullptr;
  require_ok(rope.configure(config_of(arguments)));
  return &rope;
}

Bytes image_of(const LinearAttention& sums, const FrequencyPlan* plan) {
  Bytes image(linear_image_bytes(sums));
  save_linear(sums, image.data(), plan);
  return image;
}

}  // namespace

void linear_case(Arguments& arguments) {
  const int batches = arguments.integer("batches"), tokens = arguments.integer("tokens"), kv_tokens = arguments.integer("kv_tokens");
  const Layout layout = layout_of(arguments);
  const Shape shape = {1, tokens, arguments.integer("heads"), arguments.integer("head_dim")};
  const Shape kv_shape = {1, kv_tokens, arguments.integer("kv_heads"), shape.head_dim};
  std::vector<float> q = floats(batches * size_of(shape), 1);
  const std::vector<float> k = floats(batches * size_of(kv_shape), 2), v = floats(batches * size_of(kv_shape), 3);
  const double step = arguments.number("step", 1);
  const Placed placed = place(arguments.number("first", kv_tokens - tokens), step, tokens);
  const Placed kv_placed = place(arguments.number("kv_first", 0), step, kv_tokens);
  Rope rope;
  Rope* rotation = rope_of(arguments, rope);

  for (int batch = 0; batch < batches; ++batch) {
    float* out = q.data() + batch * size_of(shape);
    const std::size_t kv = batch * size_of(kv_shape);
    LinearTokens row = {out, k.data() + kv, v.data() + kv, out, layout, tokens};
    LinearAttention sums = empty_sums(arguments);
    if (arguments.flag("causal", true)) {
      require_ok(sums.append(rotation, placed.positions, row));
    } else {
      row.tokens = kv_tokens;
      require_ok(sums.absorb(rotation, kv_placed.positions, row));
      row.tokens = tokens;
      require_ok(sums.query(rotation, placed.positions, row));
    }
  }
  print(q);
}

void linear_state_case(Arguments& arguments) {
  LinearAttention sums = empty_sums(arguments);
  const Layout layout = layout_of(arguments);
  Rope rope;
  Rope* rotation = rope_of(arguments, rope);
  const FrequencyPlan* plan = rotation == nullptr ? nullptr : &rotation->plan();
  int seed = 0;
  for (const double piece : arguments.numbers("pieces")) {
    const int tokens = static_cast<int>(piece);
    seed += 10;
    const Shape shape = {1, tokens, sums.heads(), sums.head_dim()}, kv_shape = {1, tokens, sums.kv_heads(), sums.head_dim()};
    std::vector<float> q = floats(size_of(shape), seed);
    const std::vector<float> k = floats(size_of(kv_shape), seed + 1), v = floats(size_of(kv_shape), seed + 2);
    const Placed placed = place(sums.tokens(), 1, tokens);
    require_ok(sums.append(rotation, placed.positions, {q.data(), k.data(), v.data(), q.data(), layout, tokens}));
    print(q);

    const Bytes image = image_of(sums, plan);
    print(image);
    sums = empty_sums(arguments);
    require_ok(restore_linear(sums, image.data(), image.size(), plan));
  }
}
