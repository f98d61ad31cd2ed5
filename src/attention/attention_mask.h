// Which keys a query sees, as ranges of slots: a mask is never written out.
#pragma once

#include <algorithm>

#include "attention/attention.h"

namespace ropewalk {

struct SlotRange {
  int first = 0;
  int last = 0;  // exclusive
  bool is_empty() const { return first >= last; }
};

inline SlotRange intersection(SlotRange a, SlotRange b) { return {std::max(a.first, b.first), std::min(a.last, b.last)}; }

// The keys in sight: those of the first sink_tokens, and the others. Where they part does not depend on the query.
struct Sight {
  SlotRange sinks;
  SlotRange near;
};

class Mask {
 public:
  Mask(const AttentionOptions& options, int keys) : options_(options), keys_(keys) {}

  // What the queries at slots [first, last] see together. With first == last, what that one sees.
  Sight of(int first, int last) const {
    const int end = options_.causal ? std::min(last + 1, keys_) : reach(last, options_.window);
    const int begin = std::max(0, first - std::min(options_.window - 1, std::max(first, 0)));
    const int sinks = std::min(options_.sink_tokens, options_.causal ? end : keys_);
    return {{0, sinks}, {std::max(begin, sinks), end}};
  }

 private:
  int reach(int slot, int window) const { return window > keys_ - slot ? keys_ : slot + window; }

  const AttentionOptions& options_;
  int keys_;
};

}  // namespace ropewalk
