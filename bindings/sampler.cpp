// Embind declarations for sampling: functions without logic.
#include "vectors/sampler.h"

#include <new>

#include "bindings/embind.h"

using namespace emscripten;
using namespace ropewalk;
using namespace ropewalk::bindings;

namespace {

Address sampler_create() { return reinterpret_cast<Address>(new (std::nothrow) Sampler); }
void sampler_destroy(Address sampler) { delete at<Sampler>(sampler); }

int sampler_configure(Address sampler, double repetition_penalty, double temperature, int top_k, double top_p, double min_p) {
  return static_cast<int>(at<Sampler>(sampler)->configure({repetition_penalty, temperature, top_k, top_p, min_p}));
}

void sampler_seed(Address sampler, double seed) { at<Sampler>(sampler)->seed(static_cast<std::uint64_t>(seed)); }

int sampler_sample(Address sampler, Address logits, int size, Address seen, int seen_count, Address result) {
  const std::span<const int> tokens = {at<int>(seen), static_cast<std::size_t>(seen_count)};
  return static_cast<int>(at<Sampler>(sampler)->sample(at<float>(logits), size, tokens, *at<int>(result)));
}

double normalizer(Address logits, int size) { return log_normalizer(at<float>(logits), size); }

// result: [count] of LogProbability.
void top(Address logits, int size, Address result, int count) {
  most_probable(at<float>(logits), size, {at<LogProbability>(result), static_cast<std::size_t>(count)});
}

}  // namespace

EMSCRIPTEN_BINDINGS(ropewalk_sampler) {
  function("sampler_create", &sampler_create);
  function("sampler_destroy", &sampler_destroy);
  function("sampler_configure", &sampler_configure);
  function("sampler_seed", &sampler_seed);
  function("sampler_sample", &sampler_sample);
  function("log_normalizer", &normalizer);
  function("most_probable", &top);
}
