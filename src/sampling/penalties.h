// Changes of logits by tokens: biases, and penalties on tokens that have occurred.
#pragma once

#include <cstdint>
#include <span>

namespace ropewalk {

struct TokenCount {
  int token, count;
};

struct Penalties {
  double repetition = 1;  // divides positive logits and multiplies the others (arXiv:1909.05858)
  double frequency = 0;   // times the number of occurrences, subtracted; OpenAI's API
  double presence = 0;    // subtracted once; OpenAI's API

  bool are_none() const { return repetition == 1 && frequency == 0 && presence == 0; }
};

// Applies them to the logits of the tokens of `recent`, first the repetition penalty, as in llama.cpp. Tokens outside the vocabulary are
// ignored, and results beyond the range of f32 are its largest numbers. `scratch` has the size of `recent`.
void apply_penalties(const Penalties& penalties, std::span<const int> recent, std::span<float> logits, std::span<TokenCount> scratch);

struct TokenBias {
  int token;
  float bias;  // added to the logit; -infinity forbids the token
};

// Tokens outside the vocabulary are ignored.
void apply_biases(std::span<const TokenBias> biases, std::span<float> logits);

// Forbids the tokens whose bit isn't set: bit t % 8 of byte t / 8.
void forbid_others(const std::uint8_t* allowed, std::span<float> logits);

// The DRY penalty ("don't repeat yourself"; text-generation-webui, in the form of llama.cpp): a token that would continue a repeat of the
// last n tokens loses multiplier · base^(n - allowed_length), if n is at least allowed_length.
struct RepeatPenalty {
  double multiplier = 0;
  double base = 1.75;
  int allowed_length = 2;
};

// `recent`: the tokens among which repeats are searched, oldest first. `breakers`: sorted tokens that no repeat contains. `scratch` has the
// size of `recent`. Takes the time of a sort.
void apply_repeat_penalty(const RepeatPenalty& penalty, std::span<const int> recent, std::span<const int> breakers, std::span<float> logits,
                          std::span<TokenCount> scratch);

}  // namespace ropewalk
