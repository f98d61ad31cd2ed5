// States of recurrent layers: calls, checkpoints, rewinding and shifts, each by itself and in random orders.
#include "cache/recurrent_state.h"

#include <memory>

#include "native/cache/recurrent_text.h"
#include "native/random/random_cases.h"

namespace ropewalk {
namespace {

TEST(RecurrentState, BeginsAsTheStateOfAnEmptyText) {
  RecurrentText text;
  EXPECT_EQ(text.layers(), 4);
  for (int layer = 0; layer < 4; ++layer) EXPECT_EQ(text.size(layer), kStateSizes[layer]);
  EXPECT_EQ(text.tokens(), 0);
  EXPECT_EQ(text.seen(), 0);
  text.read(3).checkpoint();
  ASSERT_EQ(text.configure(kStateSizes, 4), Status::ok);
  EXPECT_EQ(text.tokens(), 0);
  EXPECT_EQ(text.seen(), 0);
  EXPECT_EQ(text.checkpoints(), 0);
  const std::vector<std::size_t> others = {2, 7};
  ASSERT_EQ(text.configure(others, 1), Status::ok);
  EXPECT_EQ(text.layers(), 2);
  EXPECT_EQ(text.bytes(), 2 * 9 * sizeof(float));
}

TEST(RecurrentState, BeforeItIsConfigured) {
  const RecurrentState state;
  EXPECT_EQ(state.layers(), 0);
  EXPECT_EQ(state.tokens(), 0);
  EXPECT_EQ(state.bytes(), 0);
}

TEST(RecurrentState, WithoutLayersOrNumbers) {
  for (const std::vector<std::size_t>& sizes : {std::vector<std::size_t>{}, std::vector<std::size_t>{0, 0}}) {
    RecurrentText text(2, sizes);
    text.read(3).checkpoint().read(4);
    EXPECT_EQ(text.tokens(), 7);
    EXPECT_EQ(text.bytes(), 0);
    EXPECT_EQ(text.rewind(2), 0);
  }
}

TEST(RecurrentState, ACallThatFailsLosesOnlyTheStateBeforeIt) {
  RecurrentText text;
  text.read(5).checkpoint().read(2).read(1);
  text.write(9);  // and doesn't commit
  EXPECT_EQ(text.tokens(), 8);
  EXPECT_EQ(text.seen(), 8);
  EXPECT_EQ(text.checkpoints(), 1);
  EXPECT_EQ(text.rewind(7), 5) << "to() wrote over the state of 7 tokens";
  EXPECT_EQ(text.seen(), 5);
  text.read(4);
  EXPECT_EQ(text.seen(), 9);
}

TEST(RecurrentState, RewindsToTheNearestKnownState) {
  const auto text = [] {
    auto made = std::make_unique<RecurrentText>();
    made->read(3).checkpoint().read(4).checkpoint().read(2).read(5);  // checkpoints at 3 and 7, before the last call 9, now 14
    return made;
  };
  for (const auto& [to, found] : {std::pair{20, 14}, {14, 14}, {13, 9}, {9, 9}, {8, 7}, {7, 7}, {6, 3}, {3, 3}, {2, 0}, {0, 0}}) {
    const auto rewound = text();
    EXPECT_EQ(rewound->rewind(to), found) << to;
    EXPECT_EQ(rewound->tokens(), found) << to;
    EXPECT_EQ(rewound->seen(), found) << to;
    EXPECT_EQ(rewound->checkpoints(), (to >= 3) + (to >= 7)) << to;
    rewound->read(2);
    EXPECT_EQ(rewound->seen(), found + 2) << to;
    EXPECT_EQ(rewound->rewind(found + 1), found) << "before the new call";
  }
  const auto twice = text();
  EXPECT_EQ(twice->rewind(12), 9);
  EXPECT_EQ(twice->rewind(8), 7) << "the state before the last call is used once";
}

TEST(RecurrentState, KeepsTheNewestCheckpoints) {
  RecurrentText text(2);
  text.checkpoint();
  EXPECT_EQ(text.checkpoints(), 0) << "an empty text needs none";
  for (int calls = 1; calls <= 5; ++calls) {
    text.read(10).checkpoint().checkpoint();
    EXPECT_EQ(text.checkpoints(), std::min(calls, 2));
  }
  text.read(1).read(1);
  EXPECT_EQ(text.rewind(45), 40);
  EXPECT_EQ(text.rewind(39), 0) << "those of 10 to 30 were dropped";
  RecurrentText none(0);
  none.read(1).checkpoint();
  EXPECT_EQ(none.checkpoints(), 0);
}

TEST(RecurrentState, ShiftsCheckpoints) {
  RecurrentText text;
  for (int i = 0; i < 4; ++i) text.read(10).checkpoint();  // 10, 20, 30 and 40
  text.read(5).read(1);                                    // before the last call 45, now 46
  text.shift(10, 20);  // 10 stays; 20 is lost; 30 becomes 10, which is known; 40 becomes 20; 45 becomes 25
  EXPECT_EQ(text.tokens(), 26);
  EXPECT_EQ(text.seen(), 46) << "the state has seen the lost tokens";
  EXPECT_EQ(text.checkpoints(), 2);
  EXPECT_EQ(text.rewind(25), 25);
  EXPECT_EQ(text.seen(), 45);
  EXPECT_EQ(text.rewind(24), 20);
  EXPECT_EQ(text.seen(), 40);
  EXPECT_EQ(text.rewind(19), 10);
  EXPECT_EQ(text.seen(), 10) << "the one that hasn't seen the lost tokens";
}

TEST(RecurrentState, AShiftForgetsTheStateBeforeACallAmongTheLostTokens) {
  RecurrentText text;
  text.read(4).checkpoint().read(4).read(4);  // before the last call: 8
  text.shift(6, 3);
  EXPECT_EQ(text.rewind(8), 4);
}

// A text without tokens has a state of zeros, whatever was there.
TEST(RecurrentState, AShiftOfTheFirstTokensLeavesAnEmptyTextEmpty) {
  RecurrentText text;
  text.read(5).checkpoint().read(3);
  text.shift(0, 5);
  EXPECT_EQ(text.tokens(), 3);
  EXPECT_EQ(text.checkpoints(), 0);
  EXPECT_EQ(text.rewind(2), 0);
  EXPECT_EQ(text.seen(), 0);
  text.read(5);
  text.shift(0, 5);
  EXPECT_EQ(text.tokens(), 0);
  EXPECT_EQ(text.seen(), 0);
}

TEST(RecurrentState, SharesCheckpoints) {
  auto first = std::make_unique<RecurrentText>();
  first->read(3).checkpoint().read(3).checkpoint().read(3).checkpoint();
  auto second = std::make_unique<RecurrentText>();
  second->read(2).checkpoint().read(6);
  second->share_checkpoints(*first);
  EXPECT_EQ(second->checkpoints(), 2) << "its own are replaced, and that of 9 tokens is beyond its text";
  auto third = std::make_unique<RecurrentText>(1);
  third->read(20);
  third->share_checkpoints(*second);
  EXPECT_EQ(third->checkpoints(), 1);
  for (const bool destroys_first : {true, false}) {
    if (destroys_first) first.reset();
    EXPECT_EQ(second->rewind(7), 6);
    EXPECT_EQ(second->seen(), 6);
    second->read(2).read(1);
  }
  second.reset();
  EXPECT_EQ(third->rewind(7), 6) << "the newest that was shared";
  EXPECT_EQ(third->seen(), 6);
}

TEST(RecurrentState, ChangesOfOneTextDoNotChangeASharedCheckpoint) {
  RecurrentText first, second;
  first.read(4).checkpoint().read(2);
  second.read(8);
  second.share_checkpoints(first);
  EXPECT_EQ(first.rewind(5), 4);
  first.read(7).checkpoint();
  first.shift(0, 2);
  EXPECT_EQ(first.rewind(3), 2);
  EXPECT_EQ(second.rewind(6), 4);
  EXPECT_EQ(second.seen(), 4);
  ASSERT_EQ(first.configure(kStateSizes, 2), Status::ok);
  second.read(3);
  EXPECT_EQ(second.rewind(4), 4);
  EXPECT_EQ(second.seen(), 4);
}

TEST(RecurrentState, AnyOrderOfOperations) {
  for_each_case(300, [](RandomCase& random) {
    std::vector<std::unique_ptr<RecurrentText>> texts;
    std::vector<RecurrentModel> models;
    for (int i = 0; i < 2; ++i) {
      const int most = random.whole(0, 4);
      texts.push_back(std::make_unique<RecurrentText>(most));
      models.emplace_back(most);
    }
    for (int step = 0; step < 60; ++step) {
      const int index = random.whole(0, 1), count = random.whole(1, 9);
      RecurrentText& text = *texts[index];
      RecurrentModel& model = models[index];
      switch (random.whole(0, 8)) {
        case 0: text.write(count), model.fail(); break;
        case 1:
        case 2: text.checkpoint(), model.keep(); break;
        case 3: {
          const int to = random.whole(0, model.now().tokens + 2);
          ASSERT_EQ(text.rewind(to), model.rewind(to));
          break;
        }
        case 4: {
          const int keep = random.whole(0, model.now().tokens), discard = random.whole(0, model.now().tokens - keep);
          if (discard > 0) text.shift(keep, discard), model.shift(keep, discard);
          break;
        }
        case 5: text.share_checkpoints(*texts[1 - index]), model.share(models[1 - index]); break;
        default: text.read(count), model.read(count);
      }
      for (int i = 0; i < 2; ++i) {
        ASSERT_EQ((KnownState{texts[i]->tokens(), texts[i]->seen()}), models[i].now()) << "step " << step;
        ASSERT_EQ(texts[i]->checkpoints(), models[i].checkpoints()) << "step " << step;
      }
    }
    texts.erase(texts.begin() + random.whole(0, 1));
  });
}

}  // namespace
}  // namespace ropewalk
