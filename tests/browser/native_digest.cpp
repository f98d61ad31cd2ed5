// Computes one case of pages/digest.mjs with the native library, and prints the bytes:
//
//   native_digest what=rotate pairing=half dtype=f32 layout=bthd batches=1 tokens=7 heads=2 head_dim=64 first=0 step=1 … > bytes
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "rope/rope.h"

using namespace ropewalk;

namespace {

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "native_digest: %s\n", message.c_str());
  std::exit(1);
}

void require_ok(Status status) {
  if (status != Status::ok) fail(std::string(describe_status(status).field) + " " + describe_status(status).advice);
}

// The arguments; each must be asked for, so that a key this program does not know is an error.
class Arguments {
 public:
  Arguments(int count, char** words) {
    for (int i = 1; i < count; ++i) {
      const std::string word = words[i];
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) fail(word + " is not key=value");
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  bool has(const std::string& key) const { return values_.count(key) != 0; }

  std::string take(const std::string& key) {
    if (!has(key)) fail(key + " is needed");
    const std::string value = values_[key];
    values_.erase(key);
    return value;
  }

  double number(const std::string& key) { return std::strtod(take(key).c_str(), nullptr); }
  int integer(const std::string& key) { return static_cast<int>(number(key)); }

  // The index of the value in a list, in the order of an enum.
  template <class Enum>
  Enum name(const std::string& key, const std::vector<std::string>& names) {
    const std::string value = take(key);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == value) return static_cast<Enum>(i);
    }
    fail(key + "=" + value + " is not known");
  }

  void require_all_taken() const {
    if (!values_.empty()) fail(values_.begin()->first + " is not known");
  }

 private:
  std::map<std::string, std::string> values_;
};

RopeConfig config_of(Arguments& arguments) {
  RopeConfig config;
  config.head_dim = arguments.integer("head_dim");
  config.pairing = arguments.name<Pairing>("pairing", {"half", "interleaved", "interleaved_to_half"});
  config.rope_theta = arguments.number("rope_theta");
  if (arguments.has("rotary_dim")) config.rotary_dim = arguments.integer("rotary_dim");
  if (arguments.has("rotary_offset")) config.rotary_offset = arguments.integer("rotary_offset");
  if (arguments.has("precision")) config.precision = arguments.name<Precision>("precision", {"exact", "hf"});
  if (arguments.has("rope_type")) {
    config.rope_type = arguments.name<RopeType>("rope_type", {"default", "linear", "dynamic", "yarn", "longrope", "llama3"});
  }
  const auto optional = [&](const char* key, std::optional<double>& field) {
    if (arguments.has(key)) field = arguments.number(key);
  };
  optional("factor", config.factor);
  optional("max_position_embeddings", config.max_position_embeddings);
  optional("original_max_position_embeddings", config.original_max_position_embeddings);
  optional("low_freq_factor", config.low_freq_factor);
  optional("high_freq_factor", config.high_freq_factor);
  return config;
}

// As `elements` in pages/digest.mjs.
template <class Bits>
std::vector<std::uint8_t> elements(std::size_t count, int shift, std::uint32_t keep, std::uint32_t set, std::uint32_t below2) {
  std::vector<std::uint8_t> bytes(count * sizeof(Bits));
  Bits* bits = reinterpret_cast<Bits*>(bytes.data());
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const std::uint32_t drawn = state >> shift;
    bits[i] = static_cast<Bits>(i % 16 == 0 ? drawn & below2 : (drawn & keep) | set);
  }
  return bytes;
}

std::vector<std::uint8_t> elements(DType dtype, std::size_t count) {
  switch (dtype) {
    case DType::f32: return elements<std::uint32_t>(count, 0, 0x83FFFFFF, 0x3C000000, 0xBFFFFFFF);
    case DType::f16: return elements<std::uint16_t>(count, 16, 0x8FFF, 0x3000, 0xBFFF);
    case DType::bf16: return elements<std::uint16_t>(count, 16, 0x83FF, 0x3C00, 0xBFFF);
  }
  fail("no such element type");
}

void print(const std::vector<std::uint8_t>& bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) fail("the output could not be written");
}

void rotate(Rope& rope, Arguments& arguments, const Positions& positions, Purpose purpose, DType dtype) {
  const Layout layout = arguments.name<Layout>("layout", {"bthd", "bhtd", "thd"});
  const Shape shape = {arguments.integer("batches"), positions.tokens, arguments.integer("heads"), rope.config().head_dim};
  arguments.require_all_taken();
  std::vector<std::uint8_t> bytes = elements(dtype, static_cast<std::size_t>(element_count(shape)));
  require_ok(rope.rotate({bytes.data(), bytes.data(), dtype, layout, shape}, positions, 0, purpose));
  print(bytes);
}

void write_table(Rope& rope, Arguments& arguments, const Positions& positions, Purpose purpose, DType dtype) {
  const TableLayout layout = arguments.name<TableLayout>("layout", {"compact", "half", "interleaved"});
  arguments.require_all_taken();
  const int rotary_dim = resolved_rotary_dim(rope.config());
  const std::size_t columns = layout == TableLayout::compact ? rotary_dim / 2 : rotary_dim;
  std::vector<std::uint8_t> cos(positions.tokens * columns * size_of(dtype)), sin(cos.size());
  require_ok(rope.write_table(positions, 0, purpose, dtype, layout, cos.data(), sin.data()));
  print(cos);
  print(sin);
}

}  // namespace

int main(int count, char** words) {
  Arguments arguments(count, words);
  const std::string what = arguments.take("what");

  Rope rope;
  require_ok(rope.configure(config_of(arguments)));

  Positions positions;
  positions.tokens = arguments.integer("tokens");
  positions.offset = arguments.number("first");
  const double step = arguments.number("step");
  std::vector<double> ids;
  if (step != 1) {
    for (int t = 0; t < positions.tokens; ++t) ids.push_back(positions.offset + t * step);
    positions.offset = 0;
    positions.ids = ids.data();
  }

  const DType dtype = arguments.name<DType>("dtype", {"f32", "f16", "bf16"});
  const Purpose purpose = {Role::query, arguments.take("inverse") == "true"};
  if (what == "rotate") {
    rotate(rope, arguments, positions, purpose, dtype);
  } else if (what == "table") {
    write_table(rope, arguments, positions, purpose, dtype);
  } else {
    fail(what + " is neither rotate nor table");
  }
}
