// Images of caches, damaged at will: an image is refused and the cache keeps every bit, or the restored cache works as any other.
#include "cache/kv_image.h"
#include "fuzz_image.h"

using namespace ropewalk;

namespace {

constexpr double kSections[] = {2, 1, 1};

RopeConfig rope_of(FuzzInput& input, bool has_axes) {
  RopeConfig config;
  config.head_dim = 10;
  config.rotary_dim = 8;
  config.rotary_offset = input.between(0, 2);
  config.pairing = static_cast<Pairing>(input.between(0, 2));
  config.precision = static_cast<Precision>(input.between(0, 1));
  if (has_axes) config.mrope_section = kSections;
  switch (input.between(0, 3)) {
    case 1:
      config.rope_type = RopeType::yarn;
      config.factor = 4;
      config.original_max_position_embeddings = 16;
      break;
    case 2:
      config.rope_type = RopeType::dynamic;
      config.factor = 2;
      config.max_position_embeddings = 8;
      break;
    case 3:
      config.xpos_scale_base = 64;
      config.xpos_center = 5;
      break;
    default: break;
  }
  return config;
}

struct Setup {
  explicit Setup(FuzzInput& input) {
    const bool has_axes = input.one_in(3);
    for (int count = input.between(0, 2); count > 0; --count) ropes.push_back(rope_of(input, has_axes));
    for (int count = input.between(1, 3); count > 0; --count)
      layers.push_back({input.between(1, 2), 10, ropes.empty() ? kNoRope : input.between(0, static_cast<int>(ropes.size()) - 1)});
    type = static_cast<RowType>(input.between(0, kRowTypes - 1));
    mode = static_cast<KeyMode>(input.between(0, 1));
  }
  void configure(KvCache& cache) const { EXPECT_HOLDS(cache.configure({layers, ropes, type, mode, 2, 80}) == Status::ok); }

  std::vector<RopeConfig> ropes;
  std::vector<KvLayer> layers;
  RowType type;
  KeyMode mode;
};

Image saved(KvCache& cache, int sequence) {
  KvImageWriter writer;
  EXPECT_HOLDS(writer.open(cache, sequence) == Status::ok);
  Image image(static_cast<std::size_t>(writer.bytes()));
  writer.read(image.data(), image.size());
  return image;
}

Status restore(KvCache& cache, int sequence, const Image& image, std::size_t piece) {
  KvImageReader reader;
  Status status = reader.open(cache, sequence, static_cast<double>(image.size()));
  for (std::size_t at = 0, step; status == Status::ok && at < image.size(); at += step) {
    step = std::min(piece, image.size() - at);
    status = reader.write(image.data() + at, step);
  }
  return status == Status::ok ? reader.finish() : status;
}

void append(KvCache& cache, int layer, int count, FuzzInput& input) {
  const KvGeometry::Layer& shape = cache.geometry().layer(layer);
  std::vector<float> k = input.ordinaries(static_cast<std::size_t>(count) * shape.heads * shape.head_dim);
  const HeadTensor tensor = {k.data(), k.data(), DType::f32, Layout::thd, {1, count, shape.heads, shape.head_dim}};
  cache.append(layer, 0, {tensor, tensor, {}, false, {}});
}

// Everything that a cache does, with the sequence that was restored. Any status is right; the sanitizers watch.
void use(KvCache& cache, FuzzInput& input) {
  std::vector<float> keys, values;
  for (int layer = 0; layer < cache.geometry().layers(); ++layer) {
    const KvGeometry::Layer& shape = cache.geometry().layer(layer);
    const int written = cache.sequence(0).written(layer);
    keys.resize(static_cast<std::size_t>(written) * shape.heads * shape.head_dim), values.resize(keys.size());
    EXPECT_HOLDS(cache.read(layer, 0, 0, written, keys.data(), values.data()) == Status::ok);
    std::vector<float> q = input.ordinaries(2 * static_cast<std::size_t>(shape.heads) * shape.head_dim);
    AttentionOptions options;
    options.scale = std::numeric_limits<double>::quiet_NaN();
    cache.attend(layer, 0, {q.data(), q.data(), DType::f32, Layout::thd, {1, 1, 2 * shape.heads, shape.head_dim}}, options);
  }
  for (int layer = 0; layer < cache.geometry().layers(); ++layer) append(cache, layer, 3, input);
  cache.shift(0, input.between(0, 3), input.between(1, 5));
  if (cache.ropes() > 0) {
    RopeConfig config = cache.rope_config(0);
    config.rope_theta = input.one_in(4) ? input.number() : 5000;
    cache.retune(0, config);
  }
  cache.move(0, {input.number(), nullptr, 1, 1, cache.sequence(0).tokens()});
  cache.copy_prefix(0, 1, input.between(0, cache.sequence(0).tokens()));
  cache.truncate(0, input.between(0, cache.sequence(0).tokens()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  const Setup setup(input);
  const Setup other(input);
  KvCache source, target;
  setup.configure(source);
  (input.one_in(4) ? other : setup).configure(target);
  const int tokens = input.between(0, 40);
  for (int layer = 0; layer < source.geometry().layers() && tokens > 0; ++layer) {
    append(source, layer, layer == 0 ? tokens : input.between(1, tokens), input);
    if (layer < target.geometry().layers()) append(target, layer, 5, input);
  }
  const Image before = saved(target, 0);
  const Image image = damaged(saved(source, 0), input);
  const Status status = restore(target, 0, image, input.flag() ? SIZE_MAX : input.between(1, 100));
  if (status != Status::ok) EXPECT_HOLDS(saved(target, 0) == before);
  use(target, input);
  // what the cache has become is a valid image again
  const Image after = saved(target, 0);
  const Status again = restore(target, 0, after, SIZE_MAX);
  EXPECT_HOLDS(again == Status::ok);
  return 0;
}
