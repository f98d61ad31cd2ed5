// Embind bindings of the KV cache: a flat list of functions. Addresses are numbers, statuses are returned as int.
#include <new>

#include "bindings/attention_fields.h"
#include "cache/kv_image.h"

using namespace emscripten;
using namespace ropewalk;
using namespace ropewalk::bindings;

namespace {

KvCache& cache_at(Address cache) { return *at<KvCache>(cache); }

bool has_sequence(Address cache, int sequence) { return sequence >= 0 && sequence < cache_at(cache).sequences(); }

// Returns 0 if out of memory.
Address create() { return reinterpret_cast<Address>(new (std::nothrow) KvCache); }
void destroy(Address cache) { delete at<KvCache>(cache); }

// layers: [layer_count] of KvLayer, 4 i32 each: kv_heads, head_dim, rope index, and whether it has values. ropes: [rope_count] addresses of
// configured ropes, whose configs are copied.
StatusCode configure(Address cache, Address layers, int layer_count, Address ropes, int rope_count, int type, int mode, int sequences,
                     int max_tokens, bool scalar) {
  Buffer<RopeConfig> configs;
  if (!configs.resize(rope_count)) return static_cast<int>(Status::out_of_memory);
  for (int i = 0; i < rope_count; ++i) configs[i] = at<Rope>(at<Address>(ropes)[i])->config();
  KvCacheConfig config;
  config.layers = {at<KvLayer>(layers), static_cast<std::size_t>(layer_count)};
  config.ropes = {configs.data(), configs.size()};
  config.type = static_cast<RowType>(type);
  config.mode = static_cast<KeyMode>(mode);
  config.sequences = sequences;
  config.max_tokens = max_tokens;
  if (scalar) cache_at(cache).use_kernels(kScalarAttentionKernels, kScalarRotateKernels);
  return static_cast<int>(cache_at(cache).configure(config));
}

StatusCode estimate(Address layers, int layer_count, int type, int axes, double tokens, Address result) {
  KvGeometry geometry;
  const Status status = geometry.prepare({at<KvLayer>(layers), static_cast<std::size_t>(layer_count)}, static_cast<RowType>(type), axes);
  if (status == Status::ok) *at<double>(result) = geometry.bytes(tokens);
  return static_cast<int>(status);
}

double bytes(Address cache) { return cache_at(cache).bytes(); }
int axes(Address cache) { return cache_at(cache).geometry().axes(); }
int tokens(Address cache, int sequence) { return has_sequence(cache, sequence) ? cache_at(cache).sequence(sequence).tokens() : -1; }
int written(Address cache, int layer, int sequence) { return cache_at(cache).sequence(sequence).written(layer); }

StatusCode append(Address cache, int layer, int sequence, const TensorFields& keys, Address values, const TensorFields& queries,
                  bool has_positions, const PositionFields& positions) {
  HeadTensor value_tensor = tensor_of(keys);
  value_tensor.source = at<void>(values);
  const NewTokens given = {tensor_of(keys), value_tensor, tensor_of(queries), has_positions, positions_of(positions)};
  return static_cast<int>(cache_at(cache).append(layer, sequence, given));
}

StatusCode attend(Address cache, int layer, int sequence, const TensorFields& queries, const AttentionFields& options) {
  return static_cast<int>(cache_at(cache).attend(layer, sequence, tensor_of(queries), options_of(options)));
}

int default_scale(Address cache, int layer, int sequence, Address result) {
  return static_cast<int>(cache_at(cache).default_scale(layer, sequence, *at<double>(result)));
}

StatusCode truncate(Address cache, int sequence, int count) { return static_cast<int>(cache_at(cache).truncate(sequence, count)); }
StatusCode shift(Address cache, int sequence, int keep, int discard, bool check_only) {
  KvCache& target = cache_at(cache);
  return static_cast<int>(check_only ? target.can_shift(sequence, keep, discard) : target.shift(sequence, keep, discard));
}
StatusCode copy_prefix(Address source, int from, Address cache, int to, int count) {
  return static_cast<int>(cache_at(cache).copy_prefix(cache_at(source), from, to, count));
}

// ropes: [rope_count] i32 indices of the cache's ropes that get the config of `rope`, a configured rope; both 0 if ropes stay.
StatusCode retune(Address cache, Address ropes, int rope_count, Address rope, int sequence, bool has_positions,
                  const PositionFields& fields, bool check_only) {
  const Positions positions = positions_of(fields);
  KvRetune change;
  change.ropes = {at<int>(ropes), static_cast<std::size_t>(rope_count)};
  if (rope_count > 0) change.config = &at<Rope>(rope)->config();
  change.sequence = sequence;
  if (has_positions) change.positions = &positions;
  KvCache& target = cache_at(cache);
  return static_cast<int>(check_only ? target.can_retune(change) : target.retune(change));
}

StatusCode read(Address cache, int layer, int sequence, int first, int count, Address keys, Address values) {
  return static_cast<int>(cache_at(cache).read(layer, sequence, first, count, at<float>(keys), at<float>(values)));
}

void positions(Address cache, int sequence, Address result) {
  const KvSequence& cached = cache_at(cache).sequence(sequence);
  for (int axis = 0; axis < axes(cache); ++axis) {
    for (int slot = 0; slot < cached.tokens(); ++slot) at<double>(result)[axis * cached.tokens() + slot] = cached.position(axis, slot);
  }
}

Address writer_create() { return reinterpret_cast<Address>(new (std::nothrow) KvImageWriter); }
void writer_destroy(Address writer) { delete at<KvImageWriter>(writer); }
StatusCode writer_open(Address writer, Address cache, int sequence) {
  return static_cast<int>(at<KvImageWriter>(writer)->open(cache_at(cache), sequence));
}
double writer_bytes(Address writer) { return at<KvImageWriter>(writer)->bytes(); }
void writer_read(Address writer, Address target, int size) { at<KvImageWriter>(writer)->read(at<void>(target), size); }

Address reader_create() { return reinterpret_cast<Address>(new (std::nothrow) KvImageReader); }
void reader_destroy(Address reader) { delete at<KvImageReader>(reader); }
StatusCode reader_open(Address reader, Address cache, int sequence, double size) {
  return static_cast<int>(at<KvImageReader>(reader)->open(cache_at(cache), sequence, size));
}
StatusCode reader_write(Address reader, Address source, int size) {
  return static_cast<int>(at<KvImageReader>(reader)->write(at<void>(source), size));
}
StatusCode reader_finish(Address reader) { return static_cast<int>(at<KvImageReader>(reader)->finish()); }

}  // namespace

EMSCRIPTEN_BINDINGS(ropewalk_kv_cache) {
  function("kv_create", &create);
  function("kv_destroy", &destroy);
  function("kv_configure", &configure);
  function("kv_estimate", &estimate);
  function("kv_bytes", &bytes);
  function("kv_axes", &axes);
  function("kv_tokens", &tokens);
  function("kv_written", &written);
  function("kv_append", &append);
  function("kv_attend", &attend);
  function("kv_default_scale", &default_scale);
  function("kv_truncate", &truncate);
  function("kv_shift", &shift);
  function("kv_copy_prefix", &copy_prefix);
  function("kv_retune", &retune);
  function("kv_read", &read);
  function("kv_positions", &positions);
  function("kv_writer_create", &writer_create);
  function("kv_writer_destroy", &writer_destroy);
  function("kv_writer_open", &writer_open);
  function("kv_writer_bytes", &writer_bytes);
  function("kv_writer_read", &writer_read);
  function("kv_reader_create", &reader_create);
  function("kv_reader_destroy", &reader_destroy);
  function("kv_reader_open", &reader_open);
  function("kv_reader_write", &reader_write);
  function("kv_reader_finish", &reader_finish);
}
