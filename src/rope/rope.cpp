#include "rope/rope.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"

namespace ropewalk {
namespace {

// Rows are cached for the next call up to this many floats of cos and of sin (16384 positions of 64 pairs, 8 MB in total), because the
// layers of a model use the same positions one after another. Longer requests are split into blocks of a quarter of this size.
constexpr std::int64_t kCachedFloats = std::int64_t{1} << 20;

bool copy_list(std::span<const double>& list, Buffer<double>& copy) {
  if (!copy.resize(list.size())) return false;
  if (!list.empty()) std::memcpy(copy.data(), list.data(), list.size_bytes());
  list = {copy.data(), list.size()};
  return true;
}

// Returns the length to plan for: the given one, else the largest position + 1.
double length_of(const Positions& positions, double sequence_length) {
  return sequence_length > 0 ? sequence_length : length_up_to(positions);
}

}  // namespace

bool Rope::RowsKey::operator==(const RowsKey& other) const {
  return plan_number == other.plan_number && purpose.role == other.purpose.role && purpose.inverse == other.purpose.inverse &&
         offset == other.offset && axes == other.axes && rows == other.rows && tokens == other.tokens && has_ids == other.has_ids;
}

Status Rope::configure(const RopeConfig& config) {
  if (const Status status = validate(config); status != Status::ok) return status;
  RopeConfig copy = config;
  Buffer<double> lists[std::size(kLists)];
  for (std::size_t i = 0; i < std::size(kLists); ++i) {
    if (!copy_list(copy.*kLists[i], lists[i])) return Status::out_of_memory;
  }
  FrequencyPlan plan;
  if (const Status status = make_plan(copy, 1, plan); status != Status::ok) return status;
  CosSinRows rows;
  if (const Status status = rows.prepare(plan); status != Status::ok) return status;

  config_ = copy;
  for (std::size_t i = 0; i < std::size(kLists); ++i) lists_[i] = std::move(lists[i]);
  rows_ = std::move(rows);
  return use_plan(std::move(plan));
}

// The rows already have room for as many pairs, so nothing is allocated, and this can't fail halfway.
Status Rope::use_plan(FrequencyPlan plan) {
  plan_ = std::move(plan);
  plan_number_ += 1;
  return rows_.prepare(plan_);
}

Status Rope::use_length(double sequence_length) {
  if (sequence_length >= plan_.valid_from && sequence_length <= plan_.valid_to) return Status::ok;
  FrequencyPlan plan;
  if (const Status status = make_plan(config_, sequence_length, plan); status != Status::ok) return status;
  return use_plan(std::move(plan));
}

Status Rope::use_positions(const Positions& positions, double sequence_length) {
  if (const Status status = check_range(positions); status != Status::ok) return status;
  if (const Status status = use_length(length_of(positions, sequence_length)); status != Status::ok) return status;
  return check_positions(plan_, positions);
}

Status Rope::check_shapes(const HeadTensor& tensor, const Positions& positions) const {
  const Shape& shape = tensor.shape;
  if (const Status status = check_tensor(tensor); status != Status::ok) return status;
  if (plan_.position_map) return Status::position_map_in_attention;
  if (shape.head_dim != plan_.head_dim) return Status::head_dim_mismatch;
  if (positions.tokens != shape.tokens || (positions.rows != 1 && positions.rows != shape.batches)) return Status::shape_out_of_range;
  return Status::ok;
}

bool Rope::are_cached(const RowsKey& key, const Positions& positions) const {
  if (!(key == cached_key_)) return false;
  return !key.has_ids || std::memcmp(positions.ids, cached_ids_.data(), positions.id_count() * sizeof(double)) == 0;
}

Status Rope::cache_rows(const Positions& positions, Purpose purpose) {
  const bool has_ids = positions.ids != nullptr;
  const RowsKey key = {plan_number_, purpose, positions.offset, positions.axes, positions.rows, positions.tokens, has_ids};
  if (are_cached(key, positions)) return Status::ok;

  const std::size_t row_size = static_cast<std::size_t>(positions.tokens) * (plan_.rotary_dim / 2);
  cached_key_ = {};
  if (!cos_.resize(row_size * positions.rows) || !sin_.resize(row_size * positions.rows)) return Status::out_of_memory;
  if (has_ids && !cached_ids_.resize(positions.id_count())) return Status::out_of_memory;
  for (int row = 0; row < positions.rows; ++row) {
    ropewalk::write_rows(rows_, positions, {row, 0, positions.tokens}, purpose, &cos_[row * row_size], &sin_[row * row_size]);
  }
  if (has_ids) std::memcpy(cached_ids_.data(), positions.ids, positions.id_count() * sizeof(double));
  cached_key_ = key;
  return Status::ok;
}

Status Rope::rotate_in_blocks(const HeadTensor& tensor, const Positions& positions, Purpose purpose) {
  const int pairs = plan_.rotary_dim / 2;
  const int step = std::max<int>(1, static_cast<int>(kCachedFloats / 4 / pairs));
  cached_key_ = {};
  if (!cos_.resize(static_cast<std::uint64_t>(step) * pairs) || !sin_.resize(static_cast<std::uint64_t>(step) * pairs))
    return Status::out_of_memory;

  const Rotation rotation = rotation_of(plan_.pairing, purpose.inverse);
  const bool shared = positions.rows == 1;
  for (int row = 0; row < positions.rows; ++row) {
    for (int first = 0; first < positions.tokens; first += step) {
      const int count = std::min(step, positions.tokens - first);
      ropewalk::write_rows(rows_, positions, {row, first, count}, purpose, cos_.data(), sin_.data());
      ropewalk::rotate(*kernels_, rotation, tensor, {plan_.rotary_offset, plan_.rotary_dim}, {cos_.data(), sin_.data()},
                       {row, shared ? tensor.shape.batches : 1, first, count});
    }
  }
  return thread_pool().status();
}

Status Rope::rotate(const HeadTensor& tensor, const Positions& positions, double sequence_length, Purpose purpose) {
  if (const Status status = check_shapes(tensor, positions); status != Status::ok) return status;
  if (const Status status = use_positions(positions, sequence_length); status != Status::ok) return status;

  const std::int64_t floats = static_cast<std::int64_t>(positions.tokens) * positions.rows * (plan_.rotary_dim / 2);
  if (floats > kCachedFloats) return rotate_in_blocks(tensor, positions, purpose);
  if (const Status status = cache_rows(positions, purpose); status != Status::ok) return status;
  ropewalk::rotate(*kernels_, rotation_of(plan_.pairing, purpose.inverse), tensor, {plan_.rotary_offset, plan_.rotary_dim},
                   {cos_.data(), sin_.data(), positions.rows != 1}, {0, tensor.shape.batches, 0, tensor.shape.tokens});
  return thread_pool().status();
}

Status Rope::write_table(const Positions& positions, double sequence_length, Purpose purpose, DType dtype, TableLayout layout, void* cos,
                         void* sin) {
  if (positions.tokens < 1 || positions.rows < 1) return Status::shape_out_of_range;
  if (plan_.position_map) return Status::position_map_in_attention;
  if (const Status status = use_positions(positions, sequence_length); status != Status::ok) return status;
  return ropewalk::write_table(rows_, positions, purpose, dtype, layout, cos, sin);
}

Status rerotate(const RotateKernels& kernels, const HeadTensor& keys, const RopePlacement& from, const RopePlacement& to) {
  const auto plan_of = [](const RopePlacement& placement, FrequencyPlan& plan) {
    if (placement.rope.plan().position_map) return Status::position_map_in_attention;
    if (const Status status = check_range(placement.positions); status != Status::ok) return status;
    return make_plan(placement.rope.config(), length_of(placement.positions, placement.sequence_length), plan);
  };
  FrequencyPlan from_plan, to_plan;
  if (const Status status = plan_of(from, from_plan); status != Status::ok) return status;
  if (const Status status = plan_of(to, to_plan); status != Status::ok) return status;
  return rerotate(kernels, keys, {from_plan, from.positions}, {to_plan, to.positions});
}

}  // namespace ropewalk
