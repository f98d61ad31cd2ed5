#include "rope/rerotate.h"

#include <cstring>

#include "base/thread_pool.h"
#include "rope/difference_rows.h"

namespace ropewalk {
namespace {

// Tokens that are rotated together: 64 rows of cos and sin of 128 pairs are 64 KB.
constexpr int kBlockTokens = 64;

Status check(const HeadTensor& keys, const KeyPlacement& placement) {
  if (const Status status = check_tensor(keys); status != Status::ok) return status;
  if (keys.shape.head_dim != placement.plan.head_dim) return Status::head_dim_mismatch;
  if (placement.positions.tokens != keys.shape.tokens ||
      (placement.positions.rows != 1 && placement.positions.rows != keys.shape.batches)) {
    return Status::shape_out_of_range;
  }
  return check_positions(placement.plan, placement.positions);
}

}  // namespace

Status rerotate(const RotateKernels& kernels, const HeadTensor& keys, const KeyPlacement& from, const KeyPlacement& to) {
  if (!have_same_geometry(from.plan, to.plan)) return Status::plans_differ;
  if (const Status status = check(keys, from); status != Status::ok) return status;
  if (const Status status = check(keys, to); status != Status::ok) return status;

  const std::uint64_t pairs = to.plan.rotary_dim / 2;
  Buffer<float> cos, sin;
  DifferenceRows rows;
  if (const Status status = rows.prepare(from.plan, to.plan, false); status != Status::ok) return status;
  if (!cos.resize(kBlockTokens * pairs) || !sin.resize(kBlockTokens * pairs)) return Status::out_of_memory;
  if (keys.source != keys.target) {
    std::memcpy(keys.target, keys.source, static_cast<std::size_t>(element_count(keys.shape)) * size_of(keys.dtype));
  }
  HeadTensor target = keys;
  target.source = keys.target;

  const Rotation rotation = to.plan.pairing == Pairing::interleaved ? Rotation::interleaved : Rotation::half;
  const Span span = {to.plan.rotary_offset, to.plan.rotary_dim};
  const bool shared = from.positions.rows == 1 && to.positions.rows == 1;
  const int row_count = shared ? 1 : keys.shape.batches, batches_a_row = shared ? keys.shape.batches : 1;

  for (int row = 0; row < row_count; ++row) {
    int first = 0, count = 0;  // the current run of tokens to rotate
    const auto rotate_run = [&] {
      if (count > 0) rotate(kernels, rotation, target, span, {cos.data(), sin.data()}, {row, batches_a_row, first, count});
      first += count;
      count = 0;
    };
    for (int token = 0; token < keys.shape.tokens; ++token) {
      double from_position[kMaxAxes], to_position[kMaxAxes];
      from.positions.on_axes(from.plan, row, token, from_position);
      to.positions.on_axes(to.plan, row, token, to_position);
      if (rows.write(from_position, to_position, &cos[count * pairs], &sin[count * pairs])) {
        if (++count == kBlockTokens) rotate_run();
      } else {
        rotate_run();
        first = token + 1;
      }
    }
    rotate_run();
  }
  return thread_pool().status();
}

}  // namespace ropewalk
