// Weights of recurrent layers that are refused. weights_test.cpp loads all models.
#include <gtest/gtest.h>

#include <limits>

#include "native/transformer/transformer_models.h"
#include "recurrence/causal_convolution.h"

namespace ropewalk {
namespace recurrent_weights_test {
namespace {

constexpr int kMost = std::numeric_limits<int>::max(), kLeast = std::numeric_limits<int>::min();

// Vectors of attention in a recurrent layer, of feed-forward in a layer without it, and of other kinds would have no effect.
TEST(RecurrentWeights, RefuseVectorsThatALayerHasNoUseFor) {
  const float numbers[64] = {};
  const auto refuses = [&](const Description& description, int layer, LayerVector at, int size) {
    const TestModel model(description);
    Weights weights;
    ASSERT_EQ(model.load(weights), Status::ok);
    EXPECT_EQ(weights.set_vector(layer, static_cast<int>(at), WeightFormat::f32, numbers, size * sizeof(float), 0),
              Status::weight_slot_unknown)
        << description.name << ", " << static_cast<int>(at);
  };
  for (const LayerVector of_heads : {LayerVector::query_bias, LayerVector::attention_sub_norm, LayerVector::attention_gate_bias})
    refuses(delta_hybrid(false), 0, of_heads, 24);
  refuses(delta_hybrid(false), 0, LayerVector::output_bias, 20);
  refuses(delta_hybrid(false), 1, LayerVector::query_norm, 6);
  refuses(delta_hybrid(false), 1, LayerVector::sinks, 4);
  refuses(delta_hybrid(false), 2, LayerVector::decay, 4);
  refuses(delta_hybrid(false), 0, LayerVector::skip, 4);
  refuses(mamba2_hybrid(), 2, LayerVector::attention_gate_bias, 24);
  refuses(mamba2_hybrid(), 1, LayerVector::up_bias, 27);
  refuses(pure_mamba(false), 0, LayerVector::feed_forward_norm, 20);
  refuses(pure_mamba(false), 0, LayerVector::recurrent_step_bias, 33);
  refuses(short_convolutions(), 0, LayerVector::recurrent_gate_bias, 20);
  refuses(pure_mamba(false), 0, LayerVector::recurrent_select_norm, 17);
  refuses(parallel_mixers(), 0, LayerVector::recurrent_norm, 24);
  refuses(single_blocks(), 0, LayerVector::feed_forward_norm, 20);
  refuses(single_blocks(), 1, LayerVector::attention_norm, 20);
  refuses(single_blocks(), 1, LayerVector::attention_post_norm, 20);
  refuses(single_blocks(), 1, LayerVector::query_bias, 24);
  refuses(rwkv(false), 0, LayerVector::share_bias, 21);
  refuses(rwkv(false), 1, LayerVector::convolution, 42);
  refuses(rwkv(true), 1, LayerVector::feed_forward_shift, 20);
  refuses(delta_hybrid(false), 0, LayerVector::feed_forward_shift, 20);
}

TEST(RecurrentWeights, ConfigureRefusesSizesOutOfRange) {
  using Change = void (*)(RecurrenceConfig&, int);
  const Change each[] = {[](RecurrenceConfig& r, int bad) { r.kernel = bad; }, [](RecurrenceConfig& r, int bad) { r.inner = bad; },
                         [](RecurrenceConfig& r, int bad) { r.heads = bad; }, [](RecurrenceConfig& r, int bad) { r.key_heads = bad; },
                         [](RecurrenceConfig& r, int bad) { r.norm_groups = bad; }};
  for (const Description& description : every_recurrent_model()) {
    SCOPED_TRACE(description.name);
    const TestModel model(description);
    Weights weights;
    ASSERT_EQ(model.load_and_finish(weights), Status::ok);
    const auto refuses = [&](auto change) {
      Description changed = description;
      change(changed);
      EXPECT_EQ(weights.configure(changed.config, changed.layers.data()), Status::model_shape_out_of_range);
      EXPECT_TRUE(weights.is_finished());
    };
    for (const int bad : {0, -1, kMost, kLeast}) {
      for (const Change change : each) refuses([&](Description& d) { change(d.config.recurrence, bad); });
    }
    refuses([](Description& d) { d.config.recurrence.kernel = kMaxTaps + 1; });
    refuses([](Description& d) { d.config.recurrence.inner += 1, d.config.recurrence.heads = d.config.recurrence.inner - 1; });
    for (const int bad : {-1, kMost, kLeast}) {
      refuses([bad](Description& d) { d.config.recurrence.key_size = bad; });
      refuses([bad](Description& d) { d.config.recurrence.step_rank = bad; });
      refuses([bad](Description& d) { d.layers[0].recurrence = static_cast<Recurrence>(bad); });
    }
    refuses([](Description& d) { d.layers[0].recurrence = static_cast<Recurrence>(6); });
    refuses([](Description& d) { d.config.recurrence.least_step = 2, d.config.recurrence.largest_step = 1; });
    refuses([](Description& d) { d.config.recurrence.largest_step = NAN; });
    for (const float bad : {-1e-6f, NAN}) refuses([bad](Description& d) { d.config.recurrence.select_norm_epsilon = bad; });
    if (description.layers[0].recurrence == Recurrence::convolution) {
      refuses([](Description& d) { d.config.recurrence.inner = 21; });
    } else {
      refuses([](Description& d) { d.config.recurrence.key_size = 0; });
    }
    if (description.layers[0].recurrence == Recurrence::mamba) refuses([](Description& d) { d.config.recurrence.step_rank = 0; });
    for (const float bad : {-1e-6f, NAN}) {
      refuses([bad](Description& d) { d.config.recurrence.removal_epsilon = bad; });
      refuses([bad](Description& d) { d.config.recurrence.head_norm_epsilon = bad; });
    }
    for (int RecurrenceConfig::*rank :
         {&RecurrenceConfig::decay_rank, &RecurrenceConfig::rate_rank, &RecurrenceConfig::share_rank, &RecurrenceConfig::gate_rank}) {
      for (const int bad : {-1, kMost, kLeast}) refuses([=](Description& d) { d.config.recurrence.*rank = bad; });
      if (description.layers[2].recurrence == Recurrence::rwkv7) refuses([=](Description& d) { d.config.recurrence.*rank = 0; });
    }
    if (description.layers[2].recurrence == Recurrence::rwkv7) {
      refuses([](Description& d) { d.config.recurrence.kernel = 3; });
      refuses([](Description& d) { d.config.recurrence.key_heads = 1; });
      refuses([](Description& d) { d.config.recurrence.key_size = 6; });
    }
    for (Description later = description; !later.layers[1].has_attention; later.layers[1] = LayerConfig()) {
      later.layers[2] = LayerConfig(), later.layers[2].keys_of = 1;
      EXPECT_EQ(weights.configure(later.config, later.layers.data()), Status::model_shape_out_of_range) << "keys of a recurrent layer";
    }
  }
  Description nothing = single_blocks(), parallel = single_blocks();
  nothing.layers[1].has_feed_forward = false;
  EXPECT_EQ(Weights().configure(nothing.config, nothing.layers.data()), Status::model_shape_out_of_range);
  parallel.config.is_parallel = parallel.layers[0].has_feed_forward = parallel.layers[2].has_feed_forward = true;
  EXPECT_EQ(Weights().configure(parallel.config, parallel.layers.data()), Status::model_shape_out_of_range);
  // sizes that no layer uses are checked too
  Description unused = llama();
  unused.config.recurrence = {.kernel = 4, .inner = kMost, .heads = 1, .key_heads = 1};
  EXPECT_EQ(Weights().configure(unused.config, unused.layers.data()), Status::model_shape_out_of_range);
  Description gated = latent(0);
  gated.config.attention_gate = AttentionGate::elements;
  EXPECT_EQ(Weights().configure(gated.config, gated.layers.data()), Status::model_shape_out_of_range);
}

}  // namespace
}  // namespace recurrent_weights_test
}  // namespace ropewalk
