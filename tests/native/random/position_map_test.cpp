// Position maps: distances of all keys and queries of short sequences, by the formulas of the papers in whole numbers.
#include "rope/plans/position_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "native/random/random_cases.h"
#include "native/rope/configs.h"

namespace ropewalk {
namespace {

constexpr int kCases = 150;
constexpr int kTokens = 70;

RopeConfig with_map(MapType type) {
  RopeConfig config = plain_config(64);
  config.position_map = type;
  return config;
}

// The distance at which a map rotates a key, if exactly one part has it. Nothing if no part has it.
std::optional<double> distance_of(const PositionMap& map, int query, int key, int start) {
  std::optional<double> distance;
  for (int part = 0; part < map.parts(); ++part) {
    const auto [first, last] = map.keys(part, query, start);
    if (key < first || key >= last) continue;
    EXPECT_FALSE(distance.has_value()) << "parts overlap at query " << query << ", key " << key;
    distance = map.query_position(part, query) - map.key_position(part, key);
  }
  return distance;
}

// Compares every key up to every query with `expected(query, key, start)`, which has no value for keys that aren't seen.
template <typename Expected>
void compare(const RopeConfig& config, int start, const Expected& expected) {
  ASSERT_EQ(check_position_map(config), Status::ok);
  const PositionMap map(config);
  for (int query = start; query < start + kTokens; ++query) {
    for (int key = start; key <= query; ++key) {
      ASSERT_EQ(distance_of(map, query, key, start), expected(query, key)) << "query " << query << ", key " << key << ", start " << start;
    }
    ASSERT_FALSE(distance_of(map, query, query + 1, start).has_value()) << "a later key";
  }
}

using Distance = std::optional<double>;

TEST(PositionMap, SelfExtendGroupsFarPositions) {
  for_each_case(kCases, [](RandomCase& random) {
    const int group = random.whole(1, 12), window = random.whole(1, 40), start = random.whole(0, 30);
    RopeConfig config = with_map(MapType::self_extend);
    config.map_group_size = group;
    config.map_window = window;
    compare(config, start, [=](int query, int key) -> Distance {
      return query - key < window ? query - key : query / group - key / group + window - window / group;
    });
  });
}

TEST(PositionMap, RerotatedKeysStayAtTheWindow) {
  for_each_case(kCases, [](RandomCase& random) {
    const int window = random.whole(1, 40);
    RopeConfig config = with_map(MapType::rerope);
    config.map_window = window;
    compare(config, random.whole(0, 30), [=](int query, int key) -> Distance { return std::min(query - key, window); });
  });
}

TEST(PositionMap, LmInfiniteSeesTheFirstTokensAndTheWindow) {
  for_each_case(kCases, [](RandomCase& random) {
    const int window = random.whole(1, 40), sinks = random.whole(0, 8), start = random.whole(0, 30);
    RopeConfig config = with_map(MapType::lm_infinite);
    config.map_window = window;
    config.map_sink_tokens = sinks;
    compare(config, start, [=](int query, int key) -> Distance {
      if (query - key < window) return query - key;
      return key - start < sinks ? Distance(window) : std::nullopt;
    });
  });
}

TEST(PositionMap, DualChunksCountAnew) {
  for_each_case(kCases, [](RandomCase& random) {
    const int size = random.whole(1, 30), local = random.whole(0, size - 1), chunk = size - local;
    RopeConfig config = with_map(MapType::dual_chunk);
    config.map_chunk_size = size;
    config.map_local_size = local;
    compare(config, random.whole(0, 30), [=](int query, int key) -> Distance {
      const int chunks = query / chunk - key / chunk;
      const int at = chunks == 0 ? query % chunk : chunks == 1 ? std::min(query % chunk + chunk, size) : std::min(2 * chunk - 1, size);
      return at - key % chunk;
    });
  });
}

TEST(PositionMap, NearDistancesOfDualChunksAreTrue) {
  // between chunks, too: the authors choose local_size so that it holds for keys up to local_size back
  RopeConfig config = with_map(MapType::dual_chunk);
  config.map_chunk_size = 24;
  config.map_local_size = 8;
  const PositionMap map(config);
  for (int query = 0; query < 100; ++query) {
    for (int key = std::max(0, query - 8); key <= query; ++key) ASSERT_EQ(distance_of(map, query, key, 0), query - key);
  }
}

TEST(PositionMap, NoMapHasOnePart) {
  const PositionMap none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.parts(), 1);
  EXPECT_EQ(distance_of(none, 9, 4, 2), 5);
}

}  // namespace
}  // namespace ropewalk
