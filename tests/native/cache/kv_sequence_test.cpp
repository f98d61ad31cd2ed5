// KvSequence compared with plain vectors; each row is filled with a byte that identifies it.
#include "cache/kv_sequence.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "native/cache/kv_tokens.h"

namespace ropewalk {
namespace {

const std::vector<KvLayer> kLayers = {{1, 33, 0}, {2, 3, kNoRope}, {3, 1, 0}};

struct LayersOf : KvGeometry {
  explicit LayersOf(RowType type, int axes = 2) { EXPECT_EQ(prepare(kLayers, type, axes), Status::ok); }
};

// The expected tokens in the slots of a sequence, and how many of them each layer has.
struct Plain {
  std::vector<int> tokens;
  std::vector<int> written;

  Plain(int count, std::vector<int> written_counts) : tokens(count), written(std::move(written_counts)) {
    std::iota(tokens.begin(), tokens.end(), 0);
  }

  void truncate(int count) {
    tokens.resize(count);
    for (int& layer : written) layer = std::min(layer, count);
  }
  void remove(int first, int count) {
    tokens.erase(tokens.begin() + first, tokens.begin() + first + count);
    for (int& layer : written) layer -= std::clamp(layer - first, 0, count);
  }
};

double position_of(int token, int axis) { return 1.5 * token - 20 + 1000 * axis; }

// Calls act(row, bytes, byte) for every written row and the byte that fills it.
template <class Act>
void each_row(const KvGeometry& geometry, const KvSequence& sequence, const Plain& plain, Act act) {
  for (int index = 0; index < geometry.layers(); ++index) {
    const KvGeometry::Layer& layer = geometry.layer(index);
    for (int slot = 0; slot < plain.written[index]; ++slot) {
      for (int head = 0; head < layer.heads; ++head) {
        char* row = sequence.page(slot / kBlockTokens) + layer.row(head, slot % kBlockTokens);
        const int byte = plain.tokens[slot] * 7 + index * 3 + head;
        act(row + layer.key_offset, layer.row_bytes, static_cast<char>(byte));
        act(row + layer.value_offset, layer.row_bytes, static_cast<char>(~byte));
      }
    }
  }
}

KvSequence filled(const KvGeometry& geometry, const Plain& plain) {
  KvSequence sequence;
  EXPECT_EQ(sequence.prepare(geometry, 1), Status::ok);
  const int tokens = static_cast<int>(plain.tokens.size());
  EXPECT_EQ(sequence.reserve(tokens), Status::ok);
  std::vector<double> ids;
  for (int axis = 0; axis < geometry.axes(); ++axis) {
    for (const int token : plain.tokens) ids.push_back(position_of(token, axis));
  }
  sequence.add_tokens({0, ids.data(), geometry.axes(), 1, tokens}, 0, 0);
  for (int layer = 0; layer < geometry.layers(); ++layer) sequence.note_written(layer, plain.written[layer]);
  each_row(geometry, sequence, plain, [](char* row, std::size_t bytes, char byte) { std::memset(row, byte, bytes); });
  return sequence;
}

void expect_holds(const KvGeometry& geometry, const KvSequence& sequence, const Plain& plain) {
  ASSERT_EQ(sequence.tokens(), static_cast<int>(plain.tokens.size()));
  ASSERT_EQ(sequence.pages(), (sequence.tokens() + 31) / 32);
  double largest = -1;
  for (int slot = 0; slot < sequence.tokens(); ++slot) {
    for (int axis = 0; axis < geometry.axes(); ++axis) {
      const double position = position_of(plain.tokens[slot], axis);
      ASSERT_EQ(sequence.position(axis, slot), position);
      largest = slot + axis == 0 ? position : std::max(largest, position);
    }
  }
  ASSERT_EQ(sequence.largest_position(), largest);
  for (int layer = 0; layer < geometry.layers(); ++layer) ASSERT_EQ(sequence.written(layer), plain.written[layer]);
  bool is_right = true;
  each_row(geometry, sequence, plain, [&](const char* row, std::size_t bytes, char byte) {
    is_right = is_right && row[0] == byte && std::memcmp(row, row + 1, bytes - 1) == 0;  // all bytes equal the first
  });
  ASSERT_TRUE(is_right);
}

TEST(KvSequence, GrowingTakesAPageATimeAndMovesNone) {
  const LayersOf geometry(RowType::f16);
  KvSequence sequence;
  ASSERT_EQ(sequence.prepare(geometry, 1), Status::ok);
  EXPECT_EQ(sequence.pages(), 0);
  std::vector<const char*> pages;
  for (int tokens = 1; tokens < 2000; ++tokens) {
    ASSERT_EQ(sequence.reserve(tokens), Status::ok);
    ASSERT_EQ(sequence.pages(), (tokens + 31) / 32);
    for (std::size_t page = 0; page < pages.size(); ++page) ASSERT_EQ(sequence.page(static_cast<int>(page)), pages[page]);
    while (static_cast<int>(pages.size()) < sequence.pages()) pages.push_back(sequence.page(static_cast<int>(pages.size())));
  }
}

TEST(KvSequence, TruncatingFreesPages) {
  const LayersOf geometry(RowType::f32);
  for (int tokens = 0; tokens <= 100; ++tokens) {
    for (const int kept : {0, 1, 31, 32, 33, 63, 64, 65, 99, 100}) {
      if (kept > tokens) continue;
      Plain plain(tokens, {tokens, tokens / 2, 0});
      KvSequence sequence = filled(geometry, plain);
      ASSERT_EQ(sequence.reserve(tokens + 70), Status::ok);  // unused pages are freed too
      sequence.truncate(kept);
      plain.truncate(kept);
      ASSERT_NO_FATAL_FAILURE(expect_holds(geometry, sequence, plain)) << tokens << " to " << kept;
    }
  }
}

// Removes 1 to 70 tokens in every way: before, at and across page boundaries, with layers that have fewer tokens.
TEST(KvSequence, RemovingMovesTheOthersDown) {
  for (const RowType type : kTestedRowTypes) {
    const LayersOf geometry(type, type == RowType::f32 ? 1 : 2);
    for (const int tokens : {1, 32, 70, 97}) {
      const Plain plain(tokens, {tokens, tokens / 2, std::max(0, tokens - 1)});
      const KvSequence whole = filled(geometry, plain);
      for (int keep = 0; keep <= 70; ++keep) {
        for (int discard = 1; discard <= 70 && keep + discard <= tokens; ++discard) {
          KvSequence sequence;
          ASSERT_EQ(sequence.prepare(geometry, 1), Status::ok);
          ASSERT_EQ(sequence.copy(whole, tokens), Status::ok);
          ASSERT_EQ(sequence.own_pages(keep, tokens - discard), Status::ok);
          sequence.remove(keep, discard);
          Plain left = plain;
          left.remove(keep, discard);
          ASSERT_NO_FATAL_FAILURE(expect_holds(geometry, sequence, left)) << tokens << " tokens, " << keep << " kept, less " << discard;
        }
      }
    }
  }
}

TEST(KvSequence, ACopyIsIndependent) {
  for (const RowType type : kTestedRowTypes) {
    const LayersOf geometry(type);
    const Plain plain(70, {70, 40, 0});
    KvSequence source = filled(geometry, plain);
    source.set_planned_length(0, 123);
    source.note_key(5);
    for (int tokens = 0; tokens <= 70; ++tokens) {
      Plain part = plain;
      part.truncate(tokens);
      KvSequence copy = filled(geometry, Plain(40, {40, 40, 40}));  // what it cached is gone
      ASSERT_EQ(copy.copy(source, tokens), Status::ok);
      ASSERT_NO_FATAL_FAILURE(expect_holds(geometry, copy, part));
      EXPECT_EQ(copy.planned_length(0), 123);
      EXPECT_EQ(copy.largest_key(), tokens == 0 ? 0 : 5);
      ASSERT_EQ(copy.own_pages(0, tokens), Status::ok);
      ASSERT_NO_FATAL_FAILURE(expect_holds(geometry, copy, part));
      each_row(geometry, copy, part, [](char* row, std::size_t bytes, char) { std::memset(row, 0, bytes); });
      ASSERT_NO_FATAL_FAILURE(expect_holds(geometry, source, plain));
    }
  }
}

TEST(KvSequence, PositionsAreThoseOfARowFromATokenOn) {
  const LayersOf geometry(RowType::f32);
  KvSequence sequence;
  ASSERT_EQ(sequence.prepare(geometry, 1), Status::ok);
  ASSERT_EQ(sequence.reserve(4), Status::ok);
  EXPECT_EQ(sequence.largest_position(), -1);
  const std::vector<double> ids = {0, -9, -8, 0, 3, 4, 0, -7, -7.5, 0, 5, 6};  // [2 axes][2 rows][3 tokens]
  sequence.add_tokens({0, ids.data(), 2, 2, 3}, 0, 1);
  EXPECT_EQ(sequence.tokens(), 2);
  EXPECT_EQ(sequence.position(0, 0), -9);
  EXPECT_EQ(sequence.position(1, 1), -7.5);
  EXPECT_EQ(sequence.largest_position(), -7) << "the largest of negative ones, not -1";
  sequence.add_tokens({0, ids.data(), 2, 2, 3}, 1, 2);
  EXPECT_EQ(sequence.position(0, 2), 4);
  EXPECT_EQ(sequence.largest_position(), 6);
  sequence.add_tokens({100, nullptr, 1, 1, 1}, 0, 0);
  EXPECT_EQ(sequence.position(0, 3), 100);
  EXPECT_EQ(sequence.position(1, 3), 100);

  sequence.replace_positions([&](int axis, int slot) { return sequence.position(axis, slot) - 1000; });
  EXPECT_EQ(sequence.position(1, 0), -1007);
  EXPECT_EQ(sequence.largest_position(), -900);
  sequence.truncate(0);
  EXPECT_EQ(sequence.largest_position(), -1);
}

TEST(KvSequence, MovesWithItsPages) {
  const LayersOf geometry(RowType::bf16);
  const Plain plain(40, {40, 20, 10});
  KvSequence first = filled(geometry, plain), second = std::move(first);
  ASSERT_NO_FATAL_FAILURE(expect_holds(geometry, second, plain));
  first = std::move(second);
  ASSERT_NO_FATAL_FAILURE(expect_holds(geometry, first, plain));
}

}  // namespace
}  // namespace ropewalk
