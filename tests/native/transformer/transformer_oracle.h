// Reference transformer in double precision for whole prompts, without a cache, written from the papers named in forward.h.
#pragma once

#include "native/transformer/attention_oracle.h"
#include "native/transformer/feed_forward_oracle.h"
#include "native/transformer/per_layer_oracle.h"
#include "native/transformer/recurrent_oracle.h"
#include "native/transformer/rwkv_oracle.h"
#include "native/transformer/transformer_models.h"

namespace ropewalk::oracle {

class Transformer {
 public:
  explicit Transformer(const TestModel& model) : model_(model), c_(model.config()), feed_forward_(model) {}

  // Logits [tokens][vocabulary_size].
  Rows logits(const std::vector<int>& tokens) const { return run(tokens).logits; }
  // Hidden states after the final norm, [tokens][hidden_size]. `types` of tokens may be empty.
  Rows hidden(const std::vector<int>& tokens, const std::vector<int>& types = {}) const { return run(tokens, types).hidden; }
  // The attention weights of the last token, [layers][heads][tokens]; none of recurrent layers.
  std::vector<Rows> attention_weights(const std::vector<int>& tokens) const { return run(tokens).weights; }

 private:
  struct Result {
    Rows hidden, logits;
    std::vector<Rows> weights;
  };

  Result run(const std::vector<int>& tokens, const std::vector<int>& types = {}) const {
    AttentionOracle attention(model_);
    PerLayerOracle per_layer(model_);
    RwkvOracle rwkv(model_);
    std::vector<Rows> streams;  // of each token
    const TestMatrix& embedding = model_.matrix(ModelMatrix::embedding);
    for (const int token : tokens) {
      const float* row = &embedding.values[token * c_.hidden_size];
      Row x(row, row + c_.hidden_size);
      for (double& element : x) element *= c_.embedding_scale;
      if (c_.positions > 0) add_row(ModelMatrix::positions, static_cast<int>(streams.size()), x);
      if (c_.token_types > 0) add_row(ModelMatrix::token_types, types.empty() ? 0 : types[streams.size()], x);
      x = normalized(c_.norm, x, model_.vector(ModelVector::embedding_norm), model_.vector(ModelVector::embedding_norm_bias));
      streams.push_back(c_.per_layer.size > 0 ? per_layer.begin(token, x) : Rows{x});
    }
    Result result;
    for (int layer = 0; layer < c_.layers; ++layer) {
      run_layer(layer, attention, per_layer, rwkv, streams);
      result.weights.push_back(attention.last_weights(layer));
    }
    const TestMatrix& head = model_.matrix(model_.has_head() ? ModelMatrix::head : ModelMatrix::embedding);
    for (const Rows& of_token : streams) {
      const Row hidden = normalized(c_.norm, per_layer.merged(of_token), model_.vector(ModelVector::final_norm),
                                    model_.vector(ModelVector::final_norm_bias));
      result.hidden.push_back(hidden);
      result.logits.push_back(times(head, hidden, model_.vector(ModelVector::head_bias)));
      for (double& logit : result.logits.back()) {
        logit *= c_.logit_scale;
        if (c_.logit_soft_cap != 0) logit = c_.logit_soft_cap * std::tanh(logit / c_.logit_soft_cap);
      }
    }
    return result;
  }

  void run_layer(int layer, AttentionOracle& attention, const PerLayerOracle& per_layer, RwkvOracle& rwkv,
                 std::vector<Rows>& streams) const {
    const auto vector = [&](LayerVector slot) { return model_.vector(layer, slot); };
    const int active = c_.per_layer.active_stream;
    const LayerConfig& l = model_.layer_config(layer);
    Rows inputs;
    for (Rows& of_token : streams) {
      of_token = per_layer.predicted(layer, of_token);
      inputs.push_back(
          normalized(c_.norm, of_token[active], vector(LayerVector::attention_norm), vector(LayerVector::attention_norm_bias)));
    }
    const Rows attended = l.has_attention ? attention.attend(layer, inputs) : Rows();
    const auto recurred = [&] { return model_.is_rwkv(layer) ? rwkv.mix(layer, inputs) : RecurrentOracle(model_).mix(layer, inputs); };
    const Rows mixed = model_.is_recurrent(layer) ? recurred() : Rows();
    const std::vector<float>& shift = vector(LayerVector::feed_forward_shift);
    Row fed_before(c_.hidden_size, 0);
    for (std::size_t t = 0; t < streams.size(); ++t) {
      const Row before = streams[t][active];
      Row x = before;
      if (mixes_tokens(l))
        add(x, sum_at(t, attended, mixed), vector(LayerVector::attention_post_norm), vector(LayerVector::attention_post_norm_bias));
      x = per_layer.with_laurel(layer, inputs[t], x);
      if (!l.has_feed_forward) {
        streams[t][active] = x;
        continue;
      }
      const Row& read = c_.is_parallel ? before : x;
      const bool shares = c_.is_parallel && vector(LayerVector::feed_forward_norm).empty();
      const Row input =
          shares ? inputs[t]
                 : normalized(c_.norm, read, vector(LayerVector::feed_forward_norm), vector(LayerVector::feed_forward_norm_bias));
      const Row fed = shift.empty() ? input : RwkvOracle::shifted(input, fed_before, shift.data());
      fed_before = input;
      add(x, feed_forward_.output(layer, fed, x), vector(LayerVector::feed_forward_post_norm),
          vector(LayerVector::feed_forward_post_norm_bias));
      streams[t] = per_layer.end(layer, static_cast<int>(t), streams[t], x);
    }
  }

  void add_row(ModelMatrix slot, int row, Row& to) const {
    for (int i = 0; i < c_.hidden_size; ++i) to[i] += model_.matrix(slot).values[row * c_.hidden_size + i];
  }

  // Either may be empty.
  static Row sum_at(std::size_t t, const Rows& a, const Rows& b) {
    if (a.empty() || b.empty()) return a.empty() ? b[t] : a[t];
    Row sum = a[t];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b[t][i];
    return sum;
  }

  // The norm is of the part, or of the sum.
  void add(Row& x, const Row& part, const std::vector<float>& norm, const std::vector<float>& bias) const {
    const Row added = c_.normalizes_residual ? part : normalized(c_.norm, part, norm, bias);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += c_.residual_scale * added[i];
    if (c_.normalizes_residual) x = normalized(c_.norm, x, norm, bias);
  }

  const TestModel& model_;
  const ModelConfig& c_;
  FeedForwardOracle feed_forward_;
};

}  // namespace ropewalk::oracle
