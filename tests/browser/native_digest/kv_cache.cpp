// Applies a list of steps to a cache, such as append:40,shift:4:16,retune. The steps are described in pages/cases/kv_cache.mjs.
#include "cache/kv_cache.h"

#include "cache/kv_image.h"
#include "inputs.h"
#include "stages.h"

using namespace ropewalk;

namespace {

class CacheRun {
 public:
  explicit CacheRun(Arguments& arguments)
      : arguments_(arguments),
        layers_(arguments.integer("layers")),
        sequences_(arguments.integer("sequences")),
        heads_(arguments.integer("heads")),
        kv_heads_(arguments.integer("kv_heads")),
        head_dim_(arguments.integer("head_dim")),
        has_rope_(arguments.text("position") == "rope"),
        layout_(layout_of(arguments)),
        input_(dtype_of(arguments, "input")),
        cache_(open()) {}

  void perform(const std::vector<std::string>& step, int number) {
    const auto word = [&](std::size_t index) { return static_cast<int>(std::strtod(step[index].c_str(), nullptr)); };
    const std::string& name = step[0];
    if (name == "append") {
      append(word(1), step.size() > 2 ? &step[2] : nullptr, 1000 * number);
    } else if (name == "shift") {
      require_ok(cache_->shift(last(), word(1), word(2)));
    } else if (name == "truncate") {
      require_ok(cache_->truncate(last(), word(1)));
    } else if (name == "retune") {
      require_ok(cache_->retune(0, config_of(arguments_, "to_")));
    } else if (name == "move") {
      require_ok(cache_->move(last(), place(word(1), 1, cache_->sequence(last()).tokens()).positions));
    } else if (name == "copy") {
      require_ok(cache_->copy_prefix(last(), 0, word(1)));
    } else if (name == "reopen") {
      reopen();
    } else {
      fail("unknown step " + name);
    }
    print_content();
  }

  void print_images() {
    for (int sequence = 0; sequence < sequences_; ++sequence) print(image_of(sequence));
  }

 private:
  int last() const { return sequences_ - 1; }

  std::unique_ptr<KvCache> open() {
    const std::vector<KvLayer> layers(layers_, KvLayer{kv_heads_, head_dim_, has_rope_ ? 0 : kNoRope});
    std::vector<RopeConfig> ropes;
    if (has_rope_) ropes.push_back(config_of(arguments_));
    const RowType type = arguments_.name<RowType>("dtype", {"f32", "f16", "bf16", "q8_0"});
    const KeyMode mode = arguments_.name<KeyMode>("keys", {"rotated", "raw"});
    auto cache = std::make_unique<KvCache>();
    require_ok(cache->configure({layers, ropes, type, mode, sequences_, arguments_.integer("max_length")}));
    return cache;
  }

  void append(int tokens, const std::string* first, int seed) {
    const Shape shape = {sequences_, tokens, heads_, head_dim_}, kv_shape = {sequences_, tokens, kv_heads_, head_dim_};
    const double position = first == nullptr ? 0 : std::strtod(first->c_str(), nullptr);
    const Placed placed = place(position, 1, tokens, first == nullptr ? 1 : cache_->geometry().axes());
    Scores scores = scores_of(arguments_, tokens);
    for (int layer = 0; layer < layers_; ++layer, seed += 10) {
      const Bytes k = elements(input_, size_of(kv_shape), seed), v = elements(input_, size_of(kv_shape), seed + 1);
      Bytes q = elements(input_, size_of(shape), seed + 2);
      const HeadTensor keys = {k.data(), nullptr, input_, layout_, kv_shape}, values = {v.data(), nullptr, input_, layout_, kv_shape};
      const HeadTensor queries = {q.data(), q.data(), input_, layout_, shape};
      require_ok(cache_->append(layer, everything(), {keys, values, queries, first != nullptr, placed.positions}));
      print(q);

      const Bytes asked = input_ == DType::f32 ? q : elements(DType::f32, size_of(shape), seed + 3);
      std::vector<float> out(size_of(shape));
      require_ok(cache_->attend(layer, everything(), {asked.data(), out.data(), DType::f32, layout_, shape}, scores.options));
      print(out);
    }
  }

  int everything() const { return sequences_ == 1 ? 0 : kAllSequences; }

  void reopen() {
    std::unique_ptr<KvCache> fresh = open();
    for (int sequence = 0; sequence < sequences_; ++sequence) {
      const Bytes image = image_of(sequence);
      print(image);
      KvImageReader reader;
      require_ok(reader.open(*fresh, sequence, static_cast<double>(image.size())));
      require_ok(reader.write(image.data(), image.size()));
      require_ok(reader.finish());
    }
    cache_ = std::move(fresh);
  }

  Bytes image_of(int sequence) {
    KvImageWriter writer;
    require_ok(writer.open(*cache_, sequence));
    Bytes image(static_cast<std::size_t>(writer.bytes()));
    writer.read(image.data(), image.size());
    return image;
  }

  // Prints keys and values of each layer, and the positions, of the last sequence.
  void print_content() {
    const KvSequence& cached = cache_->sequence(last());
    for (int layer = 0; layer < layers_; ++layer) {
      std::vector<float> k(static_cast<std::size_t>(cached.written(layer)) * kv_heads_ * head_dim_), v(k.size());
      require_ok(cache_->read(layer, last(), 0, cached.written(layer), k.data(), v.data()));
      print(k);
      print(v);
    }
    std::vector<double> positions;
    for (int axis = 0; axis < cache_->geometry().axes(); ++axis) {
      for (int slot = 0; slot < cached.tokens(); ++slot) positions.push_back(cached.position(axis, slot));
    }
    print(positions);
  }

  Arguments& arguments_;
  int layers_, sequences_, heads_, kv_heads_, head_dim_;
  bool has_rope_;
  Layout layout_;
  DType input_;
  std::unique_ptr<KvCache> cache_;
};

}  // namespace

void cache_case(Arguments& arguments) {
  CacheRun run(arguments);
  int number = 0;
  for (const std::string& step : split(arguments.text("steps"), ',')) run.perform(split(step, ':'), ++number);
  run.print_images();
}
