// Embind declarations for attention, linear attention and position schemes: fields and functions, without logic.
#include <new>

#include "attention/attend_tensors.h"
#include "attention/linear_image.h"
#include "bindings/attention_fields.h"

using namespace emscripten;
using namespace ropewalk;
using namespace ropewalk::bindings;

namespace {

StatusCode attend(const TensorFields& queries, const TensorFields& keys, Address values, const PositionFields& query_positions,
                  const PositionFields& key_positions, const AttentionFields& options, bool scalar) {
  static Attention attention;  // keeps its buffers between calls
  if (scalar) {
    attention.use_kernels(kScalarAttentionKernels, kScalarRotateKernels);
  } else {
    attention.use_kernels(fastest_attention_kernels(), fastest_rotate_kernels());
  }
  HeadTensor value_tensor = tensor_of(keys);
  value_tensor.source = at<void>(values);
  return static_cast<int>(attend_tensors(
      attention, {tensor_of(queries), tensor_of(keys), value_tensor, positions_of(query_positions), positions_of(key_positions)},
      options_of(options)));
}

Address linear_create() { return reinterpret_cast<Address>(new (std::nothrow) LinearAttention); }
void linear_destroy(Address linear) { delete at<LinearAttention>(linear); }

StatusCode linear_configure(Address linear, int heads, int kv_heads, int head_dim) {
  return static_cast<int>(at<LinearAttention>(linear)->configure(heads, kv_heads, head_dim));
}

enum class LinearMode { append, absorb, query };

StatusCode linear_step(Address linear, Address rope, const PositionFields& positions, int mode, Address queries, Address keys,
                       Address values, Address out, int layout, int tokens) {
  LinearAttention& attention = *at<LinearAttention>(linear);
  const LinearTokens given = {at<float>(queries), at<float>(keys), at<float>(values), at<float>(out), static_cast<Layout>(layout), tokens};
  const Positions placed = positions_of(positions);
  switch (static_cast<LinearMode>(mode)) {
    case LinearMode::append: return static_cast<int>(attention.append(at<Rope>(rope), placed, given));
    case LinearMode::absorb: return static_cast<int>(attention.absorb(at<Rope>(rope), placed, given));
    case LinearMode::query: return static_cast<int>(attention.query(at<Rope>(rope), placed, given));
  }
  return static_cast<int>(Status::layout_unknown);
}

void linear_reset(Address linear) { at<LinearAttention>(linear)->reset(); }
double linear_tokens(Address linear) { return static_cast<double>(at<LinearAttention>(linear)->tokens()); }
double linear_bytes(Address linear) { return static_cast<double>(linear_image_bytes(*at<LinearAttention>(linear))); }

// `rope` is 0 without one.
const FrequencyPlan* plan_of(Address rope) { return rope == 0 ? nullptr : &at<Rope>(rope)->plan(); }

void linear_save(Address linear, Address rope, Address target) {
  save_linear(*at<LinearAttention>(linear), at<void>(target), plan_of(rope));
}

StatusCode linear_restore(Address linear, Address rope, Address source, double bytes) {
  return static_cast<int>(restore_linear(*at<LinearAttention>(linear), at<void>(source), static_cast<std::size_t>(bytes), plan_of(rope)));
}

StatusCode sinusoids(Address positions, int count, double base, int dim, Address target) {
  return static_cast<int>(sinusoidal_rows({at<double>(positions), static_cast<std::size_t>(count)}, base, dim, at<float>(target)));
}

void slopes(int heads, Address target) { alibi_slopes(heads, at<float>(target)); }

StatusCode buckets_of(Address relative, int count, int buckets, int max_distance, bool bidirectional, Address target) {
  return static_cast<int>(
      t5_buckets({buckets, max_distance, bidirectional}, {at<double>(relative), static_cast<std::size_t>(count)}, at<int>(target)));
}

}  // namespace

EMSCRIPTEN_BINDINGS(ropewalk_attention) {
  function("attention_attend", &attend);
  function("linear_create", &linear_create);
  function("linear_destroy", &linear_destroy);
  function("linear_configure", &linear_configure);
  function("linear_step", &linear_step);
  function("linear_reset", &linear_reset);
  function("linear_tokens", &linear_tokens);
  function("linear_image_bytes", &linear_bytes);
  function("linear_save", &linear_save);
  function("linear_restore", &linear_restore);
  function("sinusoidal_rows", &sinusoids);
  function("alibi_slopes", &slopes);
  function("t5_buckets", &buckets_of);
}
