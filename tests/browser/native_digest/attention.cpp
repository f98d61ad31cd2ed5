// Attention over tensors: pages/cases/attention.mjs.
#include <cmath>

#include "attention/attend_tensors.h"
#include "inputs.h"
#include "stages.h"

using namespace ropewalk;

void attention_case(Arguments& arguments) {
  const int tokens = arguments.integer("tokens"), kv_tokens = arguments.integer("kv_tokens"), head_dim = arguments.integer("head_dim");
  const int batches = arguments.integer("batches"), rows = arguments.flag("rows", false) ? batches : 1;
  const Layout layout = layout_of(arguments);
  const Shape shape = {batches, tokens, arguments.integer("heads"), head_dim};
  const Shape kv_shape = {batches, kv_tokens, arguments.integer("kv_heads"), head_dim};
  const int axes = arguments.has("mrope_section") ? 3 : 1;
  const double step = arguments.number("step", 1);
  const Placed placed = place(arguments.number("first", kv_tokens - tokens), step, tokens, axes, rows);
  const Placed kv_placed = place(arguments.number("kv_first", 0), step, kv_tokens, axes, rows);

  const DType dtype = dtype_of(arguments, "dtype");
  std::vector<float> q = floats(size_of(shape), 1);
  const Bytes k = elements(dtype, size_of(kv_shape), 2), v = elements(dtype, size_of(kv_shape), 3);

  Scores scores = scores_of(arguments, tokens);
  AttentionOptions& options = scores.options;
  Rope rope;
  double scale = 1 / std::sqrt(static_cast<double>(head_dim));
  if (options.position.scheme == PositionScheme::rope) {
    const double largest = std::fmax(largest_position(placed.positions), largest_position(kv_placed.positions));
    require_ok(rope.configure(config_of(arguments)));
    require_ok(rope.use_length(std::fmax(1, std::ceil(largest) + 1)));
    options.position.rope = &rope;
    scale = rope.plan().softmax_scale;
  }
  if (std::isnan(options.scale)) options.scale = scale;

  Attention attention;
  const HeadTensor queries = {q.data(), q.data(), DType::f32, layout, shape};
  const HeadTensor keys = {k.data(), nullptr, dtype, layout, kv_shape}, values = {v.data(), nullptr, dtype, layout, kv_shape};
  require_ok(attend_tensors(attention, {queries, keys, values, placed.positions, kv_placed.positions}, options));
  print(q);
}
