// Embind declarations for sampling: functions without logic.
#include "sampling/sampler.h"

#include <new>

#include "bindings/embind.h"
#include "sampling/log_probability.h"

using namespace emscripten;
using namespace ropewalk;
using namespace ropewalk::bindings;

namespace {

Address sampler_create() { return reinterpret_cast<Address>(new (std::nothrow) Sampler); }
void sampler_destroy(Address sampler) { delete at<Sampler>(sampler); }

// Where each option is in the array that JavaScript passes. An object with these fields would need a tenth of the module's bindings.
enum class SamplerField : int {
  repetition,
  frequency,
  presence,
  penalty_window,
  dry_multiplier,
  dry_base,
  dry_allowed_length,
  dry_window,
  top_n_sigma,
  top_k,
  typical_p,
  top_p,
  min_p,
  xtc_probability,
  xtc_threshold,
  temperature,
  mirostat_tau,
  mirostat_eta,
  order,
};

SamplerOptions options_of(const double* values) {
  using enum SamplerField;
  const auto number = [values](SamplerField field) { return values[static_cast<int>(field)]; };
  const auto whole = [&](SamplerField field) { return static_cast<int>(number(field)); };
  SamplerOptions options;
  options.penalties = {number(repetition), number(frequency), number(presence)};
  options.penalty_window = whole(penalty_window);
  options.repeat_penalty = {number(dry_multiplier), number(dry_base), whole(dry_allowed_length)};
  options.repeat_window = whole(dry_window);
  options.top_n_sigma = number(top_n_sigma);
  options.top_k = whole(top_k);
  options.typical_p = number(typical_p);
  options.top_p = number(top_p);
  options.min_p = number(min_p);
  options.xtc_probability = number(xtc_probability);
  options.xtc_threshold = number(xtc_threshold);
  options.temperature = number(temperature);
  options.mirostat_tau = number(mirostat_tau);
  options.mirostat_eta = number(mirostat_eta);
  options.order = static_cast<SamplerOrder>(whole(order));
  return options;
}

// values: an f64 for each SamplerField.
StatusCode sampler_configure(Address sampler, Address values) {
  return static_cast<int>(at<Sampler>(sampler)->configure(options_of(at<double>(values))));
}

// biases: [count] of TokenBias.
StatusCode sampler_set_biases(Address sampler, Address biases, int count) {
  return static_cast<int>(at<Sampler>(sampler)->set_biases({at<TokenBias>(biases), static_cast<std::size_t>(count)}));
}

StatusCode sampler_set_breakers(Address sampler, Address tokens, int count) {
  return static_cast<int>(at<Sampler>(sampler)->set_breakers({at<int>(tokens), static_cast<std::size_t>(count)}));
}

void sampler_seed(Address sampler, double seed) { at<Sampler>(sampler)->seed(static_cast<std::uint64_t>(seed)); }

// allowed: a bit for each token, or 0.
StatusCode sampler_sample(Address sampler, Address logits, int size, Address recent, int recent_count, Address allowed, Address result) {
  const std::span<const int> tokens = {at<int>(recent), static_cast<std::size_t>(recent_count)};
  return static_cast<int>(at<Sampler>(sampler)->sample(at<float>(logits), size, tokens, at<std::uint8_t>(allowed), *at<int>(result)));
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
  function("sampler_set_biases", &sampler_set_biases);
  function("sampler_set_breakers", &sampler_set_breakers);
  function("sampler_seed", &sampler_seed);
  function("sampler_sample", &sampler_sample);
  function("log_normalizer", &normalizer);
  function("most_probable", &top);
}
