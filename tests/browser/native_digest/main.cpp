// Computes one case of pages/digest.mjs with the native library and writes the bytes to stdout. The arguments are the name of the case:
//
//   native_digest kind=rotate pairing=half dtype=f32 layout=bthd batches=1 tokens=7 heads=2 head_dim=64 … > bytes
#include "stages.h"

int main(int count, char** words) {
  const std::map<std::string, void (*)(Arguments&)> cases = {
      {"rotate", rotate_case},         {"table", table_case},
      {"attention", attention_case},   {"cache", cache_case},
      {"linear", linear_case},         {"linear_state", linear_state_case},
      {"sinusoidal", sinusoidal_case}, {"alibi_slopes", alibi_slopes_case},
      {"t5_buckets", t5_buckets_case},
  };
  Arguments arguments(count, words);
  const std::string kind = arguments.text("kind");
  const auto found = cases.find(kind);
  if (found == cases.end()) fail("unknown kind=" + kind);
  found->second(arguments);
  arguments.require_all_taken();
}
