#include "transformer/blocks/recurrent_mixer.h"

#include <algorithm>
#include <cmath>

#include "base/float_math.h"
#include "base/thread_pool.h"
#include "recurrence/causal_convolution.h"
#include "recurrence/selective_scan.h"
#include "recurrence/state_scan.h"
#include "vectors/activation.h"
#include "vectors/row_work.h"
#include "vectors/scale_rows.h"

namespace ropewalk {
namespace {

constexpr float kKeyEpsilon = 1e-6f;  // of the norm of keys and queries in the delta rule: a constant in transformers

// Divides by the Euclidean norm, and multiplies by `scale`. Sums are f64, as in normalize.h.
void normalize_key(const float* x, int size, float scale, float* out) {
  double squares = 0;
  for (int i = 0; i < size; ++i) squares += static_cast<double>(x[i]) * x[i];
  const float factor = static_cast<float>(scale / std::sqrt(squares + kKeyEpsilon));
  for (int i = 0; i < size; ++i) out[i] = x[i] * factor;
}

}  // namespace

bool RecurrentMixer::allocate(const ModelConfig& config, int count) {
  const RecurrenceConfig& c = config.recurrence;
  const auto rows = [count](int size) { return static_cast<std::uint64_t>(count) * size; };
  const int channels = convolution_channels(c, Recurrence::delta);  // the most
  const std::uint64_t inner = rows(c.inner), keys = rows(c.key_heads * padded_keys(c.key_size));
  return resize({{&projected_, rows(std::max(3 * c.inner, channels))},
                 {&convolved_, rows(channels)},
                 {&gate_, inner},
                 {&mixed_, inner},
                 {&steps_, rows(c.step_rank > 0 ? c.inner : c.heads)},
                 {&strengths_, rows(c.heads)},
                 {&keys_, keys},
                 {&queries_, keys},
                 {&selected_, rows(c.step_rank + 2 * c.key_size)}});
}

void RecurrentMixer::run(const ForwardPass& pass, int layer, const float* input, std::span<const StateRows> texts, float* out) {
  const ModelConfig& config = pass.config();
  const Recurrence kind = pass.weights.layer_config(layer).recurrence;
  const LayerWeights& w = pass.weights.layer(layer);
  count_ = texts.back().first + texts.back().count;
  const Call call = {pass, config.recurrence, kind, w, texts};
  input_.set(input, config.hidden_size, count_, config.hidden_size);
  switch (kind) {
    case Recurrence::none:
    case Recurrence::rwkv7: return;
    case Recurrence::convolution: convolve_gated(call); break;
    case Recurrence::delta:
    case Recurrence::mamba2: scan_heads(call); break;
    case Recurrence::mamba: scan_channels(call); break;
  }
  inner_.set(mixed_.data(), call.sizes.inner, count_, call.sizes.inner);
  pass.multiply(Stage::attention_output, inner_,
                {{&w[LayerMatrix::recurrent_out], w[LayerVector::recurrent_out_bias], out, config.hidden_size}});
  scale_rows(out, count_, config.hidden_size, config.multipliers.recurrent_out);
}

void RecurrentMixer::convolve_gated(const Call& call) {
  const LayerWeights& w = call.weights;
  const int size = call.sizes.inner;
  call.pass.multiply(Stage::query_key_value, input_,
                     {{&w[LayerMatrix::recurrent_in], w[LayerVector::recurrent_in_bias], projected_.data(), 3 * size}});
  const StageTimer timer(Stage::attention);
  each_in_parallel(count_, kRowWork * size, [&](int t) {
    const float* row = projected_.data() + elements(t, 3 * size);
    float* product = gate_.data() + elements(t, size);
    for (int i = 0; i < size; ++i) product[i] = row[i] * row[2 * size + i];
  });
  convolve_texts(call, size, gate_.data(), mixed_.data());
  each_in_parallel(count_, kRowWork * size, [&](int t) {
    const float* gate = projected_.data() + elements(t, 3 * size) + size;
    float* row = mixed_.data() + elements(t, size);
    for (int i = 0; i < size; ++i) row[i] *= gate[i];
  });
}

void RecurrentMixer::scan_heads(const Call& call) {
  const LayerWeights& w = call.weights;
  const RecurrenceConfig& c = call.sizes;
  const bool is_delta = call.kind == Recurrence::delta;
  const Product in = {&w[LayerMatrix::recurrent_in], w[LayerVector::recurrent_in_bias], projected_.data(),
                      convolution_channels(c, call.kind)};
  const Product gate = {&w[LayerMatrix::recurrent_gate], w[LayerVector::recurrent_gate_bias], gate_.data(), c.inner};
  const Product step = {&w[LayerMatrix::recurrent_step], w[LayerVector::recurrent_step_bias], steps_.data(), c.heads};
  if (is_delta) {
    const Product strength = {&w[LayerMatrix::recurrent_strength], nullptr, strengths_.data(), c.heads};
    call.pass.multiply(Stage::query_key_value, input_, {in, gate, step, strength});
  } else {
    call.pass.multiply(Stage::query_key_value, input_, {in, gate, step});
    scale_projected(call);
  }
  convolve_projected(call);
  split_keys(call);
  compute_steps(call);

  const int channels = convolution_channels(c, call.kind), values = value_size(c);
  const float* value_rows = convolved_.data() + (is_delta ? 2 * c.key_heads * c.key_size : 0);
  const int keys = c.key_heads * padded_keys(c.key_size), state = convolution_floats(call);
  for (const StateRows& text : call.texts) {
    const StageTimer timer(Stage::attention);
    const StateScan scan = {text.count,
                            c.heads,
                            c.key_heads,
                            c.key_size,
                            values,
                            is_delta,
                            c.is_tiled,
                            keys_.data() + elements(text.first, keys),
                            queries_.data() + elements(text.first, keys),
                            value_rows + elements(text.first, channels),
                            channels,
                            steps_.data() + elements(text.first, c.heads),
                            strengths_.data() + elements(text.first, c.heads)};
    scan_states(scan, text.from + state, text.to + state, mixed_.data() + elements(text.first, c.inner));
  }
  if (const float* skip = w[LayerVector::skip]; skip != nullptr) {
    const StageTimer timer(Stage::attention);
    each_in_parallel(count_, kRowWork * c.inner, [&](int t) {
      const float* value = value_rows + elements(t, channels);
      float* row = mixed_.data() + elements(t, c.inner);
      for (int head = 0, i = 0; head < c.heads; ++head) {
        for (const int end = i + values; i < end; ++i) row[i] += skip[head] * value[i];
      }
    });
  }
  normalize_gated(call);
}

void RecurrentMixer::scale_projected(const Call& call) {
  const RecurrenceConfig& c = call.sizes;
  const Multipliers& m = call.pass.config().multipliers;
  const int channels = convolution_channels(c, call.kind), keys = c.key_heads * c.key_size;
  scale_rows(gate_.data(), count_, c.inner, m.recurrent_gate);
  scale_rows(steps_.data(), count_, c.heads, m.recurrent_step);
  scale_rows(projected_.data(), count_, c.inner, m.recurrent_value, channels);
  scale_rows(projected_.data() + c.inner, count_, keys, m.recurrent_key, channels);
  scale_rows(projected_.data() + c.inner + keys, count_, keys, m.recurrent_query, channels);
}

void RecurrentMixer::convolve_projected(const Call& call) {
  const int channels = convolution_channels(call.sizes, call.kind);
  const StageTimer timer(Stage::attention);
  convolve_texts(call, channels, projected_.data(), convolved_.data());
  each_in_parallel(count_, kActivationWork * channels,
                   [&](int t) { activate(Activation::silu, convolved_.data() + elements(t, channels), channels); });
}

void RecurrentMixer::split_keys(const Call& call) {
  const RecurrenceConfig& c = call.sizes;
  const bool is_delta = call.kind == Recurrence::delta;
  const int channels = convolution_channels(c, call.kind), padded = padded_keys(c.key_size), all = c.key_heads * c.key_size;
  const float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(c.key_size)));
  const StageTimer timer(Stage::norm);
  each_in_parallel(count_, kRowWork * 2 * all, [&](int t) {
    const float* row = convolved_.data() + elements(t, channels);
    // the delta rule has [q | k | v], Mamba-2 [u | B | C] with keys B and queries C
    const float* queries = is_delta ? row : row + c.inner + all;
    const float* keys = is_delta ? row + all : row + c.inner;
    for (int head = 0; head < c.key_heads; ++head) {
      const std::ptrdiff_t at = elements(t * c.key_heads + head, padded);
      float *key = keys_.data() + at, *query = queries_.data() + at;
      if (is_delta) {
        normalize_key(keys + head * c.key_size, c.key_size, 1, key);
        normalize_key(queries + head * c.key_size, c.key_size, scale, query);
      } else {
        std::copy_n(keys + head * c.key_size, c.key_size, key);
        std::copy_n(queries + head * c.key_size, c.key_size, query);
      }
      std::fill(key + c.key_size, key + padded, 0.0f);
      std::fill(query + c.key_size, query + padded, 0.0f);
    }
  });
}

void RecurrentMixer::compute_steps(const Call& call) {
  const RecurrenceConfig& c = call.sizes;
  const float *offset = call.weights[LayerVector::recurrent_step_offset], *decay = call.weights[LayerVector::decay];
  const bool is_delta = call.kind == Recurrence::delta;
  const StageTimer timer(Stage::activation);
  each_in_parallel(count_, 3 * kActivationWork * c.heads, [&](int t) {
    float *a = steps_.data() + elements(t, c.heads), *b = strengths_.data() + elements(t, c.heads);
    for (int head = 0; head < c.heads; ++head) {
      const float step = softplus_f32(a[head] + (offset == nullptr ? 0 : offset[head]));
      const float clamped = is_delta ? step : std::clamp(step, c.least_step, c.largest_step);
      a[head] = exp_f32(clamped * decay[head]);
      b[head] = is_delta ? sigmoid_f32(b[head]) : clamped;
    }
  });
}

void RecurrentMixer::normalize_gated(const Call& call) {
  const RecurrenceConfig& c = call.sizes;
  const float* weight = call.weights[LayerVector::recurrent_norm];
  const bool is_delta = call.kind == Recurrence::delta, is_norm_first = is_delta || c.norms_before_gate;
  const int parts = weight == nullptr ? 0 : is_delta ? c.heads : c.norm_groups, size = parts == 0 ? 0 : c.inner / parts;
  const StageTimer timer(Stage::activation);
  each_in_parallel(count_, kActivationWork * c.inner, [&](int t) {
    float *gate = gate_.data() + elements(t, c.inner), *row = mixed_.data() + elements(t, c.inner);
    if (!is_norm_first) activate_gated(Activation::silu, gate, row, c.inner);
    for (int part = 0; part < parts; ++part) {
      float* x = row + part * size;
      normalize(call.pass.config().norm, x, size, is_delta ? weight : weight + part * size, nullptr, x);
    }
    if (is_norm_first) activate_gated(Activation::silu, gate, row, c.inner);
  });
}

void RecurrentMixer::scan_channels(const Call& call) {
  const LayerWeights& w = call.weights;
  const RecurrenceConfig& c = call.sizes;
  const int row = c.step_rank + 2 * c.key_size;
  call.pass.multiply(Stage::query_key_value, input_,
                     {{&w[LayerMatrix::recurrent_in], w[LayerVector::recurrent_in_bias], projected_.data(), c.inner},
                      {&w[LayerMatrix::recurrent_gate], w[LayerVector::recurrent_gate_bias], gate_.data(), c.inner}});
  convolve_projected(call);
  inner_.set(convolved_.data(), c.inner, count_, c.inner);
  call.pass.multiply(Stage::query_key_value, inner_, {{&w[LayerMatrix::recurrent_select], nullptr, selected_.data(), row}});
  if (c.select_norm_epsilon != 0) normalize_selected(call);
  inner_.set(selected_.data(), row, count_, c.step_rank);
  call.pass.multiply(Stage::query_key_value, inner_,
                     {{&w[LayerMatrix::recurrent_step], w[LayerVector::recurrent_step_offset], steps_.data(), c.inner}});

  const StageTimer timer(Stage::attention);
  each_in_parallel(count_, kActivationWork * c.inner, [&](int t) { softplus(steps_.data() + elements(t, c.inner), c.inner); });
  const int state = convolution_floats(call);
  for (const StateRows& text : call.texts) {
    const std::ptrdiff_t at = elements(text.first, c.inner);
    const float* selected = selected_.data() + elements(text.first, row) + c.step_rank;
    const SelectiveScan scan = {
        text.count, c.inner, c.key_size, w[LayerVector::decay], convolved_.data() + at, steps_.data() + at, selected, selected + c.key_size,
        row};
    ropewalk::scan_channels(scan, text.from + state, text.to + state, mixed_.data() + at);
  }
  const float* skip = w[LayerVector::skip];
  each_in_parallel(count_, kActivationWork * c.inner, [&](int t) {
    const float* u = convolved_.data() + elements(t, c.inner);
    float *gate = gate_.data() + elements(t, c.inner), *out = mixed_.data() + elements(t, c.inner);
    for (int i = 0; i < c.inner; ++i) out[i] += skip[i] * u[i];
    activate_gated(Activation::silu, gate, out, c.inner);
  });
}

void RecurrentMixer::normalize_selected(const Call& call) {
  const RecurrenceConfig& c = call.sizes;
  const float* weight = call.weights[LayerVector::recurrent_select_norm];
  const Norm norm = {NormKind::rms, c.select_norm_epsilon};
  const int row = c.step_rank + 2 * c.key_size;
  const StageTimer timer(Stage::norm);
  each_in_parallel(count_, kRowWork * row, [&](int t) {
    int at = 0;
    for (const int size : {c.step_rank, c.key_size, c.key_size}) {
      float* x = selected_.data() + elements(t, row) + at;
      normalize(norm, x, size, weight == nullptr ? nullptr : weight + at, nullptr, x);
      at += size;
    }
  });
}

void RecurrentMixer::convolve_texts(const Call& call, int channels, const float* x, float* out) {
  const LayerWeights& w = call.weights;
  const Convolution convolution = {call.sizes.kernel, channels, w[LayerVector::convolution], w[LayerVector::convolution_bias]};
  for (const StateRows& text : call.texts) {
    const std::ptrdiff_t at = elements(text.first, channels);
    convolve(convolution, x + at, text.count, text.from, text.to, out + at);
  }
}

int RecurrentMixer::convolution_floats(const Call& call) {
  return convolution_state(call.sizes.kernel, convolution_channels(call.sizes, call.kind));
}

}  // namespace ropewalk
