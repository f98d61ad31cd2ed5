#include "transformer/blocks/rwkv_mixer.h"

#include <algorithm>
#include <cmath>

#include "base/float_math.h"
#include "base/thread_pool.h"
#include "recurrence/token_shift.h"
#include "recurrence/wkv_scan.h"
#include "vectors/activation.h"
#include "vectors/row_work.h"
#include "vectors/scale_rows.h"

namespace ropewalk {
namespace {

constexpr float kLargestDecay = 0.60653066f;  // e^(-1/2): a key keeps at least e^-0.607 of itself

}  // namespace

bool RwkvMixer::allocate(const ModelConfig& config, int count) {
  const RecurrenceConfig& c = config.recurrence;
  const auto rows = [count](int size) { return static_cast<std::uint64_t>(count) * size; };
  const std::uint64_t inner = rows(c.inner), keys = rows(c.heads * padded_keys(c.key_size));
  return resize({{&projected_query_, inner},
                 {&projected_key_, inner},
                 {&decays_, inner},
                 {&rates_, inner},
                 {&shares_, inner},
                 {&gates_, inner},
                 {&mixed_, inner},
                 {&values_, inner},
                 {&first_values_, inner},
                 {&queries_, keys},
                 {&kept_, keys},
                 {&keys_, keys},
                 {&removed_, keys},
                 {&changes_, keys},
                 {&shifted_, rows(config.hidden_size)},
                 {&bonuses_, rows(c.heads)},
                 {&low_, rows(std::max({c.decay_rank, c.rate_rank, c.share_rank, c.gate_rank}))}});
}

void RwkvMixer::run(const ForwardPass& pass, int index, const float* input, std::span<const StateRows> texts, float* out) {
  const ModelConfig& config = pass.config();
  const LayerConfig& layer = pass.weights.layer_config(index);
  const LayerWeights& w = pass.weights.layer(index);
  const RecurrenceConfig& c = config.recurrence;
  const int hidden = config.hidden_size, count = texts.back().first + texts.back().count;
  count_ = count;
  float* values = layer.shares_values ? values_.data() : first_values_.data();
  const Call call = {pass, layer, w, input, texts, values, first_values_.data()};
  project(call);
  {
    const StageTimer timer(Stage::attention);
    each_in_parallel(count, 4 * kActivationWork * c.inner, [&](int t) { prepare_token(call, t); });
    const int keys = c.heads * padded_keys(c.key_size);
    for (const StateRows& text : texts) {
      std::copy_n(input + elements(text.first + text.count - 1, hidden), hidden, text.to);
      const auto rows = [&](Buffer<float>& buffer) { return buffer.data() + elements(text.first, keys); };
      const WkvScan scan = {text.count,  c.heads,     c.key_size,     value_size(c),  rows(queries_),
                            rows(kept_), rows(keys_), rows(removed_), rows(changes_), values + elements(text.first, c.inner)};
      scan_wkv(scan, text.from + hidden, text.to + hidden, mixed_.data() + elements(text.first, c.inner));
    }
    each_in_parallel(count, 4 * kRowWork * c.inner, [&](int t) { finish_token(call, t); });
  }
  inner_.set(mixed_.data(), c.inner, count, c.inner);
  pass.multiply(Stage::attention_output, inner_, {{&w[LayerMatrix::recurrent_out], w[LayerVector::recurrent_out_bias], out, hidden}});
  scale_rows(out, count, hidden, config.multipliers.recurrent_out);
}

void RwkvMixer::project(const Call& call) {
  const RecurrenceConfig& c = call.pass.config().recurrence;
  using Of = LayerMatrix;
  shift(call, query);
  project_shifted(call, Of::recurrent_query, projected_query_.data());
  shift(call, key);
  project_shifted(call, Of::recurrent_key, projected_key_.data());
  shift(call, value);
  project_shifted(call, Of::recurrent_value, call.values);
  if (call.layer.shares_values)
    project_low(call, {Of::share_down, Of::share_up, c.share_rank, nullptr}, call.weights[LayerVector::share_bias], shares_.data());
  shift(call, decay);
  const auto tanh_of = [](float* row, std::ptrdiff_t size) { activate(Activation::tanh, row, size); };
  project_low(call, {Of::decay_down, Of::decay_up, c.decay_rank, tanh_of}, call.weights[LayerVector::decay_bias], decays_.data());
  shift(call, rate);
  project_low(call, {Of::rate_down, Of::rate_up, c.rate_rank, nullptr}, call.weights[LayerVector::rate_bias], rates_.data());
  shift(call, gate);
  project_low(call, {Of::recurrent_gate_down, Of::recurrent_gate_up, c.gate_rank, sigmoid}, nullptr, gates_.data());
}

void RwkvMixer::shift(const Call& call, Shifted row) {
  const int hidden = call.pass.config().hidden_size;
  const float* shares = call.weights[LayerVector::token_shift] + elements(row, hidden);
  const StageTimer timer(Stage::activation);
  for (const StateRows& text : call.texts) {
    const std::ptrdiff_t at = elements(text.first, hidden);
    shift_tokens(call.input + at, text.count, hidden, shares, text.from, shifted_.data() + at);
  }
  input_.set(shifted_.data(), hidden, count_, hidden);
}

void RwkvMixer::project_shifted(const Call& call, LayerMatrix slot, float* out) {
  call.pass.multiply(Stage::query_key_value, input_, {{&call.weights[slot], nullptr, out, call.pass.config().recurrence.inner}});
}

void RwkvMixer::project_low(const Call& call, const LowRank& low, const float* bias, float* out) {
  call.pass.multiply(Stage::query_key_value, input_, {{&call.weights[low.down], nullptr, low_.data(), low.rank}});
  if (low.activate != nullptr) low.activate(low_.data(), elements(count_, low.rank));
  inner_.set(low_.data(), low.rank, count_, low.rank);
  call.pass.multiply(Stage::query_key_value, inner_, {{&call.weights[low.up], bias, out, call.pass.config().recurrence.inner}});
}

void RwkvMixer::prepare_token(const Call& call, int t) {
  const RecurrenceConfig& c = call.pass.config().recurrence;
  const LayerWeights& w = call.weights;
  float *decays = decays_.data() + elements(t, c.inner), *rates = rates_.data() + elements(t, c.inner);
  sigmoid(decays, c.inner);
  sigmoid(rates, c.inner);
  if (call.layer.shares_values) {
    const float* first = call.first_values + elements(t, c.inner);
    float *shares = shares_.data() + elements(t, c.inner), *values = call.values + elements(t, c.inner);
    sigmoid(shares, c.inner);
    for (int i = 0; i < c.inner; ++i) values[i] += (first[i] - values[i]) * shares[i];
  }
  const int size = c.key_size, padded = padded_keys(size);
  for (int head = 0; head < c.heads; ++head) {
    const int at = head * size;
    const std::ptrdiff_t to = elements(t * c.heads + head, padded);
    const float *query = projected_query_.data() + elements(t, c.inner) + at, *key = projected_key_.data() + elements(t, c.inner) + at;
    const float *removal = w[LayerVector::removal_scale] + at, *rate_scale = w[LayerVector::rate_scale] + at;
    const float* bonus = w[LayerVector::bonus] + at;
    double squares = 0, product = 0;
    for (int i = 0; i < size; ++i) {
      removed_[to + i] = key[i] * removal[i];
      squares += static_cast<double>(removed_[to + i]) * removed_[to + i];
    }
    const float factor = static_cast<float>(1 / std::sqrt(squares + c.removal_epsilon));
    for (int i = 0; i < size; ++i) {
      const float rate = rates[at + i];
      queries_[to + i] = query[i];
      kept_[to + i] = exp_f32(-kLargestDecay * decays[at + i]);
      removed_[to + i] *= factor;
      changes_[to + i] = removed_[to + i] * rate;
      keys_[to + i] = key[i] * (1 + rate_scale[i] * (rate - 1));
      product += static_cast<double>(query[i]) * bonus[i] * keys_[to + i];
    }
    for (Buffer<float>* row : {&queries_, &kept_, &keys_, &removed_, &changes_})
      std::fill(row->data() + to + size, row->data() + to + padded, 0.0f);
    bonuses_[elements(t, c.heads) + head] = static_cast<float>(product);
  }
}

void RwkvMixer::finish_token(const Call& call, int t) {
  const RecurrenceConfig& c = call.pass.config().recurrence;
  const int size = value_size(c);
  const float *weight = call.weights[LayerVector::recurrent_norm], *bias = call.weights[LayerVector::recurrent_norm_bias];
  const float *values = call.values + elements(t, c.inner), *gates = gates_.data() + elements(t, c.inner);
  float* row = mixed_.data() + elements(t, c.inner);
  for (int head = 0; head < c.heads; ++head) {
    const float bonus = bonuses_[elements(t, c.heads) + head];
    const int at = head * size;
    normalize({NormKind::layer, c.head_norm_epsilon}, row + at, size, weight + at, bias + at, row + at);
    for (int i = at; i < at + size; ++i) row[i] = (row[i] + bonus * values[i]) * gates[i];
  }
}

}  // namespace ropewalk
