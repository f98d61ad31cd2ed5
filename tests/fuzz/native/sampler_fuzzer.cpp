// Samples from any logits with any options: options are refused, or the token is one of the vocabulary, the same each time.
#include "fuzz_input.h"
#include "vectors/sampler.h"

using namespace ropewalk;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  SamplerOptions options;
  if (input.flag()) options.repetition_penalty = input.number();
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

  for (int i = 0; i < 3; ++i) {
    int token = -1, same = -1;
    const Status status = sampler.sample(logits.data(), vocabulary, seen, token);
    EXPECT_HOLDS(again.sample(logits.data(), vocabulary, seen, same) == status);
    if (status != Status::ok) break;
    EXPECT_HOLDS(token >= 0 && token < vocabulary && token == same);
  }
  std::vector<LogProbability> top(input.between(1, vocabulary));
  most_probable(logits.data(), vocabulary, top);
  for (std::size_t i = 1; i < top.size(); ++i) EXPECT_HOLDS(!(top[i].value > top[i - 1].value));
  return 0;
}
