// Samples from any logits with any options: options are refused, or the token is one of the vocabulary, the same each time.
#include "fuzz_input.h"
#include "sampling/log_probability.h"
#include "sampling/sampler.h"

using namespace ropewalk;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  SamplerOptions options;
  if (input.flag()) options.penalties.repetition = input.number();
  if (input.flag()) options.penalties.frequency = input.number();
  if (input.flag()) options.penalties.presence = input.number();
  if (input.flag()) options.penalty_window = input.roughly(0, 12);
  if (input.flag()) options.repeat_penalty = {input.number(), input.number(), input.roughly(1, 4)};
  if (input.flag()) options.repeat_window = input.roughly(0, 12);
  if (input.flag()) options.top_n_sigma = input.number();
  if (input.flag()) options.typical_p = input.flag() ? input.magnitude(-30, 0) : input.number();
  if (input.flag()) options.xtc_probability = input.number();
  if (input.flag()) options.xtc_threshold = input.magnitude(-30, 0);
  if (input.flag()) options.mirostat_tau = input.flag() ? input.magnitude(-30, 10) : input.number();
  if (input.flag()) options.mirostat_eta = input.magnitude(-30, 10);
  if (input.flag()) options.order = SamplerOrder::llama_cpp;
  if (input.flag()) options.temperature = input.number();
  if (input.flag()) options.top_k = input.roughly(0, 20);
  if (input.flag()) options.top_p = input.flag() ? input.magnitude(-30, 0) : input.number();
  if (input.flag()) options.min_p = input.flag() ? input.magnitude(-30, 0) : input.number();
  Sampler sampler, again;
  if (sampler.configure(options) != Status::ok) return 0;
  EXPECT_HOLDS(again.configure(options) == Status::ok);
  const std::uint64_t seed = input.ConsumeIntegral<std::uint64_t>();
  sampler.seed(seed), again.seed(seed);

  std::vector<float> logits = input.ordinaries(input.between(1, 300));
  const int vocabulary = static_cast<int>(logits.size());
  for (int changes = input.between(0, 20); changes > 0; --changes)
    logits[input.between(0, vocabulary - 1)] = std::bit_cast<float>(input.ConsumeIntegral<std::uint32_t>());
  std::vector<int> seen(input.between(0, 10));
  for (int& token : seen) token = input.roughly(-2, vocabulary + 2);

  std::vector<std::uint8_t> bits((vocabulary + 7) / 8);
  for (std::uint8_t& eight : bits) eight = input.ConsumeIntegral<std::uint8_t>();
  const std::uint8_t* allowed = input.flag() ? bits.data() : nullptr;
  for (Sampler* both : {&sampler, &again}) EXPECT_HOLDS(both->set_breakers(std::span(seen).first(seen.size() / 3)) == Status::ok);

  for (int i = 0; i < 3; ++i) {
    int token = -1, same = -1;
    const Status status = sampler.sample(logits.data(), vocabulary, seen, allowed, token);
    EXPECT_HOLDS(again.sample(logits.data(), vocabulary, seen, allowed, same) == status);
    if (status != Status::ok) break;
    EXPECT_HOLDS(token >= 0 && token < vocabulary && token == same);
    EXPECT_HOLDS(allowed == nullptr || (allowed[token / 8] >> (token % 8) & 1) == 1);
  }
  std::vector<LogProbability> top(input.between(1, vocabulary));
  most_probable(logits.data(), vocabulary, top);
  for (std::size_t i = 1; i < top.size(); ++i) EXPECT_HOLDS(!(top[i].value > top[i - 1].value));
  return 0;
}
