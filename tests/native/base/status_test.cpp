// Every status has a text, and no two texts are equal.
#include "base/status.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ropewalk {
namespace {

TEST(Status, EveryOneHasAFieldAndARequirement) {
  std::set<std::string> texts;
  const int last = static_cast<int>(Status::no_token_allowed);
  for (int i = 1; i <= last; ++i) {
    const StatusText text = describe_status(Status{i});
    EXPECT_STRNE(text.requirement, "") << i;
    EXPECT_STRNE(text.requirement, "is unknown") << i;
    if (Status{i} != Status::out_of_memory && Status{i} != Status::thread_lost) {  // these have no field at fault
      EXPECT_STRNE(text.field, "") << i;
    }
    texts.insert(std::string(text.field) + ": " + text.requirement);
  }
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(last));
  EXPECT_STREQ(describe_status(Status::ok).requirement, "");
  EXPECT_STREQ(describe_status(Status{last + 1}).requirement, "is unknown");
}

}  // namespace
}  // namespace ropewalk
