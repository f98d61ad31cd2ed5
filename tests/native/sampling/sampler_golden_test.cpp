// The tokens that remain and their probabilities, compared with llama.cpp's samplers and transformers' logits processors.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sampling/sampler.h"

namespace ropewalk {
namespace {

using nlohmann::json;

SamplerOptions options_of(const json& entry) {
  const json& given = entry["options"];
  const auto number = [&](const char* name, double fallback) { return given.value(name, fallback); };
  SamplerOptions options;
  options.penalties = {number("repetition", 1), number("frequency", 0), number("presence", 0)};
  options.penalty_window = given.value("penalty_window", 64);
  options.repeat_penalty = {number("dry_multiplier", 0), number("dry_base", 1.75), given.value("dry_allowed_length", 2)};
  options.repeat_window = given.value("dry_window", 1024);
  options.top_n_sigma = number("top_n_sigma", 0);
  options.top_k = given.value("top_k", 0);
  options.typical_p = number("typical_p", 1);
  options.top_p = number("top_p", 1);
  options.min_p = number("min_p", 0);
  options.xtc_probability = given.contains("xtc_threshold") ? 1 : 0;
  options.xtc_threshold = number("xtc_threshold", 0.1);
  options.temperature = number("temperature", 1);
  options.order = entry["order"] == "llama_cpp" ? SamplerOrder::llama_cpp : SamplerOrder::transformers;
  return options;
}

// The probabilities of the references come from sums of f32, and ours from exp_f32: 1e-5 of the largest, which is the difference that one
// rounding of a logit of 30 makes.
TEST(SamplerGolden, KeepsTheSameTokensWithTheSameProbabilities) {
  std::ifstream file(std::string(ROPEWALK_GOLDEN) + "/sampling.json");
  ASSERT_TRUE(file);
  int cases = 0;
  for (const json& entry : json::parse(file)) {
    SCOPED_TRACE(entry["name"].get<std::string>());
    const auto logits = entry["logits"].get<std::vector<float>>();
    const auto recent = entry["recent"].get<std::vector<int>>(), breakers = entry["breakers"].get<std::vector<int>>();
    SamplerOptions options = options_of(entry);
    if (options.top_k == 0) options.top_k = static_cast<int>(logits.size());  // lets the sampler list candidates
    Sampler sampler;
    ASSERT_EQ(sampler.configure(options), Status::ok);
    ASSERT_EQ(sampler.set_breakers(breakers), Status::ok);
    int drawn = -1;
    ASSERT_EQ(sampler.sample(logits.data(), static_cast<int>(logits.size()), recent, nullptr, drawn), Status::ok);

    std::vector<Candidate> kept(sampler.candidates().all().begin(), sampler.candidates().all().end());
    std::sort(kept.begin(), kept.end(), [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
    double total = 0;
    for (const Candidate& candidate : kept) total += std::exp(static_cast<double>(candidate.logit));
    std::vector<int> tokens;
    for (const Candidate& candidate : kept) tokens.push_back(candidate.token);
    ASSERT_EQ(tokens, entry["tokens"].get<std::vector<int>>());
    for (std::size_t i = 0; i < kept.size(); ++i)
      EXPECT_NEAR(std::exp(static_cast<double>(kept[i].logit)) / total, entry["probabilities"][i].get<double>(), 1e-5) << tokens[i];
    EXPECT_EQ(std::count(tokens.begin(), tokens.end(), drawn), 1);
    ++cases;
  }
  EXPECT_EQ(cases, 25);
}

}  // namespace
}  // namespace ropewalk
