// Sinusoidal tables, ALiBi slopes, T5 buckets: pages/cases/position_tables.mjs.
#include "attention/position_scheme.h"
#include "inputs.h"
#include "stages.h"

using namespace ropewalk;

void sinusoidal_case(Arguments& arguments) {
  const int dim = arguments.integer("dim");
  const double base = arguments.number("base", 10000);
  const Placed placed = place(arguments.number("first"), arguments.number("step"), arguments.integer("tokens"));
  std::vector<float> row(dim);
  for (int token = 0; token < placed.positions.tokens; ++token) {
    require_ok(sinusoidal_row(placed.positions.at(0, 0, token), base, dim, row.data()));
    print(row);
  }
}

void alibi_slopes_case(Arguments& arguments) {
  std::vector<float> slopes(arguments.integer("heads"));
  alibi_slopes(static_cast<int>(slopes.size()), slopes.data());
  print(slopes);
}

void t5_buckets_case(Arguments& arguments) {
  const T5Buckets rule = {arguments.integer("buckets"), arguments.integer("max_distance"), arguments.flag("bidirectional", false)};
  require_ok(check_t5(rule));
  const Placed placed = place(arguments.number("first"), arguments.number("step"), arguments.integer("tokens"));
  std::vector<std::int32_t> buckets;
  for (int token = 0; token < placed.positions.tokens; ++token) buckets.push_back(t5_bucket(rule, placed.positions.at(0, 0, token)));
  print(buckets);
}
