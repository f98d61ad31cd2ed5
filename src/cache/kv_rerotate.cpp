#include "cache/kv_rerotate.h"

#include <algorithm>
#include <cmath>

#include "base/reproducible_math.h"
#include "base/thread_pool.h"
#include "rope/rotate.h"

namespace ropewalk {
namespace {

// Operations per pair (thread_pool.h).
constexpr std::int64_t kPairWork = 8;

// The keys of a layer in a page lie head after head. Token by token, processors read ahead at several addresses, and a row is loaded once
// for all heads. The walk is chosen by measuring (walk.h), over many pages at a time: what it gains in a stream of pages doesn't show in
// one of them.
struct PageWalk : WalkChoice {
  constexpr PageWalk() : WalkChoice(Walk::by_token, Walk::in_order) {}
};
PageWalk page_walks[kRotations][kDTypes];

bool have_same_xpos(const FrequencyPlan& a, const FrequencyPlan& b) {
  return a.xpos_scale.size() == b.xpos_scale.size() && a.xpos_scale_base == b.xpos_scale_base && a.xpos_center == b.xpos_center;
}

// The positions of a sequence after a move. A plan accepts a range of positions, so the ends are enough to check.
struct MovedRange {
  double smallest = 0;
  double largest = 0;
  double rise = 0;  // how far up any token moves
};

// The sequence must not be empty.
Status find_range(const KvSequence& cached, int axes, const KeyMove& move, MovedRange& range) {
  for (int slot = 0; slot < cached.tokens(); ++slot) {
    for (int axis = 0; axis < axes; ++axis) {
      const double position = move.at(cached, axis, slot);
      if (!(std::fabs(position) <= kPositionLimit)) return Status::position_out_of_range;
      range.smallest = slot + axis == 0 ? position : std::min(range.smallest, position);
      range.largest = slot + axis == 0 ? position : std::max(range.largest, position);
      range.rise = std::max(range.rise, position - cached.position(axis, slot));
    }
  }
  return Status::ok;
}

Status check_range(const FrequencyPlan& plan, const MovedRange& range) {
  const double ends[2] = {range.smallest, range.largest};
  return check_positions(plan, {0, ends, 1, 1, 2});
}

}  // namespace

double xpos_growth(const FrequencyPlan& plan, double largest_position) {
  if (plan.xpos_scale.empty()) return 1;
  const double power = std::max(0.0, (largest_position - plan.xpos_center) / plan.xpos_scale_base);
  return reproducible_pow(1 / plan.xpos_scale[0], power);  // the first pair's zeta is the smallest
}

Status plan_at(const RopeConfig& config, double length, FrequencyPlan& plan) { return make_plan(config, std::max(1.0, length), plan); }

Status check_scale(RowType type, const KvSequence& cached, const FrequencyPlan& plan, double growth) {
  constexpr double kRounding = 1 - 1e-6;  // so that keys which append() has accepted always pass
  const double largest = cached.largest_key() * growth * std::max(1.0, plan.attention_factor) * kRotationGrowth * kRounding;
  return largest <= largest_storable(type) ? Status::ok : Status::key_not_finite;
}

Status check_keys(const KvGeometry& geometry, const KvSequence& cached, const KeyMove& move, const FrequencyPlan& from,
                  const FrequencyPlan& to) {
  if (cached.tokens() == 0) return Status::ok;
  MovedRange range;
  if (const Status status = find_range(cached, geometry.axes(), move, range); status != Status::ok) return status;
  if (const Status status = check_range(to, range); status != Status::ok) return status;
  return check_scale(geometry.type(), cached, to, xpos_growth(to, have_same_xpos(from, to) ? to.xpos_center + range.rise : range.largest));
}

Status KeyRerotation::prepare(const KvGeometry& geometry, const FrequencyPlan& from, const FrequencyPlan& to) {
  if (const Status status = difference_.prepare(from, to, true); status != Status::ok) return status;
  const std::uint64_t pairs = to.inv_freq.size();
  if (!cos_.resize(kTokensTogether * pairs) || !sin_.resize(kTokensTogether * pairs)) return Status::out_of_memory;
  const std::uint64_t page_floats = static_cast<std::uint64_t>(kBlockTokens) * padded_dim(to.head_dim);
  if (has_blocks(geometry.type()) && !rows_.resize(thread_pool().threads() * page_floats)) return Status::out_of_memory;
  geometry_ = &geometry;
  plan_ = &to;
  return Status::ok;
}

void KeyRerotation::apply(const AttentionKernels& kernels, const RotateKernels& rotate_kernels, const KvSequence& sequence, int rope,
                          const KeyMove& move) {
  for (int start = 0; start < sequence.tokens(); start += kTokensTogether) {
    const int runs = write_rows(sequence, move, start), layers = geometry_->layers();
    const std::int64_t work = kPairWork * static_cast<std::int64_t>(plan_->inv_freq.size()) * kBlockTokens * geometry_->layer(0).heads;
    const auto rotate_units = [&](int first_unit, int last_unit, Walk walk) {
      const int units = last_unit - first_unit, parts = parts_of(units, work);
      in_parallel(parts, [&](int part, int thread) {
        const auto [first, last] = part_range(units, parts, part);
        for (int unit = first_unit + static_cast<int>(first); unit < first_unit + static_cast<int>(last); ++unit) {
          const KvGeometry::Layer& layer = geometry_->layer(unit / runs);
          const Run& run = runs_[unit % runs];
          const int written = std::min(run.count, sequence.written(unit / runs) - run.first);
          if (layer.rope != rope || written <= 0) continue;
          char* page = sequence.page(run.first / kBlockTokens);
          const PageKeys keys = {layer, page, {run.first % kBlockTokens, written}, run.first - start};
          if (has_blocks(geometry_->type())) {
            rotate_blocks(kernels, rotate_kernels, keys, thread);
          } else {
            rotate_in_place(rotate_kernels, keys, walk);
          }
        }
      });
    };
    if (has_blocks(geometry_->type())) {
      rotate_units(0, runs * layers, Walk::in_order);
    } else {
      page_walks[static_cast<int>(rotation())][static_cast<int>(geometry_->type())].run(runs * layers, true, rotate_units);
    }
  }
}

int KeyRerotation::write_rows(const KvSequence& sequence, const KeyMove& move, int start) {
  const std::size_t pairs = plan_->inv_freq.size();
  const int tokens = std::min(kTokensTogether, sequence.tokens() - start);
  int runs = 0;
  bool continues = false;  // the last run
  for (int token = 0; token < tokens; ++token) {
    double from_position[kMaxAxes] = {}, to_position[kMaxAxes] = {};
    for (int axis = 0; axis < plan_->axes; ++axis) {
      const int plane = geometry_->axes() == 1 ? 0 : axis;
      from_position[axis] = sequence.position(plane, start + token);
      to_position[axis] = move.at(sequence, plane, start + token);
    }
    const bool changes = difference_.write(from_position, to_position, &cos_[token * pairs], &sin_[token * pairs]);
    if (changes && continues && token % kBlockTokens != 0) {
      ++runs_[runs - 1].count;
    } else if (changes) {
      runs_[runs++] = {start + token, 1};
    }
    continues = changes;
  }
  return runs;
}

// interleaved_to_half is stored by halves
Rotation KeyRerotation::rotation() const { return plan_->pairing == Pairing::interleaved ? Rotation::interleaved : Rotation::half; }

void KeyRerotation::rotate_in_place(const RotateKernels& rotate_kernels, const PageKeys& keys, Walk walk) {
  const auto& [layer, page, run, row] = keys;
  const int type = static_cast<int>(geometry_->type()), pairs = plan_->rotary_dim / 2;
  const RotateKernel kernel = rotate_kernels.rotate[static_cast<int>(rotation())][type];
  const float *cos = &cos_[static_cast<std::size_t>(row) * pairs], *sin = &sin_[static_cast<std::size_t>(row) * pairs];
  char* span = page + layer.key_offset + layer.row(0, run.first) + plan_->rotary_offset * size_of(static_cast<DType>(type));
  if (walk == Walk::by_token) {
    const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(kBlockTokens) * layer.head_dim;
    for (int token = 0; token < run.count; ++token, span += layer.row_bytes, cos += pairs, sin += pairs) {
      kernel({span, span, stride, stride, 0, cos, sin, pairs, layer.heads, HeadOrder::whole});
    }
    return;
  }
  for (int head = 0; head < layer.heads; ++head, span += kBlockTokens * layer.row_bytes) {
    kernel({span, span, layer.head_dim, layer.head_dim, pairs, cos, sin, pairs, run.count, HeadOrder::whole});
  }
}

void KeyRerotation::rotate_blocks(const AttentionKernels& kernels, const RotateKernels& rotate_kernels, const PageKeys& keys, int thread) {
  const auto& [layer, page, run, row] = keys;
  const int type = static_cast<int>(geometry_->type()), dim = padded_dim(layer.head_dim), pairs = plan_->rotary_dim / 2;
  const RotateKernel kernel = rotate_kernels.rotate[static_cast<int>(rotation())][static_cast<int>(DType::f32)];
  const StoredRows rows = {static_cast<std::ptrdiff_t>(layer.row_bytes), dim, run.count, layer.head_dim};
  const float *cos = &cos_[static_cast<std::size_t>(row) * pairs], *sin = &sin_[static_cast<std::size_t>(row) * pairs];
  float* floats = &rows_[static_cast<std::size_t>(thread) * kBlockTokens * dim];
  float* span = floats + plan_->rotary_offset;
  for (int head = 0; head < layer.heads; ++head) {
    char* stored = page + layer.key_offset + layer.row(head, run.first);
    kernels.load[type](rows, stored, floats);
    kernel({span, span, dim, dim, pairs, cos, sin, pairs, run.count});
    kernels.store[type](rows, floats, stored);
  }
}

}  // namespace ropewalk
