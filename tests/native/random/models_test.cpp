// Models whose mechanisms and sizes are drawn at random, compared with the reference transformer, and with themselves in pieces.
#include <gtest/gtest.h>

#include "native/random/random_cases.h"
#include "native/transformer/model_memory.h"
#include "native/transformer/transformer_oracle.h"
#include "transformer/forward.h"

namespace ropewalk {
namespace {

// Relative to the largest logit. Measured over 15,000 cases: up to 2.5e-4, where norms divide by small roots; forward_test.cpp is stricter.
constexpr double kTolerance = 1e-3;

void draw_attention(Description& d, RandomCase& random) {
  ModelConfig& c = d.config;
  c.kv_heads = random.whole(1, 3), c.heads = c.kv_heads * random.whole(1, 3), c.head_dim = 2 * random.whole(1, 8);
  // a norm of rotated heads must not see the rotation, so it has no mean
  c.query_key_norm = random.any<QueryKeyNorm>(c.norm.kind == NormKind::rms ? 5 : 4);
  c.normalizes_values = random.one_in(4);
  if (random.one_in(2)) c.attention_scale = random.between(0.1, 1);
  if (random.one_in(4)) c.attention_soft_cap = random.between(1, 20);
  d.rope = with_pairing(plain_config(c.head_dim), random.any<Pairing>(2));
  if (random.one_in(4)) c.attention_gate = random.one_in(2) ? AttentionGate::heads : AttentionGate::elements;
  if (c.attention_gate != AttentionGate::none && random.one_in(2)) d.vectors.push_back(LayerVector::attention_gate_bias);
  if (random.one_in(3)) d.vectors.push_back(LayerVector::sinks);
  if (random.one_in(4)) d.vectors.push_back(LayerVector::attention_sub_norm);
  if (random.one_in(3)) d.vectors.insert(d.vectors.end(), {LayerVector::query_bias, LayerVector::key_bias, LayerVector::value_bias});
  if (c.query_key_norm != QueryKeyNorm::none) d.vectors.insert(d.vectors.end(), {LayerVector::query_norm, LayerVector::key_norm});
}

void draw_latent_attention(Description& d, RandomCase& random) {
  ModelConfig& c = d.config;
  c.latent = {.latent = random.whole(1, 12),
              .rotated = 2 * random.whole(1, 4),
              .plain = random.whole(1, 9),
              .value = random.whole(1, 9),
              .query = random.one_in(2) ? random.whole(1, 9) : 0};
  c.kv_heads = 1, c.heads = random.whole(1, 5), c.head_dim = c.latent.latent + c.latent.rotated;
  c.attention_scale = random.between(0.1, 1);
  d.rope = with_pairing(plain_config(c.head_dim), random.any<Pairing>(2));
  d.rope.rotary_dim = c.latent.rotated;
  d.vectors.push_back(LayerVector::latent_norm);
  if (c.latent.query > 0) d.vectors.push_back(LayerVector::query_latent_norm);
}

void draw_feed_forward(Description& d, RandomCase& random) {
  ModelConfig& c = d.config;
  c.is_gated = !random.one_in(4);
  c.activation = c.is_gated && random.one_in(4) ? Activation::clamped_silu : random.any<Activation>(4);
  c.gate_slope = 1.7f, c.gate_limit = 0.7f;
  if (!random.one_in(3)) return;
  c.experts = random.whole(1, 5), c.expert_size = random.size(20, 50);
  c.shared_expert_size = random.one_in(3) ? random.size(20, 50) : 0;
  c.routing = {.used = random.whole(1, c.experts),
               .weight = random.any<ExpertWeight>(2),
               .normalizes = random.one_in(2),
               .scales_input = random.one_in(3),
               .least_sum = random.one_in(2) ? 1e-20f : 0.6f};
  if (random.one_in(2)) d.vectors.push_back(LayerVector::router_logit_bias);
  if (random.one_in(2)) d.vectors.insert(d.vectors.end(), {LayerVector::expert_up_bias, LayerVector::expert_down_bias});
}

void draw_per_layer(Description& d, RandomCase& random) {
  PerLayerConfig& p = d.config.per_layer;
  p = {.size = random.whole(1, 9), .vocabulary_size = random.whole(0, d.config.vocabulary_size)};
  d.model_vectors.push_back(ModelVector::per_layer_projection_norm);
  d.vectors.push_back(LayerVector::per_layer_norm);
  if (random.one_in(2)) d.vectors.push_back(LayerVector::layer_scale);
  if (random.one_in(2)) p.laurel = random.whole(1, 9), d.vectors.push_back(LayerVector::laurel_norm);
  if (random.one_in(2)) return;
  p.streams = random.whole(1, 4), p.active_stream = random.whole(0, p.streams - 1);
  d.vectors.push_back(LayerVector::stream_norm);
  if (random.one_in(2)) d.vectors.push_back(LayerVector::stream_scale);
}

void draw_rwkv(Description& d, RandomCase& random) {
  RecurrenceConfig& r = d.config.recurrence;
  r.kernel = 2, r.heads = r.key_heads = random.whole(1, 3), r.key_size = random.size(11, 40), r.inner = r.heads * r.key_size;
  for (int* rank : {&r.decay_rank, &r.rate_rank, &r.share_rank, &r.gate_rank}) *rank = random.whole(1, 9);
  r.removal_epsilon = random.one_in(2) ? 1e-2f : 1e-24f, r.head_norm_epsilon = 1e-2f;
  d.vectors.insert(d.vectors.end(), std::begin(kRwkvVectors), std::end(kRwkvVectors));
  if (random.one_in(2)) d.vectors.push_back(LayerVector::recurrent_out_bias);
}

// Returns the kind.
Recurrence draw_recurrence(Description& d, RandomCase& random) {
  RecurrenceConfig& r = d.config.recurrence;
  const auto kind = static_cast<Recurrence>(random.whole(1, 5));
  if (kind == Recurrence::rwkv7) {
    draw_rwkv(d, random);
    return kind;
  }
  const bool has_heads = kind == Recurrence::delta || kind == Recurrence::mamba2;
  r.kernel = random.whole(2, 5), r.key_heads = has_heads ? random.whole(1, 3) : 1;
  r.heads = has_heads ? r.key_heads * random.whole(1, 3) : 1;
  r.inner = kind == Recurrence::convolution ? d.config.hidden_size : r.heads * random.size(11, 30);
  r.key_size = kind == Recurrence::convolution ? 0 : random.size(11, 40);
  r.is_tiled = has_heads && random.one_in(2);
  if (kind == Recurrence::mamba) r.step_rank = random.whole(1, 9), r.select_norm_epsilon = random.one_in(2) ? 1e-2f : 0;
  if (kind == Recurrence::mamba2 && random.one_in(2)) r.least_step = 0.4f, r.largest_step = 0.9f;
  if (kind == Recurrence::mamba2 && random.one_in(2)) r.norm_groups = r.heads;
  if (kind == Recurrence::mamba2) r.has_norm = random.one_in(2), r.norms_before_gate = random.one_in(2);
  if (kind == Recurrence::mamba && random.one_in(2)) d.vectors.push_back(LayerVector::recurrent_select_norm);
  d.vectors.insert(d.vectors.end(), {LayerVector::convolution, random.one_in(2) ? LayerVector::decay : LayerVector::decay_log,
                                     LayerVector::skip, LayerVector::recurrent_norm});
  for (const LayerVector bias : {LayerVector::convolution_bias, LayerVector::recurrent_in_bias, LayerVector::recurrent_gate_bias,
                                 LayerVector::recurrent_step_bias, LayerVector::recurrent_step_offset, LayerVector::recurrent_out_bias}) {
    if (random.one_in(2)) d.vectors.push_back(bias);
  }
  return kind;
}

void draw_layers(Description& d, RandomCase& random) {
  const ModelConfig& c = d.config;
  const Recurrence kind = random.one_in(3) ? draw_recurrence(d, random) : Recurrence::none;
  d.layers.resize(c.layers);
  for (int i = 0; i < c.layers; ++i) {
    LayerConfig& l = d.layers[i];
    if (random.one_in(3)) l.window = random.whole(1, 12);
    if (random.one_in(3)) l.chunk = random.whole(1, 12);
    l.has_experts = c.experts > 0 && random.one_in(2);
    l.has_temperature = random.one_in(3);
    l.has_unit_heads = c.norm.kind == NormKind::rms && c.latent.latent == 0 && c.query_key_norm == QueryKeyNorm::none && random.one_in(4);
    l.feed_forward_size = random.whole(1, c.feed_forward_size);
    if (kind != Recurrence::none && random.one_in(2)) l.recurrence = kind, l.has_attention = random.one_in(3);
    if (!c.is_parallel && c.per_layer.size == 0) {
      if (!l.has_experts) l.has_feed_forward = !random.one_in(5);
      if (l.has_feed_forward && random.one_in(8)) l.recurrence = Recurrence::none, l.has_attention = false;
    }
    if (c.is_gated && random.one_in(4)) l.gate_deviations = static_cast<float>(random.between(-1, 1));
    d.rope_of.push_back(random.one_in(5) ? kNoRope : 0);
    const int other = random.whole(0, i);
    const bool shares = other < i && l.has_attention && d.layers[other].has_attention && d.layers[other].keys_of == kOwnKeys &&
                        random.one_in(2) && c.latent.latent == 0 && c.query_key_norm != QueryKeyNorm::rotated;
    if (!shares) continue;
    l.keys_of = other, d.rope_of.back() = d.rope_of[other];
  }
}

void draw_multipliers(Multipliers& m, RandomCase& random) {
  for (float* factor : {&m.attention_in, &m.key, &m.attention_out, &m.gate, &m.down, &m.recurrent_in, &m.recurrent_gate, &m.recurrent_value,
                        &m.recurrent_key, &m.recurrent_query, &m.recurrent_step, &m.recurrent_out})
    *factor = random.one_in(2) ? 1 : static_cast<float>(random.between(0.5, 1.5));
}

Description draw_model(RandomCase& random) {
  Description d;
  d.name = "drawn";
  ModelConfig& c = d.config;
  c.layers = random.whole(1, 4), c.vocabulary_size = random.size(40, 90), c.hidden_size = 7 + random.size(40, 90);
  c.feed_forward_size = random.size(40, 90);
  c.norm = {random.any<NormKind>(2), 1e-3f};
  c.latent_norm = {NormKind::rms, 1e-3f};
  c.temperature = {random.between(0.1, 1), random.between(1, 6), random.between(0, 2)};
  d.vectors = {LayerVector::attention_norm, LayerVector::feed_forward_norm};
  if (random.one_in(3)) d.vectors.insert(d.vectors.end(), {LayerVector::attention_post_norm, LayerVector::feed_forward_post_norm});
  c.is_parallel = random.one_in(5);
  d.has_head = random.one_in(2);
  random.one_in(3) ? draw_latent_attention(d, random) : draw_attention(d, random);
  draw_feed_forward(d, random);
  if (!c.is_parallel && c.activation != Activation::clamped_silu && random.one_in(3)) draw_per_layer(d, random);
  draw_layers(d, random);
  if (random.one_in(4)) {
    d.rope.compat = Compat::llama_cpp, d.rope.attn_factor = random.between(0.6, 1.6);
  }
  if (random.one_in(3)) draw_multipliers(c.multipliers, random);
  return d;
}

// Logits of all tokens, and the attention weights of the last one.
std::vector<float> run(const TestModel& model, const std::vector<int>& tokens, int first, std::vector<float>& read) {
  Weights weights;
  EXPECT_EQ(model.load_and_finish(weights), Status::ok);
  ModelMemory cache(model);
  Forward forward;
  const int size = model.config().vocabulary_size, count = static_cast<int>(tokens.size());
  std::vector<float> logits(static_cast<std::size_t>(count) * size, NAN);
  for (int done = 0; done < count;) {
    const int piece = done == 0 ? first : count - first;
    EXPECT_EQ(forward.run(weights, cache.text(), tokens.data() + done, piece), Status::ok);
    EXPECT_EQ(forward.logits(weights, 0, piece, logits.data() + done * size), Status::ok);
    done += piece;
  }
  const int heads = model.config().heads;
  read.resize(static_cast<std::size_t>(model.config().layers) * heads * count);
  float* at = read.data();
  for (int layer = 0; layer < model.config().layers; ++layer) {
    if (!model.layer_config(layer).has_attention) continue;
    EXPECT_EQ(forward.attention_weights(weights, cache, 0, layer, at), Status::ok);
    at += static_cast<std::ptrdiff_t>(heads) * count;
  }
  read.resize(at - read.data());
  return logits;
}

TEST(RandomModels, AreTheTransformer) {
  for_each_case(150, [](RandomCase& random) {
    const TestModel model(draw_model(random), random.next_bits());
    std::vector<int> tokens(random.size(15, 40));
    for (int& token : tokens) token = random.whole(0, model.config().vocabulary_size - 1);
    const int count = static_cast<int>(tokens.size());
    std::vector<float> read, of_pieces;
    const std::vector<float> logits = run(model, tokens, count, read);
    EXPECT_EQ(run(model, tokens, random.whole(1, count), of_pieces), logits) << "in two pieces";
    EXPECT_EQ(of_pieces, read) << "weights after two pieces";

    const oracle::Transformer transformer(model);
    double largest = 0, worst = 0;
    std::size_t at = 0;
    for (const oracle::Row& row : transformer.logits(tokens)) {
      for (const double exact : row) {
        largest = std::max(largest, std::fabs(exact));
        worst = std::max(worst, std::isnan(logits[at] - exact) ? INFINITY : std::fabs(logits[at] - exact));
        ++at;
      }
    }
    EXPECT_LE(worst, kTolerance * largest);
    at = 0;
    for (const oracle::Rows& layer : transformer.attention_weights(tokens)) {
      for (const oracle::Row& head : layer) {
        for (const double exact : head) ASSERT_NEAR(read[at++], exact, kTolerance);
      }
    }
  });
}

}  // namespace
}  // namespace ropewalk
