#include "rope/plans/position_map.h"

#include <algorithm>

#include "rope/plans/checks.h"

namespace ropewalk {
namespace {

double chunk_start(double position, double chunk) { return std::floor(position / chunk) * chunk; }

bool is_count(const std::optional<double>& value) { return value.has_value() && *value == std::floor(*value); }

}  // namespace

PositionMap::PositionMap(const RopeConfig& config)
    : type_(config.position_map),
      group_size_(config.map_group_size.value_or(1)),
      window_(config.map_window.value_or(0)),
      chunk_(config.map_chunk_size.value_or(1) - config.map_local_size.value_or(0)),
      chunk_size_(config.map_chunk_size.value_or(1)),
      sink_tokens_(config.map_sink_tokens.value_or(0)) {}

PositionMap::Keys PositionMap::keys(int part, double query, double start) const {
  const double near = query - window_ + 1;
  switch (type_) {
    case MapType::none: break;
    case MapType::self_extend:
    case MapType::rerope: return part == 0 ? Keys{start, near} : Keys{near, query + 1};
    case MapType::lm_infinite: return part == 0 ? Keys{start, std::min(start + sink_tokens_, near)} : Keys{near, query + 1};
    case MapType::dual_chunk: {
      const double own = chunk_start(query, chunk_);
      return part == 0 ? Keys{start, own - chunk_} : part == 1 ? Keys{own - chunk_, own} : Keys{own, query + 1};
    }
  }
  return {start, query + 1};
}

double PositionMap::query_position(int part, double query) const {
  if (type_ == MapType::dual_chunk) {
    const double in_chunk = query - chunk_start(query, chunk_);
    return part == 0 ? std::min(2 * chunk_ - 1, chunk_size_) : part == 1 ? std::min(in_chunk + chunk_, chunk_size_) : in_chunk;
  }
  if (type_ == MapType::none || part == 1) return query;
  return type_ == MapType::self_extend ? std::floor(query / group_size_) + window_ - std::floor(window_ / group_size_) : window_;
}

double PositionMap::key_position(int part, double key) const {
  if (type_ == MapType::dual_chunk) return key - chunk_start(key, chunk_);
  if (type_ == MapType::none || part == 1) return key;
  return type_ == MapType::self_extend ? std::floor(key / group_size_) : 0;
}

Status check_position_map(const RopeConfig& config) {
  if (!is_enumerator(config.position_map, MapType::lm_infinite)) return Status::position_map_unknown;
  const MapType type = config.position_map;
  if (type == MapType::none) return Status::ok;
  if (config.rope_type == RopeType::axial) return Status::position_map_axes;
  if (type == MapType::dual_chunk) {
    if (!config.map_chunk_size.has_value()) return Status::map_chunk_size_out_of_range;
    return is_count(config.map_local_size) && *config.map_local_size < *config.map_chunk_size ? Status::ok
                                                                                              : Status::map_local_size_out_of_range;
  }
  if (!config.map_window.has_value()) return Status::map_window_out_of_range;
  if (type == MapType::self_extend && !config.map_group_size.has_value()) return Status::map_group_size_out_of_range;
  if (type == MapType::lm_infinite && !is_count(config.map_sink_tokens)) return Status::map_sink_tokens_out_of_range;
  return Status::ok;
}

}  // namespace ropewalk
