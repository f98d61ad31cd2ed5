// Embind declarations for models and their forward pass: fields and functions, without logic.
#include <new>

#include "bindings/embind.h"
#include "bindings/model.h"

using namespace emscripten;
using namespace ropewalk;
using namespace ropewalk::bindings;

namespace {

Address create(bool scalar) {
  Model* model = new (std::nothrow) Model;
  if (model != nullptr && scalar) {
    model->forward.use_kernels(kScalarMatmulKernels);
    model->vectors.use_kernels(kScalarMatmulKernels);
  }
  return reinterpret_cast<Address>(model);
}
void destroy(Address model) { delete at<Model>(model); }

// Begins the shape of a model: set_layer() for each layer, then configure().
StatusCode set_layers(Address model, int layers) {
  return static_cast<int>(model_at(model).layers.resize(layers) ? Status::ok : Status::out_of_memory);
}
void set_layer(Address model, int layer, const LayerConfig& config) { model_at(model).layers[layer] = config; }

StatusCode configure(Address model, const ModelConfig& config) {
  return static_cast<int>(model_at(model).weights.configure(config, model_at(model).layers.data()));
}

StatusCode reserve(Address model, int layer, int slot, int expert, int format, int rows, int columns, double bytes, Address result) {
  unsigned char* memory = nullptr;
  const Status status = model_at(model).weights.reserve(layer, slot, expert, static_cast<WeightFormat>(format), rows, columns,
                                                        static_cast<std::uint64_t>(bytes), memory);
  *at<Address>(result) = reinterpret_cast<Address>(memory);
  return static_cast<int>(status);
}

StatusCode set_vector(Address model, int layer, int slot, int format, Address stored, double bytes, double added) {
  return static_cast<int>(model_at(model).weights.set_vector(layer, slot, static_cast<WeightFormat>(format), at<void>(stored),
                                                             static_cast<std::uint64_t>(bytes), static_cast<float>(added)));
}

StatusCode pack(Address model, int layer, int slot, int expert, int rows) {
  return static_cast<int>(model_at(model).weights.pack(layer, slot, expert, rows));
}

StatusCode finish(Address model) { return static_cast<int>(model_at(model).weights.finish()); }

// Writes the address of new states to `result`; 0 if the model has no recurrent layers.
StatusCode model_states(Address model, int checkpoints, Address result) {
  std::unique_ptr<RecurrentState> states;
  const Status status = model_at(model).weights.make_states(checkpoints, states);
  *at<Address>(result) = reinterpret_cast<Address>(states.release());
  return static_cast<int>(status);
}

WholeTexts& texts_at(Address texts) { return *at<WholeTexts>(texts); }

Address texts_create(bool scalar) {
  WholeTexts* texts = new (std::nothrow) WholeTexts;
  if (texts != nullptr && scalar) texts->use_kernels(kScalarAttentionKernels, kScalarRotateKernels);
  return reinterpret_cast<Address>(texts);
}
void texts_destroy(Address texts) { delete at<WholeTexts>(texts); }

// layers and ropes: as those of a cache (kv_cache.cpp).
StatusCode texts_configure(Address texts, Address layers, int layer_count, Address ropes, int rope_count) {
  Buffer<RopeConfig> configs;
  if (!configs.resize(rope_count)) return static_cast<int>(Status::out_of_memory);
  for (int i = 0; i < rope_count; ++i) configs[i] = at<Rope>(at<Address>(ropes)[i])->config();
  return static_cast<int>(texts_at(texts).configure({at<KvLayer>(layers), static_cast<std::size_t>(layer_count)},
                                                    {configs.data(), static_cast<std::size_t>(rope_count)}));
}

// lengths: [count] i32. types: [sum of lengths] i32, or 0 if all are 0.
StatusCode texts_begin(Address texts, Address lengths, int count, Address types) {
  return static_cast<int>(texts_at(texts).begin({at<int>(lengths), static_cast<std::size_t>(count)}, at<int>(types)));
}

// rows: [tokens][hidden_size] f32, added to the embeddings of the tokens, or 0.
StatusCode read_texts(Address model, Address texts, Address tokens, Address rows) {
  Model& m = model_at(model);
  return static_cast<int>(m.forward.run(m.weights, texts_at(texts), at<int>(tokens), at<float>(rows)));
}

StatusCode write_vectors(Address model, Address texts, int pooling, bool uses_dense, Address out) {
  Model& m = model_at(model);
  return static_cast<int>(
      m.vectors.write(m.weights, texts_at(texts), m.forward, static_cast<Pooling>(pooling), uses_dense, at<float>(out)));
}

}  // namespace

EMSCRIPTEN_BINDINGS(ropewalk_transformer) {
  value_array<DenseConfigs>("DenseConfigs").element(emscripten::index<0>()).element(emscripten::index<1>()).element(emscripten::index<2>());
#include "bindings/fields.h"
#include "vectors/norm_fields.def"

#include "bindings/fields.h"
#include "transformer/model_fields.def"

  function("model_create", &create);
  function("model_destroy", &destroy);
  function("model_set_layers", &set_layers);
  function("model_set_layer", &set_layer);
  function("model_configure", &configure);
  function("model_reserve", &reserve);
  function("model_set_vector", &set_vector);
  function("model_pack", &pack);
  function("model_finish", &finish);
  function("model_states", &model_states);
  function("texts_create", &texts_create);
  function("texts_destroy", &texts_destroy);
  function("texts_configure", &texts_configure);
  function("texts_begin", &texts_begin);
  function("model_read_texts", &read_texts);
  function("model_write_vectors", &write_vectors);
}
