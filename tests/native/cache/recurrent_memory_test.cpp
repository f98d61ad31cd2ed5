// Out of memory in recurrent states: fails each allocation of each operation in turn.
#include <functional>
#include <memory>

#include "native/cache/recurrent_text.h"
#include "native/requested_memory.h"

namespace ropewalk {
namespace recurrent_memory_test {

std::vector<char> saved(const RecurrentState& state) {
  std::vector<char> bytes(RecurrentImage::bytes(state));
  RecurrentImage::save(state, bytes.data());
  return bytes;
}

class RecurrentMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_refuse_memory()) GTEST_SKIP() << "linked without --wrap";
  }

  // Fails each allocation of `act` in turn, which must then change nothing, and succeed when it is repeated. Returns their number.
  static int refuse_each(const std::function<Status(RecurrentText&)>& act, const std::function<void(RecurrentText&)>& expect_done) {
    int count = 0;
    for (bool is_done = false; !is_done; ++count) {
      SCOPED_TRACE(testing::Message() << "request " << count);
      RecurrentText text(2);
      text.read(3).checkpoint().read(2).checkpoint().read(4).read(1);
      const std::vector<char> before = saved(text);
      const Status status = without_request(count, false, [&] { return act(text); });
      is_done = refused_requests == 0;
      EXPECT_EQ(status, is_done ? Status::ok : Status::out_of_memory);
      if (!is_done) {
        EXPECT_EQ(saved(text), before);
        EXPECT_EQ(text.checkpoints(), 2);
        EXPECT_EQ(act(text), Status::ok) << "with memory again";
      }
      expect_done(text);
    }
    return count - 1;
  }
};

TEST_F(RecurrentMemory, Configure) {
  const std::vector<std::size_t> sizes = {70, 0, 9, 2, 4};
  const int requests = refuse_each([&](RecurrentText& text) { return text.configure(sizes, 7); },
                                   [](RecurrentText& text) {
                                     EXPECT_EQ(text.layers(), 5);
                                     EXPECT_EQ(text.tokens(), 0);
                                     EXPECT_EQ(text.checkpoints(), 0);
                                   });
  EXPECT_EQ(requests, 4);
}

TEST_F(RecurrentMemory, Keep) {
  const int requests = refuse_each([](RecurrentText& text) { return text.keep(); },
                                   [](RecurrentText& text) {
                                     EXPECT_EQ(text.checkpoints(), 2);
                                     EXPECT_EQ(text.rewind(9), 9);
                                     EXPECT_EQ(text.rewind(4), 0) << "the checkpoint of 3 tokens was dropped for that of 10";
                                   });
  EXPECT_EQ(requests, 2);
}

TEST_F(RecurrentMemory, Restore) {
  RecurrentText source;
  source.read(6).read(2);
  const std::vector<char> image = saved(source);
  const int requests = refuse_each([&](RecurrentText& text) { return RecurrentImage::restore(text, image.data(), image.size()); },
                                   [&](RecurrentText& text) {
                                     EXPECT_EQ(saved(text), image);
                                     EXPECT_EQ(text.checkpoints(), 0);
                                   });
  EXPECT_EQ(requests, 2);
}

// Other operations need no memory.
TEST_F(RecurrentMemory, CallsRewindsAndShifts) {
  RecurrentText text, other;
  other.read(9).checkpoint();
  text.read(3).checkpoint();
  without_request(0, true, [&] {
    text.read(5).read(2);
    EXPECT_EQ(text.rewind(9), 8);
    text.shift(1, 1);
    text.read(4);
    text.share_checkpoints(other);
    EXPECT_EQ(text.rewind(10), 9);
    return saved(text);
  });
  EXPECT_EQ(refused_requests, 0);
}

// Sizes whose sum is larger than any memory.
TEST_F(RecurrentMemory, SizesTooLargeForAnyMachine) {
  RecurrentText text;
  text.read(2);
  const std::vector<char> before = saved(text);
  for (const std::size_t size : {std::size_t{1} << 40, std::size_t{1} << 62, (std::size_t{1} << 63) - 1}) {
    const std::vector<std::size_t> sizes = {1, size};
    EXPECT_EQ(text.configure(sizes, 1), Status::out_of_memory);
    EXPECT_EQ(saved(text), before);
  }
}

}  // namespace recurrent_memory_test
}  // namespace ropewalk
