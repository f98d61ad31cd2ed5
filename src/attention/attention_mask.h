// The attention mask as ranges of slots: which keys a query sees. The mask is never stored as a matrix.
#pragma once

#include <algorithm>

#include "attention/attention_types.h"

namespace ropewalk {

struct SlotRange {
  int first = 0;
  int last = 0;  // exclusive
  bool is_empty() const { return first >= last; }
  int length() const { return last - first; }
  bool operator==(const SlotRange&) const = default;
};

inline SlotRange intersection(SlotRange a, SlotRange b) { return {std::max(a.first, b.first), std::min(a.last, b.last)}; }

// The keys that a query sees: sink tokens, and the keys of its window. The split point doesn't depend on the query.
struct VisibleKeys {
  SlotRange sinks;
  SlotRange window;
};

class Mask {
 public:
  Mask(const AttentionOptions& options, int keys) : options_(options), keys_(keys) {}

  // The keys that at least one of the queries in slots [first, last], both inclusive, sees.
  VisibleKeys visible_to(int first, int last) const {
    const int end = options_.causal ? std::min(last + 1, keys_) : window_end(last);
    const int in_window = first - std::min(options_.window - 1, std::max(first, 0));
    const int in_chunk = options_.chunk > 0 ? first - first % options_.chunk : 0;
    const int begin = std::max({0, in_window, in_chunk});
    const int sinks = std::min(options_.sink_tokens, options_.causal ? end : keys_);
    return {{0, sinks}, {std::max(begin, sinks), end}};
  }

 private:
  // Written so that slot + window cannot overflow.
  int window_end(int slot) const { return options_.window > keys_ - slot ? keys_ : slot + options_.window; }

  const AttentionOptions& options_;
  int keys_;
};

}  // namespace ropewalk
