// Random chains of operations on random caches. After each operation the content must match the model, which recomputes it from the
// unrotated keys; at the end attention is compared too. A failure names its chain: KvProperty.* with that seed alone repeats it.
#include <gtest/gtest.h>

#include "native/cache/kv_expect.h"
#include "native/cache/kv_images.h"

namespace ropewalk {
namespace {

class Chain {
 public:
  explicit Chain(std::uint32_t seed) : random_(seed), setup_(random_setup()), cache_(setup_), model_(setup_) {}

  void run() {
    const int operations = between(20, 60);
    for (int i = 0; i < operations; ++i) {
      std::string name;
      ASSERT_NO_FATAL_FAILURE(name = step()) << "operation " << i;
      ASSERT_NO_FATAL_FAILURE(expect_holds(cache_, model_)) << "after operation " << i << ", " << name;
    }
    for (int sequence = 0; sequence < setup_.sequences; ++sequence) {
      for (int layer = 0; layer < static_cast<int>(setup_.layers.size()); ++layer) {
        const int written = cache_.sequence(sequence).written(layer);
        if (written == 0) continue;
        ASSERT_NO_FATAL_FAILURE(expect_attends(cache_, model_, sequence, layer, between(1, std::min(3, written)), random_.next_bits()));
      }
    }
  }

 private:
  int between(int low, int high) { return low + static_cast<int>(random_.next_bits() % static_cast<std::uint32_t>(high - low + 1)); }
  bool one_in(int n) { return between(1, n) == 1; }
  int any_sequence() { return between(0, setup_.sequences - 1); }

  // A random config of any family, with lengths that a chain reaches and the geometry of `like`.
  RopeConfig random_scaling(const RopeConfig& like) {
    const int head_dim = like.head_dim, rotary_dim = like.rotary_dim;
    const double factor = between(2, 8), original = between(8, 60), theta = one_in(2) ? 10000 : between(100, 1000000);
    RopeConfig config = plain_config(head_dim, theta);
    switch (between(0, rotary_dim >= 4 ? 9 : 2)) {
      case 0: break;
      case 1: config = scaled_config(RopeType::linear, head_dim, theta, factor, original); break;
      case 2:
        config.xpos_scale_base = between(64, 512);
        config.xpos_center = between(0, 50);
        break;
      case 3: config = scaled_config(RopeType::ntk, head_dim, theta, factor, original); break;
      case 4: config = yarn_config(head_dim, theta, factor, original); break;
      case 5: config = scaled_config(RopeType::dynamic_yarn, head_dim, theta, factor, original); break;
      case 6: config = dynamic_config(head_dim, theta, factor, original); break;
      case 7: config = longrope_config(rotary_dim, theta, original, original * 4); break;
      case 8: config = llama3_config(head_dim, theta, factor, original); break;
      case 9:
        config = yarn_config(head_dim, theta, factor, original);
        config.attention_factor = between(1, 30) / 10.0;
        break;
    }
    config.head_dim = head_dim, config.rotary_dim = rotary_dim, config.rotary_offset = like.rotary_offset, config.pairing = like.pairing;
    config.mrope_section = like.mrope_section, config.mrope_layout = like.mrope_layout;
    config.precision = one_in(5) ? Precision::hf : Precision::exact;
    return config;
  }

  RopeConfig random_rope(bool has_axes) {
    static const std::vector<double> sections = {2, 1, 1};
    RopeConfig config;
    config.rotary_dim = has_axes ? 8 : 2 * between(1, 5);
    config.rotary_offset = between(0, 3);
    config.head_dim = config.rotary_offset + config.rotary_dim + (one_in(5) ? between(20, 40) : between(0, 3));  // blocks of q8_0 are 32
    config.pairing = static_cast<Pairing>(between(0, 2));
    if (has_axes) config.mrope_section = sections;
    return random_scaling(config);
  }

  CacheSetup random_setup() {
    CacheSetup setup;
    const bool has_axes = one_in(4);
    for (int rope = one_in(8) ? 0 : between(1, 2); rope > 0; --rope) setup.ropes.push_back(random_rope(has_axes && !one_in(3)));
    for (int layer = between(1, 3); layer > 0; --layer) {
      const int rope = between(kNoRope, static_cast<int>(setup.ropes.size()) - 1);
      setup.layers.push_back({between(1, 2), rope == kNoRope ? between(1, 35) : setup.ropes[rope].head_dim, rope});
    }
    setup.type = static_cast<RowType>(between(0, kRowTypes - 1));
    setup.mode = one_in(3) ? KeyMode::raw : KeyMode::rotated;
    setup.sequences = between(1, 3);
    setup.max_tokens = between(30, 120);
    return setup;
  }

  // Positions of new tokens of one row: constant steps, sometimes fractional, from about the end of the sequence.
  std::vector<double> random_positions(int tokens, int rows) {
    std::vector<double> ids;
    for (int i = 0; i < setup_.axes() * rows; ++i) {
      double position = between(-20, 60);
      for (int token = 0; token < tokens; ++token) ids.push_back(position += one_in(8) ? random_.between(0, 2) : between(0, 3));
    }
    return ids;
  }

  std::string step() {
    switch (between(0, 9)) {
      case 0: return shift();
      case 1: return retune();
      case 2: return move();
      case 3: return truncate();
      case 4: return copy();
      case 5: return save_and_restore();
      default: return append();
    }
  }

  // Appends to all layers or only to some; the others may catch up later.
  std::string append() {
    const int sequence = one_in(3) ? kAllSequences : any_sequence(), first = std::max(0, sequence);
    const int batches = sequence == kAllSequences ? setup_.sequences : 1, count = between(1, one_in(3) ? 40 : 5);
    const bool is_placed = one_in(4);
    const std::vector<double> ids = random_positions(count, batches);
    for (int layer = 0; layer < static_cast<int>(setup_.layers.size()); ++layer) {
      if (one_in(10)) continue;
      bool fits = true, is_behind = false;
      for (int row = first; row < first + batches; ++row) {
        fits = fits && cache_.sequence(row).written(layer) + count <= setup_.max_tokens;
        is_behind = is_behind || cache_.sequence(row).written(layer) < cache_.sequence(row).tokens();
      }
      Tokens tokens(setup_.layers[layer], count, random_.next_bits() | 1, batches, static_cast<DType>(between(0, 2)),
                    one_in(2) ? Layout::bhtd : Layout::bthd, between(1, 2));
      if (is_placed && !is_behind) tokens.at(ids, setup_.axes(), batches);
      const Status status = cache_.append(layer, sequence, one_in(2) ? tokens.with_queries() : tokens.without_queries());
      EXPECT_EQ(status, fits ? Status::ok : Status::cache_full);
      if (fits) model_.append(layer, first, tokens);
    }
    return "append";
  }

  std::string shift() {
    const int sequence = any_sequence(), tokens = cache_.sequence(sequence).tokens();
    if (tokens == 0) return "nothing to shift";
    const int keep = between(0, tokens - 1), discard = between(1, tokens - keep);
    const auto& positions = model_[sequence].positions;
    bool is_even = true;
    for (int axis = 0; axis < setup_.axes() && keep + discard < tokens; ++axis) {
      is_even = is_even && positions[keep][axis] - positions[keep + discard][axis] == positions[keep][0] - positions[keep + discard][0];
    }
    EXPECT_EQ(cache_.can_shift(sequence, keep, discard), is_even ? Status::ok : Status::shift_axes);
    EXPECT_EQ(cache_.shift(sequence, keep, discard), is_even ? Status::ok : Status::shift_axes);
    if (is_even) model_.shift(sequence, keep, discard);
    return "shift";
  }

  std::string retune() {
    if (setup_.ropes.empty()) return "nothing to retune";
    const int rope = between(0, static_cast<int>(setup_.ropes.size()) - 1);
    const RopeConfig config = random_scaling(setup_.ropes[rope]);
    EXPECT_EQ(cache_.can_retune(rope, config), Status::ok);
    EXPECT_EQ(cache_.retune(rope, config), Status::ok);
    model_.retune(rope, config);
    return "retune";
  }

  std::string move() {
    const int sequence = any_sequence(), tokens = cache_.sequence(sequence).tokens(), axes = setup_.axes();
    const std::vector<double> ids = random_positions(tokens, 1);
    std::vector<std::vector<double>> positions(tokens, std::vector<double>(axes));
    for (int i = 0; i < axes * tokens; ++i) positions[i % tokens][i / tokens] = ids[i];
    EXPECT_EQ(cache_.move(sequence, {0, ids.data(), axes, 1, tokens}), Status::ok);
    model_.move(sequence, positions);
    return "move";
  }

  std::string truncate() {
    const int sequence = any_sequence(), tokens = between(0, cache_.sequence(sequence).tokens());
    EXPECT_EQ(cache_.truncate(sequence, tokens), Status::ok);
    model_.truncate(sequence, tokens);
    return "truncate";
  }

  std::string copy() {
    const int from = any_sequence(), to = any_sequence(), tokens = between(0, cache_.sequence(from).tokens());
    EXPECT_EQ(cache_.copy_prefix(from, to, tokens), Status::ok);
    model_.copy(from, to, tokens);
    return "copy_prefix";
  }

  std::string save_and_restore() {
    const int from = any_sequence(), to = any_sequence();
    EXPECT_EQ(restore(cache_, to, saved(cache_, from)), Status::ok);
    model_.copy(from, to, cache_.sequence(from).tokens());
    return "save and restore";
  }

  Random random_;
  CacheSetup setup_;
  ConfiguredCache cache_;
  KvModel model_;
};

TEST(KvProperty, ChainsEndWhereAFreshComputationDoes) {
  for (std::uint32_t seed = 1; seed <= 250; ++seed) {
    Chain chain(seed);
    ASSERT_NO_FATAL_FAILURE(chain.run()) << "chain " << seed;
  }
  RecordProperty("worst part of a bound", std::to_string(worst_part()));
}

}  // namespace
}  // namespace ropewalk
