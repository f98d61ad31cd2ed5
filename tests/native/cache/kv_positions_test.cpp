// Positions are checked under the plan that a call uses. The plan that is current before it belongs to the previous call, perhaps of
// another sequence, and may accept other positions.
#include <gtest/gtest.h>

#include "native/cache/kv_expect.h"
#include "native/rope/fast_config.h"
#include "native/rope/ropes.h"

namespace ropewalk {
namespace {

constexpr int kOriginal = 24;
constexpr double kFar = 100000;

RopeConfig fast_config(bool is_long) { return fast_longrope_config(kOriginal, is_long); }

void append_one(KvCache& cache, int sequence, double position, Status expected) {
  Tokens tokens({1, 8, 0}, 1, 3);
  const Snapshot before = snapshot_of(cache);
  EXPECT_EQ(cache.append(0, sequence, tokens.at({position}).with_queries()), expected) << "at " << position;
  if (expected != Status::ok) EXPECT_TRUE(snapshot_of(cache) == before);
}

CacheSetup setup_of(const RopeConfig& config, KeyMode mode) { return {{{1, 8, 0}}, {config}, RowType::f32, mode, 2, 100}; }

TEST(KvPositions, AreCheckedUnderThePlanOfTheAppend) {
  for (const KeyMode mode : kKeyModes) {
    ConfiguredCache fast_when_short(setup_of(fast_config(false), mode));
    append_one(fast_when_short, 0, kFar, Status::ok);                      // the long plan accepts it, the short one would not
    append_one(fast_when_short, 1, -kFar, Status::position_out_of_range);  // of a short sequence, although sequence 0 is long
    ConfiguredCache fast_when_long(setup_of(fast_config(true), mode));
    append_one(fast_when_long, 0, kFar, Status::position_out_of_range);
    append_one(fast_when_long, 0, -kFar, Status::ok);
    append_one(fast_when_long, 0, kOriginal, Status::position_out_of_range);  // would make the sequence long, and then -kFar doesn't fit
    append_one(fast_when_long, 0, kOriginal - 1, Status::ok);
    append_one(fast_when_long, 1, kOriginal, Status::ok);
    append_one(fast_when_long, 0, kOriginal - 2, Status::ok);  // although the other sequence is long
  }
}

// Positions and ropes are checked as they are after the change: what was true before, or in between, doesn't matter.
TEST(KvPositions, AreCheckedUnderTheRopeOfTheRetune) {
  static const std::vector<double> fast = {1e6, 1, 1, 1};
  RopeConfig custom = plain_config(8);
  custom.rope_type = RopeType::custom;
  custom.inv_freq = fast;
  const RopeConfig plain = plain_config(8);
  const int ropes[] = {0};
  const Positions far = {kFar, nullptr, 1, 1, 1}, near = {7, nullptr, 1, 1, 1};
  for (const KeyMode mode : kKeyModes) {
    ConfiguredCache cache(setup_of(custom, mode));
    append_one(cache, 0, 3, Status::ok);
    const auto expect = [&](const KvRetune& change, Status expected) {
      EXPECT_EQ(cache.can_retune(change), expected);
      EXPECT_EQ(cache.retune(change), expected);
    };
    expect({{}, nullptr, 0, &far}, Status::position_out_of_range);
    expect({ropes, &plain, 0, &far}, Status::ok);
    expect({ropes, &custom, 0, nullptr}, Status::position_out_of_range);
    expect({ropes, &custom, 0, &near}, Status::ok);
  }
}

// The bits of one rotation by the difference of the angles, and one rounding.
TEST(KvPositions, RopeAndPositionsChangeInOneRotation) {
  const RopeConfig old_rope = plain_config(16), new_rope = yarn_config(16, 10000, 4, 64);
  const int tokens = 40, ropes[] = {0};
  for (const RowType type : {RowType::f32, RowType::f16, RowType::bf16}) {
    const CacheSetup setup = simple_setup(old_rope, type, KeyMode::rotated, 2);
    ConfiguredCache once(setup), twice(setup);
    std::vector<double> ids;
    for (int token = 0; token < tokens; ++token) ids.push_back(token % 3 == 0 ? token : 1000.5 + 7 * token);
    const Positions positions = {0, ids.data(), 1, 1, tokens};
    for (KvCache* cache : {static_cast<KvCache*>(&once), static_cast<KvCache*>(&twice)}) {
      cache->use_kernels(kScalarAttentionKernels, kScalarRotateKernels);
      for (int layer = 0; layer < 2; ++layer) {
        Tokens given(setup.layers[layer], tokens, 5 + layer);
        ASSERT_EQ(cache->append(layer, 0, given.without_queries()), Status::ok);
      }
    }
    const FrequencyPlan from = plan_of(old_rope, tokens), to = plan_of(new_rope, tokens);
    int different = 0;
    std::vector<KeysAndValues> before = {read_all(once, 0, 0), read_all(once, 1, 0)};
    ASSERT_EQ(once.retune({ropes, &new_rope, 0, &positions}), Status::ok);
    ASSERT_EQ(twice.retune(0, new_rope), Status::ok);
    ASSERT_EQ(twice.move(0, positions), Status::ok);
    for (int layer = 0; layer < 2; ++layer) {
      const KeysAndValues after = read_all(once, layer, 0), in_two = read_all(twice, layer, 0);
      EXPECT_EQ(after.values, before[layer].values);
      for (int token = 0; token < tokens; ++token) {
        for (int head = 0; head < 2; ++head) {
          const std::size_t row = (static_cast<std::size_t>(token) * 2 + head) * 16;
          for (std::size_t j = 0; j < 8; ++j) {
            const double angle = to.inv_freq[j] * ids[token] - from.inv_freq[j] * token,
                         ratio = to.attention_factor / from.attention_factor;
            const float cos = static_cast<float>(std::cos(angle) * ratio), sin = static_cast<float>(std::sin(angle) * ratio);
            const float x = before[layer].keys[row + j], y = before[layer].keys[row + 8 + j];
            const volatile float products[] = {x * cos, y * sin, y * cos, x * sin};  // volatile: no fused multiply-add
            const float expected[] = {products[0] - products[1], products[2] + products[3]};
            EXPECT_EQ(after.keys[row + j], rounded({expected[0]}, type)[0]) << token << ", pair " << j;
            EXPECT_EQ(after.keys[row + 8 + j], rounded({expected[1]}, type)[0]) << token << ", pair " << j;
            different += in_two.keys[row + j] != after.keys[row + j];
          }
        }
      }
    }
    EXPECT_GT(different, 100) << "two rotations give other bits, so this test can tell them apart";
  }
}

}  // namespace
}  // namespace ropewalk
