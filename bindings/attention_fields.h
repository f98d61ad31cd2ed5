// The options of attention, as attention and caches take them.
#pragma once

#include "attention/attention.h"
#include "bindings/embind.h"

namespace ropewalk::bindings {

inline AttentionOptions options_of(const AttentionFields& f) {
  AttentionOptions options;
  options.scale = f.scale;
  options.causal = f.causal;
  options.window = f.window;
  options.sink_tokens = f.sink_tokens;
  options.sinks = at<float>(f.sinks);
  options.soft_cap = f.soft_cap;
  options.temperatures = at<float>(f.temperatures);
  PositionEncoding& position = options.position;
  position.scheme = static_cast<PositionScheme>(f.scheme);
  position.rope = at<Rope>(f.rope);
  position.base = f.base;
  position.table = at<float>(f.table);
  position.table_rows = f.table_rows;
  position.slopes = at<float>(f.slopes);
  position.t5 = {f.buckets, f.max_distance, f.bidirectional};
  return options;
}

}  // namespace ropewalk::bindings
