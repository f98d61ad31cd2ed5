#include "transformer/whole_texts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

namespace ropewalk {

void WholeTexts::use_kernels(const AttentionKernels& kernels, const RotateKernels& rotate_kernels) {
  attention_.use_kernels(kernels, rotate_kernels);
  rotate_kernels_ = &rotate_kernels;
}

Status WholeTexts::configure(std::span<const KvLayer> layers, std::span<const RopeConfig> ropes) {
  const int count = static_cast<int>(ropes.size());
  for (const KvLayer& layer : layers) {
    if (layer.rope < kNoRope || layer.rope >= count) return Status::cache_rope_unknown;
  }
  Buffer<KvLayer> copies;
  std::unique_ptr<Rope[]> configured(new (std::nothrow) Rope[count + 1]);  // + 1: an array of none may be null
  std::unique_ptr<RopeRows[]> rows(new (std::nothrow) RopeRows[count + 1]);
  std::unique_ptr<LayerRows[]> layer_rows(new (std::nothrow) LayerRows[layers.size()]);
  if (configured == nullptr || rows == nullptr || layer_rows == nullptr || !copies.resize(layers.size())) return Status::out_of_memory;
  for (int i = 0; i < count; ++i) {
    if (const Status status = configured[i].configure(ropes[i]); status != Status::ok) return status;
  }
  std::copy(layers.begin(), layers.end(), copies.data());
  layers_ = std::move(copies);
  ropes_ = std::move(configured);
  rope_rows_ = std::move(rows);
  layer_rows_ = std::move(layer_rows);
  rope_count_ = count;
  clear();
  return Status::ok;
}

Status WholeTexts::begin(std::span<const int> lengths, const int* types) {
  clear();
  std::int64_t tokens = 0;
  for (const int length : lengths) {
    if (length < 1 || (tokens += length) > std::numeric_limits<int>::max()) return Status::token_count_out_of_range;
  }
  if (tokens == 0) return Status::token_count_out_of_range;
  Buffer<int> starts;
  const bool has_memory = starts.resize(lengths.size() + 1) && positions_.resize(tokens) && types_.resize(types == nullptr ? 0 : tokens);
  if (!has_memory) return Status::out_of_memory;
  if (types != nullptr) std::copy_n(types, tokens, types_.data());
  starts[0] = 0;
  longest_ = 0;
  for (std::size_t text = 0; text < lengths.size(); ++text) {
    starts[text + 1] = starts[text] + lengths[text];
    for (int t = 0; t < lengths[text]; ++t) positions_[starts[text] + t] = t;
    longest_ = std::max(longest_, lengths[text]);
  }
  starts_ = std::move(starts);
  for (int rope = 0; rope < rope_count_; ++rope) {
    const Status status = write_rows(rope);
    if (status == Status::ok) continue;
    clear();
    return status;
  }
  return Status::ok;
}

Status WholeTexts::write_rows(int index) {
  Rope& rope = ropes_[index];
  RopeRows& rows = rope_rows_[index];
  const int pairs = rope.plan().rotary_dim / 2;
  const std::uint64_t size = static_cast<std::uint64_t>(tokens()) * pairs;
  bool has_memory = rows.scales.resize(texts()) && rows.factors.resize(texts());
  for (const Role role : {Role::query, Role::key}) {
    const int side = static_cast<int>(role);
    has_memory = has_memory && rows.cos[side].resize(size) && rows.sin[side].resize(size);
  }
  if (!has_memory) return Status::out_of_memory;
  for (int text = 0; text < texts(); ++text) {
    const int length = start(text + 1) - start(text);
    Positions positions;
    positions.tokens = length;
    if (const Status status = rope.use_positions(positions, length); status != Status::ok) return status;
    rows.scales[text] = rope.plan().softmax_scale;
    rows.factors[text] = rope.plan().attention_factor;
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(start(text)) * pairs;
    for (const Role role : {Role::query, Role::key}) {
      const int side = static_cast<int>(role);
      rope.write_rows(positions, {0, 0, length}, {role, false}, rows.cos[side].data() + first, rows.sin[side].data() + first);
    }
  }
  return Status::ok;
}

Status WholeTexts::rotate(int layer, Role role, const HeadTensor& heads) {
  const int rope = layers_[layer].rope;
  if (rope == kNoRope || mapped_rope(layer) != nullptr) return Status::ok;
  const FrequencyPlan& plan = ropes_[rope].plan();
  if (heads.shape.head_dim != plan.head_dim) return Status::head_dim_mismatch;
  const int side = static_cast<int>(role);
  return rotate_by_rows(*rotate_kernels_, plan.pairing, heads, {plan.rotary_offset, plan.rotary_dim},
                        {rope_rows_[rope].cos[side].data(), rope_rows_[rope].sin[side].data()});
}

Status WholeTexts::append(int layer, const NewTokens& tokens, bool keeps) {
  if (const Status status = rotate(layer, Role::query, tokens.queries); status != Status::ok) return status;
  if (const Status status = rotate(layer, Role::key, tokens.keys); status != Status::ok) return status;
  LayerRows& rows = layer_rows_[layer];
  const bool has_values = layers_[layer].has_values;
  rows.keys = static_cast<const float*>(tokens.keys.source);
  rows.values = has_values ? static_cast<const float*>(tokens.values.source) : rows.keys;
  if (!keeps) return Status::ok;
  const std::uint64_t floats = static_cast<std::uint64_t>(this->tokens()) * layers_[layer].kv_heads * layers_[layer].head_dim;
  if (!rows.kept_keys.resize(floats) || !rows.kept_values.resize(has_values ? floats : 0)) return Status::out_of_memory;
  rows.keys = std::copy_n(rows.keys, floats, rows.kept_keys.data()) - floats;
  rows.values = has_values ? std::copy_n(rows.values, floats, rows.kept_values.data()) - floats : rows.keys;
  return Status::ok;
}

Status WholeTexts::attend(int layer, const HeadTensor& queries, const AttentionOptions& options) {
  const KvLayer& shape = layers_[layer];
  const int heads = queries.shape.heads;
  const std::ptrdiff_t token_stride = static_cast<std::ptrdiff_t>(heads) * shape.head_dim;
  if (!requests_.resize(texts())) return Status::out_of_memory;
  for (int text = 0; text < texts(); ++text) {
    const int first = start(text), tokens = start(text + 1) - first;
    KeyValues kv;
    kv.heads = shape.kv_heads;
    kv.head_dim = shape.head_dim;
    kv.head_stride = static_cast<std::ptrdiff_t>(shape.head_dim * sizeof(float));
    kv.token_stride = kv.head_stride * shape.kv_heads;
    kv.tokens = kv.positions.tokens = tokens;
    kv.keys = reinterpret_cast<const char*>(layer_rows_[layer].keys) + first * kv.token_stride;
    kv.values = reinterpret_cast<const char*>(layer_rows_[layer].values) + first * kv.token_stride;
    const Queries rotated = {static_cast<const float*>(queries.source) + first * token_stride,
                             static_cast<float*>(queries.target) + first * token_stride,
                             token_stride,
                             shape.head_dim,
                             tokens,
                             heads};
    AttentionOptions own = options;
    if (std::isnan(options.scale))
      own.scale = shape.rope == kNoRope ? 1 / std::sqrt(static_cast<double>(shape.head_dim)) : rope_rows_[shape.rope].scales[text];
    if (options.has_normalized_keys && shape.rope != kNoRope) own.scale /= rope_rows_[shape.rope].factors[text];
    if (options.temperatures != nullptr) own.temperatures = options.temperatures + first;
    if (shape.rope != kNoRope) own.logn = ropes_[shape.rope].plan().logn;
    if (Rope* rope = mapped_rope(layer)) {
      own.position = {};
      own.position.scheme = PositionScheme::rope;
      own.position.rope = rope;
    }
    requests_[text] = {kv, rotated, kv.positions, own};
  }
  if (Rope* rope = mapped_rope(layer)) {  // one text after another, because each may have frequencies of its own
    for (int text = 0; text < texts(); ++text) {
      const AttentionRequest& request = requests_[text];
      if (const Status status = rope->use_length(request.kv.tokens); status != Status::ok) return status;
      if (const Status status = attention_.attend({&request, 1}); status != Status::ok) return status;
    }
    return Status::ok;
  }
  return attention_.attend({requests_.data(), requests_.size()});
}

}  // namespace ropewalk
