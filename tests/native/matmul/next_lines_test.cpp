// Weights that kernels fetch while they compute: each line once, none outside.
#include "matmul/kernels/next_lines.h"

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
    EXPECT_EQ(next.from, next.to);
  });
}

TEST(NextLines, NothingIsFetchedWithoutRows) {
  NextLines next;
  EXPECT_EQ(next.per_step(5), 0);
  next.fetch(next.per_step(5));
  EXPECT_EQ(next.from, nullptr);
}

}  // namespace
}  // namespace ropewalk
