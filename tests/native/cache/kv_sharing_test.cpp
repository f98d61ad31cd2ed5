// Copies of sequences: they hold the pages of their source, and a change of one leaves the other as it was.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "native/cache/kv_expect.h"
#include "native/cache/kv_images.h"

namespace ropewalk {
namespace {

constexpr int kTokens = 75;  // two pages and a part

// Two layers whose plan depends on the length, one without rope and with fewer tokens.
CacheSetup setup_of(RowType type, KeyMode mode, int sequences = 1) {
  return {{{2, 40, 0}, {1, 5, kNoRope}, {1, 40, 1}}, {dynamic_config(40, 10000, 2, 8), plain_config(40)}, type, mode, sequences, 400};
}

void fill(KvCache& cache, const CacheSetup& setup, int tokens = kTokens) {
  for (int layer = 0; layer < 3; ++layer) {
    Tokens given(setup.layers[layer], layer == 1 ? tokens - 4 : tokens, 1 + layer);
    ASSERT_EQ(cache.append(layer, 0, given.without_queries()), Status::ok);
  }
}

std::vector<const char*> pages_of(const KvCache& cache, int sequence = 0) {
  const KvSequence& held = cache.sequence(sequence);
  return {held.page_list(), held.page_list() + held.pages()};
}

// Everything but bytes(), which depends on who else holds the pages.
Snapshot content_of(const KvCache& cache) {
  Snapshot content = snapshot_of(cache);
  content.bytes = 0;
  return content;
}

struct Change {
  std::string name;
  std::function<Status(KvCache&, const CacheSetup&)> act;
};

Status append(KvCache& cache, const CacheSetup& setup, int count, std::uint32_t seed) {
  for (int layer = 0; layer < 3; ++layer) {
    Tokens given(setup.layers[layer], count, seed + layer);
    if (const Status status = cache.append(layer, 0, given.without_queries()); status != Status::ok) return status;
  }
  return Status::ok;
}

const std::vector<Change> kChanges = {
    {"append a token", [](KvCache& cache, const CacheSetup& setup) { return append(cache, setup, 1, 100); }},
    {"append pages", [](KvCache& cache, const CacheSetup& setup) { return append(cache, setup, 70, 200); }},
    {"truncate", [](KvCache& cache, const CacheSetup&) { return cache.truncate(0, 33); }},
    {"truncate and append",
     [](KvCache& cache, const CacheSetup& setup) {
       const Status status = cache.truncate(0, 20);
       return status == Status::ok ? append(cache, setup, 5, 300) : status;
     }},
    {"shift all", [](KvCache& cache, const CacheSetup&) { return cache.shift(0, 0, 10); }},
    {"shift the end", [](KvCache& cache, const CacheSetup&) { return cache.shift(0, 40, 20); }},
    {"discard the end", [](KvCache& cache, const CacheSetup&) { return cache.shift(0, 40, kTokens - 40); }},
    {"move",
     [](KvCache& cache, const CacheSetup&) {
       return cache.move(0, {9, nullptr, 1, 1, kTokens});
     }},
    {"retune", [](KvCache& cache, const CacheSetup&) { return cache.retune(1, yarn_config(40, 10000, 4, 16)); }},
};

TEST(KvSharing, ACopyHoldsThePagesOfItsSource) {
  for (const RowType type : kTestedRowTypes) {
    const CacheSetup setup = setup_of(type, KeyMode::rotated, 3);
    ConfiguredCache cache(setup);
    ASSERT_NO_FATAL_FAILURE(fill(cache, setup));
    const double bytes = cache.bytes();
    ASSERT_EQ(cache.copy_prefix(0, 1, kTokens), Status::ok);
    ASSERT_EQ(cache.copy_prefix(1, 2, 40), Status::ok);
    EXPECT_EQ(pages_of(cache, 1), pages_of(cache, 0));
    EXPECT_EQ(pages_of(cache, 2), (std::vector<const char*>{cache.sequence(0).page(0), cache.sequence(0).page(1)}));
    EXPECT_EQ(cache.bytes(), bytes);

    ConfiguredCache other(setup_of(type, KeyMode::rotated));
    ASSERT_EQ(other.copy_prefix(cache, 0, 0, 32), Status::ok);  // the fourth holder of the first page
    const double page = static_cast<double>(cache.geometry().page_bytes());
    EXPECT_EQ(other.bytes(), page / 4);
    EXPECT_EQ(cache.bytes(), bytes - page / 4);
    ASSERT_EQ(cache.truncate(0, 0), Status::ok);
    ASSERT_EQ(cache.truncate(1, 0), Status::ok);
    ASSERT_EQ(cache.truncate(2, 0), Status::ok);
    EXPECT_EQ(cache.bytes(), 0);
    EXPECT_EQ(other.bytes(), page);
  }
}

// The changed sequence has the bits of one that shares nothing, which was restored from an image.
TEST(KvSharing, AChangeLeavesTheOtherAsItWas) {
  for (const RowType type : kTestedRowTypes) {
    for (const KeyMode mode : kKeyModes) {
      const CacheSetup setup = setup_of(type, mode);
      for (const Change& change : kChanges) {
        for (const bool changes_source : {false, true}) {
          SCOPED_TRACE(testing::Message() << name_of(type, mode) << ", " << change.name << (changes_source ? " of the source" : ""));
          ConfiguredCache source(setup), copy(setup), alone(setup);
          ASSERT_NO_FATAL_FAILURE(fill(source, setup));
          ASSERT_EQ(restore(alone, 0, saved(source, 0)), Status::ok);
          ASSERT_EQ(copy.copy_prefix(source, 0, 0, kTokens), Status::ok);
          KvCache &changed = changes_source ? source : copy, &other = changes_source ? copy : source;
          const Snapshot before = content_of(other);
          ASSERT_EQ(change.act(alone, setup), Status::ok);
          ASSERT_EQ(change.act(changed, setup), Status::ok);
          EXPECT_TRUE(content_of(other) == before);
          EXPECT_TRUE(content_of(changed) == content_of(alone));
          ASSERT_EQ(change.act(other, setup), Status::ok);
          EXPECT_TRUE(content_of(other) == content_of(alone));
        }
      }
    }
  }
}

TEST(KvSharing, OnlyChangedPagesAreCopied) {
  const CacheSetup setup = {{{2, 40, 0}, {1, 5, kNoRope}, {1, 40, 0}}, {plain_config(40)}, RowType::f16, KeyMode::rotated, 1, 400};
  ConfiguredCache source(setup);
  ASSERT_NO_FATAL_FAILURE(fill(source, setup));
  const auto shared_after = [&](const std::function<Status(KvCache&)>& act) {
    ConfiguredCache copy(setup);
    EXPECT_EQ(copy.copy_prefix(source, 0, 0, kTokens), Status::ok);
    EXPECT_EQ(act(copy), Status::ok);
    std::string shared;
    const auto theirs = pages_of(source), ours = pages_of(copy);
    for (std::size_t page = 0; page < ours.size(); ++page) shared += page < theirs.size() && ours[page] == theirs[page] ? 's' : 'o';
    return shared;
  };
  EXPECT_EQ(shared_after([&](KvCache& copy) { return append(copy, setup, 1, 9); }), "sso");
  EXPECT_EQ(shared_after([&](KvCache& copy) { return append(copy, setup, 30, 9); }), "ssoo");
  EXPECT_EQ(shared_after([](KvCache& copy) { return copy.truncate(0, 40); }), "ss");
  EXPECT_EQ(shared_after([](KvCache& copy) { return copy.shift(0, 40, 10); }), "soo");
  EXPECT_EQ(shared_after([](KvCache& copy) { return copy.shift(0, 40, 35); }), "so");
  EXPECT_EQ(shared_after([](KvCache& copy) { return copy.shift(0, 4, 10); }), "ooo");
  EXPECT_EQ(shared_after([](KvCache& copy) { return copy.retune(0, yarn_config(40, 10000, 4, 16)); }), "ooo");
}

TEST(KvSharing, PagesStayUntilTheirLastHolderGoes) {
  const CacheSetup setup = setup_of(RowType::q8_0, KeyMode::rotated);
  ConfiguredCache copy(setup);
  Snapshot content;
  {
    ConfiguredCache source(setup);
    ASSERT_NO_FATAL_FAILURE(fill(source, setup));
    ASSERT_EQ(copy.copy_prefix(source, 0, 0, kTokens), Status::ok);
    content = content_of(source);
    ASSERT_EQ(source.configure(setup_of(RowType::f32, KeyMode::raw).config()), Status::ok);  // lets go of its pages, whose size was another
  }
  EXPECT_TRUE(content_of(copy) == content);
  ASSERT_EQ(copy.copy_prefix(0, 0, 40), Status::ok);
  ASSERT_EQ(append(copy, setup, 40, 7), Status::ok);
}

TEST(KvSharing, OnlyFromCachesWithTheSameKeys) {
  const CacheSetup setup = setup_of(RowType::f16, KeyMode::rotated);
  ConfiguredCache source(setup);
  ASSERT_NO_FATAL_FAILURE(fill(source, setup));
  const auto status_of = [&](const std::function<void(CacheSetup&)>& change, int tokens = kTokens) {
    CacheSetup other = setup;
    change(other);
    ConfiguredCache copy(other);
    const Status status = copy.copy_prefix(source, 0, 0, tokens);
    EXPECT_EQ(copy.sequence(0).tokens(), status == Status::ok ? tokens : 0);
    return status;
  };
  EXPECT_EQ(status_of([](CacheSetup&) {}), Status::ok);
  EXPECT_EQ(status_of([](CacheSetup& other) { other.type = RowType::bf16; }), Status::plans_differ);
  EXPECT_EQ(status_of([](CacheSetup& other) { other.mode = KeyMode::raw; }), Status::plans_differ);
  EXPECT_EQ(status_of([](CacheSetup& other) { other.layers[1].head_dim = 6; }), Status::plans_differ);
  EXPECT_EQ(status_of([](CacheSetup& other) { other.layers.pop_back(); }), Status::plans_differ);
  EXPECT_EQ(status_of([](CacheSetup& other) { other.layers[2].rope = 0; }), Status::plans_differ);
  EXPECT_EQ(status_of([](CacheSetup& other) { other.ropes[1] = plain_config(40, 20000); }), Status::plans_differ);
  EXPECT_EQ(status_of([](CacheSetup& other) { other.ropes[1] = yarn_config(40, 10000, 4, 16); }), Status::plans_differ);
  EXPECT_EQ(status_of([](CacheSetup& other) { other.ropes[0] = dynamic_config(40, 10000, 2, 100); }), Status::plans_differ);
  EXPECT_EQ(status_of([](CacheSetup& other) { other.max_tokens = kTokens - 1; }), Status::cache_full);
  EXPECT_EQ(status_of([](CacheSetup& other) { other.max_tokens = 40; }, 40), Status::ok);
  EXPECT_EQ(status_of([](CacheSetup&) {}, kTokens + 1), Status::token_count_out_of_range);
}

}  // namespace
}  // namespace ropewalk
