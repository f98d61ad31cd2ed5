// Configs, plans, rotations and tables: a config is refused, or every number that follows from it is finite.
#include "fuzz_input.h"
#include "rope/pair_analysis.h"
#include "rope/rope.h"

using namespace ropewalk;

namespace {

bool are_finite(const Buffer<double>& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers[i])) return false;
  }
  return true;
}

void check_plan(const FrequencyPlan& plan, double length) {
  EXPECT_HOLDS(are_finite(plan.inv_freq) && are_finite(plan.unscaled_inv_freq) && are_finite(plan.xpos_scale));
  EXPECT_HOLDS(static_cast<int>(plan.inv_freq.size()) == plan.rotary_dim / 2);
  EXPECT_HOLDS(std::isfinite(plan.attention_factor) && plan.attention_factor > 0);
  EXPECT_HOLDS(std::isfinite(plan.softmax_scale) && plan.softmax_scale > 0);
  EXPECT_HOLDS(plan.valid_from <= length && length <= plan.valid_to);
  EXPECT_HOLDS(plan.axes >= 1 && plan.axes <= kMaxAxes);
  for (std::size_t j = 0; j < plan.axis_of_pair.size(); ++j) EXPECT_HOLDS(plan.axis_of_pair[j] < plan.axes);
}

void check_rotation(Rope& rope, FuzzInput& input) {
  const Shape shape = {input.between(1, 2), input.between(1, 5), input.between(1, 3), rope.config().head_dim};
  const int axes = input.between(1, kMaxAxes), rows = input.flag() ? shape.batches : 1;
  std::vector<double> ids(static_cast<std::size_t>(axes) * rows * shape.tokens);
  for (double& id : ids) id = input.one_in(4) ? input.number() : input.between(-1000, 1 << 20);
  Positions positions = {0, ids.data(), axes, rows, shape.tokens};
  if (input.flag()) positions = {input.number(), nullptr, 1, 1, shape.tokens};
  const auto dtype = input.any_of(DType::bf16);
  const auto layout = static_cast<Layout>(input.between(0, 2));
  const Purpose purpose = {static_cast<Role>(input.between(0, 1)), input.flag()};
  std::vector<float> x(static_cast<std::size_t>(shape.batches) * shape.tokens * shape.heads * shape.head_dim, 1.0f);
  const double length = input.one_in(4) ? input.number() : 0;
  const Status status = rope.rotate({x.data(), x.data(), dtype, layout, shape}, positions, length, purpose);
  if (status != Status::ok) {
    for (const float value : x) EXPECT_HOLDS(value == 1);
    return;
  }
  // Scales of xPos grow with the distance of a position and may leave the range of the element type; f16 ends at 65504.
  const bool is_bounded = dtype == DType::f32 && rope.plan().xpos_scale.empty();
  for (const float value : x) EXPECT_HOLDS(!is_bounded || std::isfinite(value));

  std::vector<float> cos(static_cast<std::size_t>(rows) * shape.tokens * rope.plan().rotary_dim), sin(cos.size());
  if (rope.write_table(positions, length, purpose, DType::f32, input.any_of(TableLayout::interleaved), cos.data(), sin.data()) !=
      Status::ok)
    return;
  for (std::size_t i = 0; is_bounded && i < cos.size(); ++i) EXPECT_HOLDS(std::isfinite(cos[i]) && std::isfinite(sin[i]));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  const FuzzedConfig given(input), other(input);
  Rope rope;
  const Status validity = validate(given.config), status = rope.configure(given.config);
  EXPECT_HOLDS(status == validity);
  if (status != Status::ok) return 0;
  for (int i = 0; i < 3; ++i) {
    const double length = input.one_in(4) ? input.number() : std::ceil(input.magnitude(0, 31));
    FrequencyPlan plan;
    if (make_plan(given.config, length, plan) != Status::ok) continue;
    check_plan(plan, length);
    EXPECT_HOLDS(std::isfinite(query_temperature(plan, input.between(-1000, 1 << 30))));
    PairAnalysis analysis;
    EXPECT_HOLDS(analyze_pairs(plan, std::max(1.0, length / 2), input.magnitude(0, 8), analysis) == Status::ok);
  }
  check_rotation(rope, input);

  Rope second;
  if (second.configure(other.config) != Status::ok) return 0;
  std::vector<float> key(static_cast<std::size_t>(rope.config().head_dim), 1.0f);
  const Positions from = {input.number(), nullptr, 1, 1, 1}, to = {input.number(), nullptr, 1, 1, 1};
  const HeadTensor tensor = {key.data(), key.data(), DType::f32, Layout::thd, {1, 1, 1, rope.config().head_dim}};
  if (rerotate(fastest_rotate_kernels(), tensor, {rope, from}, {second, to}) != Status::ok) EXPECT_HOLDS(key[0] == 1);
  return 0;
}
