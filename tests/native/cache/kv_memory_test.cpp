// Out of memory: fails each allocation of each operation in turn. Linked with --wrap=posix_memalign, --wrap=_ZnamRKSt9nothrow_t and
// --wrap=_ZnwmRKSt9nothrow_t, so that only the library's allocations come here. Successful ones use the real functions, also those of a
// sanitizer.
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <new>

#include "native/cache/kv_expect.h"
#include "native/cache/kv_images.h"
#include "native/requested_memory.h"

std::size_t ropewalk::requested_bytes = 0;
int ropewalk::refused_requests = 0;

namespace {

int granted = -1;  // allocations until one fails; -1: none fails
bool refuses_all_later = false;

bool is_refused(std::size_t size) {
  if (size > std::size_t{1} << 40) return true;  // never available, and a sanitizer's allocator would abort
  if (granted < 0) return false;
  if (granted > 0) return --granted, false;
  if (!refuses_all_later) granted = -1;
  return ++ropewalk::refused_requests, true;
}

}  // namespace

extern "C" {
// Set by the linker; null without --wrap.
[[gnu::weak]] int __real_posix_memalign(void** memory, std::size_t alignment, std::size_t size);
[[gnu::weak]] void* __real__ZnamRKSt9nothrow_t(std::size_t size, const std::nothrow_t& tag);
[[gnu::weak]] void* __real__ZnwmRKSt9nothrow_t(std::size_t size, const std::nothrow_t& tag);

int __wrap_posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  ropewalk::requested_bytes += size;
  return is_refused(size) ? ENOMEM : __real_posix_memalign(memory, alignment, size);
}

void* __wrap__ZnamRKSt9nothrow_t(std::size_t size, const std::nothrow_t& tag) {
  return is_refused(size) ? nullptr : __real__ZnamRKSt9nothrow_t(size, tag);
}

void* __wrap__ZnwmRKSt9nothrow_t(std::size_t size, const std::nothrow_t& tag) {
  return is_refused(size) ? nullptr : __real__ZnwmRKSt9nothrow_t(size, tag);
}
}

namespace ropewalk {

bool can_refuse_memory() { return __real_posix_memalign != nullptr; }

void refuse_request(int count, bool all_later) { granted = count, refuses_all_later = all_later, refused_requests = 0; }

void grant_requests() { granted = -1; }

namespace kv_memory_test {

class KvMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_refuse_memory()) GTEST_SKIP() << "linked without --wrap";
  }
};

// Two sequences of 30 and 10 tokens, whose plans depend on their lengths; the third layer has fewer tokens.
struct Filled {
  ConfiguredCache cache;
  KvModel model;

  explicit Filled(KeyMode mode, RowType type = RowType::q8_0)
      : Filled(CacheSetup{{{1, 8, 0}, {1, 3, kNoRope}, {1, 8, 1}}, {dynamic_config(8, 10000, 2, 8), plain_config(8)}, type, mode, 2, 200}) {
  }
  explicit Filled(const CacheSetup& setup) : cache(setup), model(setup) {
    for (int sequence = 0; sequence < 2; ++sequence) {
      for (int layer = 0; layer < 3; ++layer) {
        Tokens tokens(setup.layers[layer], (layer < 2 ? 30 : 25) - 20 * sequence, 1 + layer);
        EXPECT_EQ(cache.append(layer, sequence, tokens.without_queries()), Status::ok);
        model.append(layer, sequence, tokens);
      }
    }
  }
};

// Repeats an operation on new caches, failing another allocation each time, until none fails. After each failure the cache must be
// unchanged, and the operation must succeed when repeated. `act` applies it to the cache, `expect` to the model.
template <class Act, class Expect>
void refuse_each(Act act, Expect expect) {
  for (const KeyMode mode : kKeyModes) {
    for (const bool all_later : {false, true}) {
      int count = 0;
      for (bool is_done = false; !is_done; ++count) {
        SCOPED_TRACE(testing::Message() << name_of(RowType::q8_0, mode) << ", request " << count << (all_later ? " and all after it" : ""));
        Filled filled(mode);
        const Snapshot before = snapshot_of(filled.cache);
        const Status status = without_request(count, all_later, [&] { return act(filled.cache); });
        is_done = refused_requests == 0;
        ASSERT_EQ(status, is_done ? Status::ok : Status::out_of_memory);
        if (!is_done) {
          ASSERT_TRUE(snapshot_of(filled.cache) == before);
          ASSERT_EQ(act(filled.cache), Status::ok) << "with memory again";
        }
        expect(filled.model);
        ASSERT_NO_FATAL_FAILURE(expect_holds(filled.cache, filled.model));
      }
      EXPECT_GT(count, 1) << "the operation allocates no memory";
    }
  }
}

TEST_F(KvMemory, Shift) {
  refuse_each([](KvCache& cache) { return cache.shift(0, 3, 9); }, [](KvModel& model) { model.shift(0, 3, 9); });
}

TEST_F(KvMemory, Move) {
  std::vector<std::vector<double>> positions;
  for (int slot = 0; slot < 30; ++slot) positions.push_back({slot + 7.0});
  refuse_each([](KvCache& cache) { return cache.move(0, {7, nullptr, 1, 1, 30}); }, [&](KvModel& model) { model.move(0, positions); });
}

TEST_F(KvMemory, Retune) {
  const RopeConfig config = longrope_config(8, 10000, 24, 96);
  refuse_each([&](KvCache& cache) { return cache.retune(0, config); }, [&](KvModel& model) { model.retune(0, config); });
}

// Two ropes and positions at once: all of it or nothing.
TEST_F(KvMemory, RetuneRopesAndPositions) {
  const RopeConfig config = longrope_config(8, 10000, 24, 96);
  const int ropes[] = {0, 1};
  const Positions given = {7, nullptr, 1, 1, 30};
  std::vector<std::vector<double>> positions;
  for (int slot = 0; slot < 30; ++slot) positions.push_back({slot + 7.0});
  refuse_each(
      [&](KvCache& cache) {
        return cache.retune({ropes, &config, 0, &given});
      },
      [&](KvModel& model) {
        model.move(0, positions);
        for (const int rope : ropes) model.retune(rope, config);
      });
}

TEST_F(KvMemory, CopyPrefix) {
  refuse_each([](KvCache& cache) { return cache.copy_prefix(0, 1, 20); }, [](KvModel& model) { model.copy(0, 1, 20); });
}

// Changes of a sequence that shares its pages: each copies some. A page that was copied before the failure stays a copy.
TEST_F(KvMemory, SharedPages) {
  const RopeConfig config = yarn_config(8, 10000, 4, 16);
  Tokens tokens({1, 8, 0}, 8, 9);
  struct Change {
    std::function<Status(KvCache&)> act;
    std::function<void(KvModel&)> expect;
  };
  const Change changes[] = {
      {[](KvCache& cache) { return cache.shift(1, 3, 9); }, [](KvModel& model) { model.shift(1, 3, 9); }},
      {[&](KvCache& cache) { return cache.retune(1, config); }, [&](KvModel& model) { model.retune(1, config); }},
      {[&](KvCache& cache) { return cache.append(2, 1, tokens.without_queries()); }, [&](KvModel& model) { model.append(2, 1, tokens); }},
  };
  for (const Change& change : changes) {
    for (int count = 0, is_done = false; !is_done; ++count) {
      SCOPED_TRACE(testing::Message() << "change " << &change - changes << ", request " << count);
      Filled filled(KeyMode::rotated);
      ASSERT_EQ(filled.cache.copy_prefix(0, 1, 30), Status::ok);
      filled.model.copy(0, 1, 30);
      Snapshot before = snapshot_of(filled.cache);
      const Status status = without_request(count, true, [&] { return change.act(filled.cache); });
      is_done = refused_requests == 0;
      ASSERT_EQ(status, is_done ? Status::ok : Status::out_of_memory);
      if (!is_done) {
        Snapshot after = snapshot_of(filled.cache);
        before.bytes = after.bytes = 0;
        ASSERT_TRUE(after == before);
        ASSERT_EQ(change.act(filled.cache), Status::ok) << "with memory again";
      }
      change.expect(filled.model);
      ASSERT_NO_FATAL_FAILURE(expect_holds(filled.cache, filled.model));
    }
  }
}

TEST_F(KvMemory, SaveAndRestore) {
  const auto act = [](KvCache& cache) {
    KvImageWriter writer;
    if (const Status status = writer.open(cache, 0); status != Status::ok) return status;
    Bytes image(static_cast<std::size_t>(writer.bytes()));
    writer.read(image.data(), image.size());
    return restore(cache, 1, image);
  };
  refuse_each(act, [](KvModel& model) { model.copy(0, 1, 30); });
}

TEST_F(KvMemory, Configure) {
  const CacheSetup setup = Filled(KeyMode::rotated).model.setup();
  for (const bool all_later : {false, true}) {
    for (int count = 0;; ++count) {
      Filled filled(KeyMode::rotated);
      const Snapshot before = snapshot_of(filled.cache);
      const Status status = without_request(count, all_later, [&] { return filled.cache.configure(setup.config()); });
      ASSERT_EQ(status, refused_requests == 0 ? Status::ok : Status::out_of_memory);
      ASSERT_EQ(snapshot_of(filled.cache) == before, refused_requests != 0) << "request " << count;
      if (refused_requests == 0) break;
    }
  }
}

// read() and attend() write everything or nothing.
TEST_F(KvMemory, ReadAndAttend) {
  for (const KeyMode mode : kKeyModes) {
    for (int count = 0, is_done = 0; is_done < 2; ++count) {
      Filled filled(mode);
      std::vector<float> keys(30 * 8, 42), values(30 * 8, 42);
      GuardedTensor q(DType::f32, Layout::bthd, {1, 2, 2, 8});
      const auto bits = q.fill(1).bytes();
      const auto was_refused = [&](auto act) {
        const Status status = without_request(count, true, act);
        EXPECT_EQ(status, refused_requests == 0 ? Status::ok : Status::out_of_memory);
        return refused_requests != 0;
      };
      is_done = 0;
      const bool is_read = !was_refused([&] { return filled.cache.read(0, 0, 0, 30, keys.data(), values.data()); });
      EXPECT_EQ(keys == std::vector<float>(30 * 8, 42) && values == std::vector<float>(30 * 8, 42), !is_read);
      const bool is_attended = !was_refused([&] { return filled.cache.attend(0, 0, q.in_place(), {}); });
      EXPECT_EQ(q.bytes() == bits, !is_attended);
      is_done = is_read + is_attended;
    }
  }
}

// Appends past a plan boundary and into new pages, to one sequence or both. After a failure keys may stay rotated to the plan of the longer
// length. All else must be unchanged, including k, v and q, except rows of q that belong to sequences before the one that failed.
TEST_F(KvMemory, Append) {
  for (const KeyMode mode : kKeyModes) {
    for (const int sequence : {0, 1, kAllSequences}) {
      for (const int layer : {0, 2}) {
        for (const bool all_later : {false, true}) {
          for (int count = 0, is_done = false; !is_done; ++count) {
            SCOPED_TRACE(testing::Message() << name_of(RowType::q8_0, mode) << ", sequence " << sequence << ", layer " << layer
                                            << ", request " << count << (all_later ? " and all after it" : ""));
            Filled filled(mode);
            Snapshot before = snapshot_of(filled.cache);
            const int first = std::max(0, sequence), batches = sequence == kAllSequences ? 2 : 1;
            Tokens tokens({1, 8, 0}, 8, 9, batches), untouched({1, 8, 0}, 8, 9, batches);
            const NewTokens given = tokens.with_queries();
            const Status status = without_request(count, all_later, [&] { return filled.cache.append(layer, sequence, given); });
            is_done = refused_requests == 0;
            ASSERT_EQ(status, is_done ? Status::ok : Status::out_of_memory);
            ASSERT_TRUE(tokens.k.same_bits(untouched.k) && tokens.v.same_bits(untouched.v));
            if (!is_done) {
              ASSERT_TRUE(batches > 1 || tokens.q.same_bits(untouched.q));
              const Snapshot after = snapshot_of(filled.cache);
              ASSERT_TRUE(after.bytes == before.bytes && after.tokens == before.tokens && after.written == before.written);
              ASSERT_TRUE(after.positions == before.positions);
              for (int row = first; row < first + batches; ++row) {  // keys may be re-rotated by the rope whose plan changes
                const double length = filled.cache.sequence(row).planned_length(0);
                if (length != filled.model[row].planned) filled.model.replan(row, length);
                for (int index = 0; index < 3; ++index) ASSERT_NO_FATAL_FAILURE(expect_holds(filled.cache, filled.model, row, index));
              }
              ASSERT_EQ(filled.cache.append(layer, sequence, untouched.with_queries()), Status::ok) << "with memory again";
            }
            filled.model.append(layer, first, tokens);
            ASSERT_NO_FATAL_FAILURE(expect_holds(filled.cache, filled.model));
          }
        }
      }
    }
  }
}

// A page larger than any memory.
TEST_F(KvMemory, APageTooLargeForAnyMachine) {
  CacheSetup setup = {std::vector<KvLayer>(kMaxCacheLayers, {65536, 8192, kNoRope}), {}, RowType::f32};
  setup.layers[0] = {1, 8, kNoRope};
  ConfiguredCache cache(setup);
  Tokens tokens(setup.layers[0], 1, 1);
  EXPECT_EQ(cache.append(0, 0, tokens.with_queries()), Status::out_of_memory);
  EXPECT_EQ(cache.bytes(), 0);
  EXPECT_EQ(cache.sequence(0).tokens(), 0);
}

}  // namespace kv_memory_test
}  // namespace ropewalk
