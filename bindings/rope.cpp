// Embind declarations for rope: fields and functions, without logic. Addresses are numbers, so tensors are not copied.
#include <emscripten.h>

#include <new>

#include "bindings/embind.h"
#include "rope/decay.h"
#include "rope/pair_analysis.h"
#include "rope/pairing.h"
#include "rope/walk.h"

using namespace emscripten;
using namespace ropewalk;
using namespace ropewalk::bindings;

// libc++ prints a message when one of its own checks fails. That would link 9 KB of printf, and nobody would see the message.
void std::__libcpp_verbose_abort(const char*, ...) noexcept { __builtin_trap(); }

namespace {

// A list of a config is the address and the number of its values.
using List = std::span<const double>;
Address list_values(const List& list) { return reinterpret_cast<Address>(list.data()); }
void set_list_values(List& list, Address values) { list = List(at<double>(values), list.size()); }
int list_size(const List& list) { return static_cast<int>(list.size()); }
void set_list_size(List& list, int size) { list = List(list.data(), static_cast<std::size_t>(size)); }

// Returns 0 if memory runs out.
Address create() { return reinterpret_cast<Address>(new (std::nothrow) Rope); }

void destroy(Address rope) { delete at<Rope>(rope); }

StatusCode configure(Address rope, const RopeConfig& config) { return static_cast<int>(at<Rope>(rope)->configure(config)); }

void use_scalar_kernels(Address rope) { at<Rope>(rope)->use_kernels(kScalarRotateKernels); }

StatusCode use_length(Address rope, double sequence_length) { return static_cast<int>(at<Rope>(rope)->use_length(sequence_length)); }

PlanFields plan(Address rope) {
  const FrequencyPlan& p = at<Rope>(rope)->plan();
  return {reinterpret_cast<Address>(p.inv_freq.data()),
          reinterpret_cast<Address>(p.axis_of_pair.data()),
          p.xpos_scale.empty() ? 0 : reinterpret_cast<Address>(p.xpos_scale.data()),
          static_cast<int>(p.inv_freq.size()),
          p.axes,
          p.attention_factor,
          p.softmax_scale,
          p.valid_from,
          p.valid_to,
          p.ramp_low,
          p.ramp_high,
          p.max_length,
          p.table_length,
          p.query_temperature.scale,
          p.query_temperature.floor_scale,
          p.query_temperature.offset,
          p.xpos_scale_base,
          p.xpos_center};
}

StatusCode rotate_tensor(Address rope, Address source, Address target, int dtype, int layout, int batches, int tokens, int heads,
                         int head_dim, Address strides, double offset, Address ids, int axes, int rows, double sequence_length, int role,
                         bool inverse) {
  const HeadTensor tensor = {
      at<void>(source),        at<void>(target), static_cast<DType>(dtype), static_cast<Layout>(layout), {batches, tokens, heads, head_dim},
      at<HeadStrides>(strides)};
  const Positions positions = {offset, at<double>(ids), axes, rows, tokens};
  return static_cast<int>(at<Rope>(rope)->rotate(tensor, positions, sequence_length, {static_cast<Role>(role), inverse}));
}

StatusCode rotate_tensor_by_rows(Address source, Address target, int dtype, int layout, int batches, int tokens, int heads, int head_dim,
                                 Address strides, int pairing, int rotary_offset, int rotary_dim, Address cos, Address sin, bool per_batch,
                                 bool scalar) {
  const HeadTensor tensor = {
      at<void>(source),        at<void>(target), static_cast<DType>(dtype), static_cast<Layout>(layout), {batches, tokens, heads, head_dim},
      at<HeadStrides>(strides)};
  return static_cast<int>(rotate_by_rows(scalar ? kScalarRotateKernels : fastest_rotate_kernels(), static_cast<Pairing>(pairing), tensor,
                                         {rotary_offset, rotary_dim}, {at<float>(cos), at<float>(sin), per_batch}));
}

StatusCode read_rope_table(Address table, int dtype, int layout, int rows, int pairs, Address target) {
  return static_cast<int>(
      read_table(at<void>(table), static_cast<DType>(dtype), static_cast<TableLayout>(layout), rows, pairs, at<float>(target)));
}

StatusCode rerotate_keys(const TensorFields& keys, Address from, const PositionFields& from_positions, Address to,
                         const PositionFields& to_positions) {
  const Positions old_positions = positions_of(from_positions), new_positions = positions_of(to_positions);
  return static_cast<int>(ropewalk::rerotate(fastest_rotate_kernels(), tensor_of(keys),
                                             {*at<Rope>(from), old_positions, from_positions.sequence_length},
                                             {*at<Rope>(to), new_positions, to_positions.sequence_length}));
}

StatusCode use_positions(Address rope, const PositionFields& p) {
  return static_cast<int>(at<Rope>(rope)->use_positions(positions_of(p), p.sequence_length));
}

StatusCode write_rope_table(Address rope, const PositionFields& p, int role, bool inverse, int dtype, int layout, Address cos,
                            Address sin) {
  const Purpose purpose = {static_cast<Role>(role), inverse};
  return static_cast<int>(at<Rope>(rope)->write_table(positions_of(p), p.sequence_length, purpose, static_cast<DType>(dtype),
                                                      static_cast<TableLayout>(layout), at<void>(cos), at<void>(sin)));
}

void query_temperatures(Address rope, Address positions, int count, Address factors) {
  for (int i = 0; i < count; ++i) at<double>(factors)[i] = query_temperature(at<Rope>(rope)->plan(), at<double>(positions)[i]);
}

// Writes wavelength, rotations and kept share of each pair, [pairs] each.
StatusCode analyze(Address rope, double window, double factor, Address wavelength, Address rotations, Address kept_share) {
  PairAnalysis analysis;
  const Status status = analyze_pairs(at<Rope>(rope)->plan(), window, factor, analysis);
  for (std::size_t j = 0; j < analysis.wavelength.size(); ++j) {
    at<double>(wavelength)[j] = analysis.wavelength[j];
    at<double>(rotations)[j] = analysis.rotations[j];
    at<double>(kept_share)[j] = analysis.kept_share[j];
  }
  return static_cast<int>(status);
}

StatusCode decay(Address rope, int curve, double first, double step, int count, int draws, double seed, Address values) {
  return static_cast<int>(decay_curve(at<Rope>(rope)->plan(),
                                      {static_cast<DecayCurve>(curve), first, step, count, draws, static_cast<std::uint32_t>(seed)},
                                      at<double>(values)));
}

StatusCode first_negative(Address rope, double limit, Address distance) {
  return static_cast<int>(first_negative_distance(at<Rope>(rope)->plan(), limit, *at<double>(distance)));
}

StatusCode find_smallest_base(int rotary_dim, double window, Address base) {
  return static_cast<int>(smallest_base(rotary_dim, window, *at<double>(base)));
}

IntervalFields over_extrapolated(int rotary_dim, double base, double window, double factor) {
  const PairInterval pairs = over_extrapolated_pairs(rotary_dim, base, window, factor);
  return {pairs.first, pairs.last};
}

// Addresses of the texts of a status, which end in a zero.
Address status_code(int status) { return reinterpret_cast<Address>(describe_status(static_cast<Status>(status)).code); }
Address status_field(int status) { return reinterpret_cast<Address>(describe_status(static_cast<Status>(status)).field); }
Address status_requirement(int status) { return reinterpret_cast<Address>(describe_status(static_cast<Status>(status)).requirement); }

StatusCode convert(Address source, Address target, int element_size, int heads, int head_dim, int columns, int rotary_offset,
                   int rotary_dim, int from, int to) {
  return static_cast<int>(convert_pairing(at<void>(source), at<void>(target), element_size,
                                          {heads, head_dim, columns, rotary_offset, rotary_dim}, static_cast<Pairing>(from),
                                          static_cast<Pairing>(to)));
}

}  // namespace

EMSCRIPTEN_BINDINGS(ropewalk_rope) {
  WalkChoice::clock = emscripten_get_now;

  register_optional<double>();

  value_object<List>("List").field("values", &list_values, &set_list_values).field("size", &list_size, &set_list_size);
#include "bindings/fields.h"
#include "rope/config_fields.def"

#include "bindings/fields.h"

#include "bindings/call_fields.def"

  function("rope_create", &create);
  function("rope_destroy", &destroy);
  function("rope_configure", &configure);
  function("rope_use_scalar_kernels", &use_scalar_kernels);
  function("rope_use_length", &use_length);
  function("rope_plan", &plan);
  function("rope_rotate", &rotate_tensor);
  function("rope_use_positions", &use_positions);
  function("rotate_by_rows", &rotate_tensor_by_rows);
  function("read_table", &read_rope_table);
  function("rope_write_table", &write_rope_table);
  function("rope_query_temperatures", &query_temperatures);
  function("rope_analyze", &analyze);
  function("rope_decay", &decay);
  function("rope_first_negative", &first_negative);
  function("rope_rerotate", &rerotate_keys);
  function("smallest_base", &find_smallest_base);
  function("over_extrapolated_pairs", &over_extrapolated);
  function("convert_pairing", &convert);
  function("status_code", &status_code);
  function("status_field", &status_field);
  function("status_requirement", &status_requirement);
}
