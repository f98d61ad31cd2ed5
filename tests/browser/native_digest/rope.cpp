// Rotations and tables: pages/cases/rope.mjs.
#include "rope/rope.h"

#include "inputs.h"
#include "stages.h"

using namespace ropewalk;

namespace {

void configure(Rope& rope, Arguments& arguments) { require_ok(rope.configure(config_of(arguments))); }

Placed placed_of(Arguments& arguments) { return place(arguments.number("first"), arguments.number("step"), arguments.integer("tokens")); }

}  // namespace

void rotate_case(Arguments& arguments) {
  Rope rope;
  configure(rope, arguments);
  const Placed placed = placed_of(arguments);
  const DType dtype = dtype_of(arguments, "dtype");
  const Shape shape = {arguments.integer("batches"), placed.positions.tokens, arguments.integer("heads"), rope.config().head_dim};
  Bytes x = elements(dtype, size_of(shape), 1);
  const Purpose purpose = {Role::query, arguments.flag("inverse", false)};
  require_ok(rope.rotate({x.data(), x.data(), dtype, layout_of(arguments), shape}, placed.positions, 0, purpose));
  print(x);
}

void table_case(Arguments& arguments) {
  Rope rope;
  configure(rope, arguments);
  const Placed placed = placed_of(arguments);
  const DType dtype = dtype_of(arguments, "dtype");
  const TableLayout layout = arguments.name<TableLayout>("layout", {"compact", "half", "interleaved"});
  const int rotary_dim = resolved_rotary_dim(rope.config());
  const std::size_t columns = layout == TableLayout::compact ? rotary_dim / 2 : rotary_dim;
  Bytes cos(placed.positions.tokens * columns * ropewalk::size_of(dtype)), sin(cos.size());
  const Purpose purpose = {Role::query, arguments.flag("inverse", false)};
  require_ok(rope.write_table(placed.positions, 0, purpose, dtype, layout, cos.data(), sin.data()));
  print(cos);
  print(sin);
}
