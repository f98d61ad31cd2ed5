#include "inputs.h"

#include <cstring>
#include <limits>

using namespace ropewalk;

namespace {

template <class Bits>
Bytes elements_of(std::size_t count, std::uint32_t seed, int shift, std::uint32_t keep, std::uint32_t set, std::uint32_t below2) {
  Bytes bytes(count * sizeof(Bits));
  Bits* bits = reinterpret_cast<Bits*>(bytes.data());
  std::uint32_t state = seed;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const std::uint32_t drawn = state >> shift;
    bits[i] = static_cast<Bits>(i % 16 == 0 ? drawn & below2 : (drawn & keep) | set);
  }
  return bytes;
}

}  // namespace

Bytes elements(DType dtype, std::size_t count, std::uint32_t seed) {
  switch (dtype) {
    case DType::f32: return elements_of<std::uint32_t>(count, seed, 0, 0x83FFFFFF, 0x3C000000, 0xBFFFFFFF);
    case DType::f16: return elements_of<std::uint16_t>(count, seed, 16, 0x8FFF, 0x3000, 0xBFFF);
    case DType::bf16: return elements_of<std::uint16_t>(count, seed, 16, 0x83FF, 0x3C00, 0xBFFF);
  }
  fail("no such element type");
}

std::vector<float> floats(std::size_t count, std::uint32_t seed) {
  const Bytes bytes = elements(DType::f32, count, seed);
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::size_t size_of(const Shape& shape) { return static_cast<std::size_t>(element_count(shape)); }

DType dtype_of(Arguments& arguments, const std::string& key) { return arguments.name<DType>(key, {"f32", "f16", "bf16"}); }

Layout layout_of(Arguments& arguments) { return arguments.name<Layout>("layout", {"bthd", "bhtd", "thd"}); }

RopeConfig config_of(Arguments& arguments, const std::string& prefix) {
  RopeConfig config;
  config.head_dim = arguments.integer("head_dim");
  config.pairing = arguments.name<Pairing>("pairing", {"half", "interleaved", "interleaved_to_half"});
  config.rotary_dim = arguments.integer("rotary_dim", 0);
  config.rotary_offset = arguments.integer("rotary_offset", 0);
  if (arguments.has("precision")) config.precision = arguments.name<Precision>("precision", {"exact", "hf"});
  if (arguments.has("mrope_section")) config.mrope_section = arguments.numbers("mrope_section");

  config.rope_theta = arguments.number(prefix + "rope_theta");
  if (arguments.has(prefix + "rope_type")) {
    config.rope_type = arguments.name<RopeType>(prefix + "rope_type", {"default", "linear", "dynamic", "yarn", "longrope", "llama3"});
  }
  const auto optional = [&](const char* key, std::optional<double>& field) {
    if (arguments.has(prefix + key)) field = arguments.number(prefix + key);
  };
  optional("factor", config.factor);
  optional("max_position_embeddings", config.max_position_embeddings);
  optional("original_max_position_embeddings", config.original_max_position_embeddings);
  optional("low_freq_factor", config.low_freq_factor);
  optional("high_freq_factor", config.high_freq_factor);
  optional("xpos_scale_base", config.xpos_scale_base);
  return config;
}

Placed place(double first, double step, int tokens, int axes, int rows) {
  Placed placed;
  placed.positions.tokens = tokens;
  placed.positions.offset = first;
  if (step == 1 && axes == 1 && rows == 1) return placed;
  for (int plane = 0; plane < axes * rows; ++plane) {
    for (int token = 0; token < tokens; ++token) placed.ids.push_back(first + 3 * plane + token * step);
  }
  placed.positions = {0, placed.ids.data(), axes, rows, tokens};
  return placed;
}

Scores scores_of(Arguments& arguments, int tokens) {
  const int heads = arguments.integer("heads"), head_dim = arguments.integer("head_dim");
  Scores scores;
  AttentionOptions& options = scores.options;
  options.scale = arguments.number("scale", std::numeric_limits<double>::quiet_NaN());
  options.causal = arguments.flag("causal", true);
  options.window = arguments.integer("window", kNoWindow);
  options.sink_tokens = arguments.integer("sink_tokens", 0);
  options.soft_cap = arguments.number("soft_cap", 0);
  if (arguments.flag("sinks", false)) scores.sinks = floats(heads, 4);
  if (arguments.flag("temperature", false)) scores.temperatures = floats(tokens, 5);
  options.sinks = scores.sinks.empty() ? nullptr : scores.sinks.data();
  options.temperatures = scores.temperatures.empty() ? nullptr : scores.temperatures.data();

  PositionEncoding& position = options.position;
  position.scheme = arguments.name<PositionScheme>("position", {"none", "rope", "sinusoidal", "learned", "alibi", "t5"});
  position.base = arguments.number("base", 10000);
  if (arguments.flag("slopes", false)) scores.slopes = floats(heads, 6);
  position.slopes = scores.slopes.empty() ? nullptr : scores.slopes.data();
  if (position.scheme == PositionScheme::learned) {
    position.table_rows = arguments.integer("table_rows");
    scores.table = floats(static_cast<std::size_t>(position.table_rows) * head_dim, 7);
  }
  if (position.scheme == PositionScheme::t5) {
    position.t5 = {arguments.integer("buckets"), arguments.integer("max_distance"), arguments.flag("bidirectional", false)};
    scores.table = floats(static_cast<std::size_t>(position.t5.buckets) * heads, 7);
  }
  position.table = scores.table.empty() ? nullptr : scores.table.data();
  return scores;
}

void print(const void* data, std::size_t bytes) {
  if (std::fwrite(data, 1, bytes, stdout) != bytes) fail("the output could not be written");
}
