// From a config to rotated heads: Qwen2.5 extended with YaRN from 32768 to 131072 positions.
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include <ropewalk/rope/rope.h>

namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

int fail(ropewalk::Status status) {
  const ropewalk::StatusText text = ropewalk::describe_status(status);
  std::fprintf(stderr, "%s: %s\n", text.field, text.requirement);
  return 1;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

}  // namespace

int main() {
  // the keys are those of config.json; only the pairing isn't in that file
  ropewalk::RopeConfig config;
  config.head_dim = 128;
  config.rope_theta = 1e6;
  config.pairing = ropewalk::Pairing::half;
  config.rope_type = ropewalk::RopeType::yarn;
  config.factor = 4;
  config.original_max_position_embeddings = 32768;

  ropewalk::Rope rope;
  if (const ropewalk::Status status = rope.configure(config); status != ropewalk::Status::ok) return fail(status);

  // the plan has everything that the scaling type determines
  const ropewalk::FrequencyPlan& plan = rope.plan();
  std::printf("attention factor %.10f, ramp from pair %g to %g\n\n", plan.attention_factor, plan.ramp_low, plan.ramp_high);
  std::printf("pair   wavelength without scaling with YaRN\n");
  for (const int j : {0, 16, 23, 31, 40, 63}) {
    std::printf("%4d %28.1f %9.1f\n", j, kTwoPi / plan.unscaled_inv_freq[j], kTwoPi / plan.inv_freq[j]);
  }

  // a score depends only on the distance between query and key
  std::printf("\nquery at   key at   score\n");
  for (const double key_position : {0.0, 1000.0, 131000.0}) {
    std::vector<float> query(128), key(128);
    for (int i = 0; i < 128; ++i) query[i] = std::sin(0.7f * i), key[i] = std::cos(0.3f * i);

    const auto rotate = [&](std::vector<float>& head, double position, ropewalk::Role role) {
      const ropewalk::HeadTensor tensor = {head.data(), head.data(), ropewalk::DType::f32, ropewalk::Layout::thd, {1, 1, 1, 128}};
      const ropewalk::Positions positions = {.offset = position, .tokens = 1};
      return rope.rotate(tensor, positions, 0, {role, false});
    };
    if (const ropewalk::Status status = rotate(query, key_position + 50, ropewalk::Role::query); status != ropewalk::Status::ok) {
      return fail(status);
    }
    if (const ropewalk::Status status = rotate(key, key_position, ropewalk::Role::key); status != ropewalk::Status::ok) return fail(status);
    std::printf("%8g %8g %9.5f\n", key_position + 50, key_position, dot(query, key));
  }
  return 0;
}
