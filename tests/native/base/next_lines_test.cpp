// Lines that kernels fetch while they compute: each once, none outside.
#include "base/next_lines.h"

#include <gtest/gtest.h>

#include <vector>

#include "native/random/random_cases.h"

namespace ropewalk {
namespace {

TEST(NextLines, TheStepsOfALoopFetchAll) {
  for_each_case(200, [](RandomCase& random) {
    const std::vector<char> rows(random.whole(1, 20000));  // the sanitizers see what is read outside
    const int steps = random.whole(1, 40);
    NextLines next = {rows.data(), rows.data() + rows.size()};
    const std::ptrdiff_t each = next.per_step(steps);
    EXPECT_LT(each * (steps - 1), static_cast<std::ptrdiff_t>(rows.size()) + kLineBytes * steps);  // not all at once
    for (int step = 0; step < steps; ++step) {
      const char* const before = next.from;
      next.fetch(each);
      EXPECT_LE(next.from - before, each);
    }
    EXPECT_GE(next.from, next.to);
    EXPECT_LT(next.from - next.to, kLineBytes);
  });
}

TEST(NextLines, NothingIsFetchedWithoutRows) {
  NextLines next;
  EXPECT_EQ(next.per_step(5), 0);
  next.fetch(next.per_step(5));
  next.fetch_rest();
  EXPECT_EQ(next.from, nullptr);
}

TEST(NextLines, TheRestIsWhatIsLeft) {
  const std::vector<char> rows(1000);
  NextLines next = {rows.data(), rows.data() + rows.size()};
  next.fetch(2 * kLineBytes);
  EXPECT_EQ(next.from - rows.data(), 2 * kLineBytes);
  next.fetch_rest();
  EXPECT_GE(next.from, next.to);
}

}  // namespace
}  // namespace ropewalk
