// Embind declarations for the forward pass of texts with memories: in one call, and in steps for traces and hooks.
#include "bindings/model.h"

using namespace emscripten;
using namespace ropewalk;
using namespace ropewalk::bindings;

namespace {

// states: 0 for a model without recurrent layers.
StatusCode forward(Address model, Address cache, int sequence, Address states, Address tokens, int count) {
  Model& m = model_at(model);
  return static_cast<int>(m.forward.run(m.weights, {at<KvCache>(cache), sequence, at<RecurrentState>(states)}, at<int>(tokens), count));
}

// The next tokens of a text, in 4-byte words, in the order of TextTokens.
struct TextFields {
  Address cache;
  int sequence;
  Address states, tokens;
  int count;
};

// texts: [count] of TextFields in bindings/forward.cpp.
StatusCode forward_texts(Address model, Address texts, int count) {
  Model& m = model_at(model);
  Buffer<TextTokens> given;
  if (!given.resize(count)) return static_cast<int>(Status::out_of_memory);
  for (int i = 0; i < count; ++i) {
    const TextFields& f = at<TextFields>(texts)[i];
    given[i] = {{at<KvCache>(f.cache), f.sequence, at<RecurrentState>(f.states)}, at<int>(f.tokens), f.count};
  }
  return static_cast<int>(m.forward.run(m.weights, {given.data(), given.size()}));
}

Address hidden(Address model) { return reinterpret_cast<Address>(model_at(model).forward.hidden()); }

StatusCode logits(Address model, int first, int count, Address out) {
  Model& m = model_at(model);
  return static_cast<int>(m.forward.logits(m.weights, first, count, at<float>(out)));
}

// outs: an address for each text of the last run.
StatusCode last_logits(Address model, Address outs) {
  Model& m = model_at(model);
  return static_cast<int>(m.forward.last_logits(m.weights, at<float*>(outs)));
}

StatusCode attention(Address model, Address cache, int sequence, int layer, Address out) {
  Model& m = model_at(model);
  return static_cast<int>(m.forward.attention_weights(m.weights, *at<KvCache>(cache), sequence, layer, at<float>(out)));
}

StatusCode losses(Address model, int first, Address targets, int count, Address out) {
  Model& m = model_at(model);
  const std::span<const int> given = {at<int>(targets), static_cast<std::size_t>(count)};
  return static_cast<int>(m.losses.measure(m.forward, m.weights, first, given, at<double>(out)));
}

StatusCode forward_begin(Address model, Address cache, int sequence, Address states, Address tokens, int count) {
  Model& m = model_at(model);
  return static_cast<int>(m.forward.begin(m.weights, {at<KvCache>(cache), sequence, at<RecurrentState>(states)}, at<int>(tokens), count));
}
StatusCode forward_layer(Address model) { return static_cast<int>(model_at(model).forward.run_next_layer()); }
StatusCode forward_end(Address model) { return static_cast<int>(model_at(model).forward.end()); }
void forward_cancel(Address model) { model_at(model).forward.cancel(); }
Address residual(Address model) { return reinterpret_cast<Address>(model_at(model).forward.residual()); }
Address queries(Address model) { return reinterpret_cast<Address>(model_at(model).forward.queries()); }
StatusCode row_attention(Address model, int token, Address out) {
  return static_cast<int>(model_at(model).forward.attention_weights(token, at<float>(out)));
}

}  // namespace

EMSCRIPTEN_BINDINGS(ropewalk_forward) {
  function("model_forward", &forward);
  function("model_forward_texts", &forward_texts);
  function("model_hidden", &hidden);
  function("model_logits", &logits);
  function("model_last_logits", &last_logits);
  function("model_attention", &attention);
  function("model_losses", &losses);
  function("model_forward_begin", &forward_begin);
  function("model_forward_layer", &forward_layer);
  function("model_forward_end", &forward_end);
  function("model_forward_cancel", &forward_cancel);
  function("model_residual", &residual);
  function("model_queries", &queries);
  function("model_row_attention", &row_attention);
}
