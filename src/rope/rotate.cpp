#include "rope/rotate.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "base/touch.h"
#include "rope/tensor_strides.h"
#include "rope/walk.h"

namespace ropewalk {
namespace {

// In layout bhtd, every head uses rows of this many bytes before the next rows are read, so that they stay in the first-level cache.
constexpr int kRowBytesInCache = 16384;

// Tensors up to this size are rotated in steps without a trial. They are done before a clock could tell, and in a core's own cache steps
// are about as fast or faster (Intel Xeon, with two heads of half pairs in turn; Zen 1, with four).
constexpr std::int64_t kTrialBytes = 1 << 20;

// Units (below) of a trial. Those of 32 heads of 128 floats are 2 MB, whose halves take long enough for a clock of 5 microseconds.
constexpr int kTrialUnits = 4;

// What is read ahead at a time: a piece and its rows fit in a first-level cache of 32 KB.
constexpr int kPieceBytes = 16384;

// Operations per pair (thread_pool.h). Large tensors wait for memory.
constexpr std::int64_t kPairWork = 8;

// One choice for each kernel, because kernels differ in how much they compute per byte.
WalkChoice walk_choices[kRotations][kDTypes];

// For f32 in place, whose kernels have an order for each walk, by Rotation: of tensors that are read from memory, and of those that fit
// into a cache, but not into a core's own.
WalkChoice streaming_choices[2] = {WalkChoice(Walk::read_ahead, Walk::in_order, Walk::in_steps),
                                   WalkChoice(Walk::read_ahead, Walk::in_order, Walk::in_steps)};
WalkChoice cached_choices[2] = {WalkChoice(Walk::in_steps, Walk::in_order), WalkChoice(Walk::in_steps, Walk::in_order)};
static_assert(static_cast<int>(Rotation::half) == 0 && static_cast<int>(Rotation::interleaved) == 1);

// Null: the usual walk.
WalkChoice* choice_of(Rotation rotation, DType dtype, std::int64_t bytes) {
  const int index = static_cast<int>(rotation);
  if (dtype == DType::f32 && index < 2) {
    return bytes > kStreamingBytes ? &streaming_choices[index] : bytes > kTrialBytes ? &cached_choices[index] : nullptr;
  }
  return bytes > kStreamingBytes ? &walk_choices[index][static_cast<int>(dtype)] : nullptr;
}

HeadOrder order_of(Walk walk) { return walk == Walk::in_steps ? HeadOrder::steps : HeadOrder::whole; }

TensorStrides strides_of(const HeadTensor& tensor, const Strides* strides) {
  if (strides == nullptr) return strides_of(tensor);
  const std::int64_t size = size_of(tensor.dtype);
  return {strides->batch * size, strides->token * size, strides->head * size};
}

// Heads at equal distances, in bytes.
struct HeadRange {
  std::int64_t first;  // from the start of the tensor
  std::int64_t stride;
  std::int64_t token_stride = 0;  // to the same head of the next token
  bool operator==(const HeadRange&) const = default;
};

class Walker {
 public:
  Walker(const RotateKernels& kernels, Rotation rotation, const HeadTensor& tensor, Span span)
      : kernel_(kernels.rotate[static_cast<int>(rotation)][static_cast<int>(tensor.dtype)]),
        tensor_(tensor),
        span_(span),
        size_(size_of(tensor.dtype)),
        head_bytes_(tensor.shape.head_dim * size_) {}

  // `row` and `row_stride` are in floats from the start of the rows.
  void rotate(const Rows& rows, std::ptrdiff_t row, std::ptrdiff_t row_stride, const HeadRange& source, const HeadRange& target, int count,
              Walk walk) const {
    const bool reads_ahead = walk == Walk::read_ahead && source.stride == head_bytes_;
    const int step = reads_ahead ? std::max<int>(1, static_cast<int>(kPieceBytes / head_bytes_)) : count;
    for (int head = 0; head < count; head += step) {
      const char* from = static_cast<const char*>(tensor_.source) + static_cast<std::size_t>(source.first + head * source.stride);
      char* to = static_cast<char*>(tensor_.target) + static_cast<std::size_t>(target.first + head * target.stride);
      const int heads = std::min(step, count - head);
      if (reads_ahead) touch_lines(from, heads * head_bytes_);
      rotate_run(rows, row + head * row_stride, row_stride, from, source.stride, to, target.stride, heads, order_of(walk));
    }
  }

  // All heads of tokens that have a row each. In a cache, a kernel takes so little time for a token that what is done between two matters.
  void rotate_tokens(const Rows& rows, std::ptrdiff_t row, HeadRange source, HeadRange target, int tokens, Walk walk) const {
    const int heads = tensor_.shape.heads, pairs = span_.size / 2;
    if (walk != Walk::read_ahead && tensor_.source == tensor_.target && source == target) {
      char* span = static_cast<char*>(tensor_.target) + static_cast<std::size_t>(target.first) + span_.offset * size_;
      const auto stride = static_cast<std::ptrdiff_t>(target.stride / size_);
      HeadRun run = {span, span, stride, stride, 0, rows.cos + row, rows.sin + row, pairs, heads, order_of(walk)};
      for (int token = 0; token < tokens; ++token, run.cos += pairs, run.sin += pairs) {
        run.next = token + 1 < tokens ? span + target.token_stride : nullptr;
        kernel_(run);
        run.source = run.target = span += target.token_stride;
      }
      return;
    }
    for (int token = 0; token < tokens; ++token, row += pairs) {
      rotate(rows, row, 0, source, target, heads, walk);
      source.first += source.token_stride;
      target.first += target.token_stride;
    }
  }

 private:
  void rotate_run(const Rows& rows, std::ptrdiff_t row, std::ptrdiff_t row_stride, const char* source, std::int64_t source_stride,
                  char* target, std::int64_t target_stride, int count, HeadOrder order) const {
    if (source != target && span_.size != tensor_.shape.head_dim) {
      for (int head = 0; head < count; ++head) {
        std::memcpy(target + static_cast<std::size_t>(head * target_stride), source + static_cast<std::size_t>(head * source_stride),
                    head_bytes_);
      }
      source = target;
      source_stride = target_stride;
    }
    const std::ptrdiff_t offset = span_.offset * size_;
    kernel_({source + offset, target + offset, static_cast<std::ptrdiff_t>(source_stride / size_),
             static_cast<std::ptrdiff_t>(target_stride / size_), row_stride, rows.cos + row, rows.sin + row, span_.size / 2, count, order});
  }

  RotateKernel kernel_;
  const HeadTensor& tensor_;
  Span span_;
  std::ptrdiff_t size_;
  std::ptrdiff_t head_bytes_;
};

}  // namespace

std::int64_t element_count(const Shape& shape) {
  if (shape.batches < 1 || shape.tokens < 1 || shape.heads < 1 || shape.head_dim < 1) return -1;
  std::int64_t count = 1;
  for (const int extent : {shape.batches, shape.tokens, shape.heads, shape.head_dim}) {
    if (count > (std::int64_t{1} << 40) / extent) return -1;  // more than memory can hold
    count *= extent;
  }
  return count;
}

Status check_tensor(const HeadTensor& tensor) {
  if (static_cast<int>(tensor.dtype) < 0 || static_cast<int>(tensor.dtype) >= kDTypes) return Status::dtype_unknown;
  if (static_cast<int>(tensor.layout) < 0 || tensor.layout > Layout::thd) return Status::layout_unknown;
  if (element_count(tensor.shape) < 0 || (tensor.layout == Layout::thd && tensor.shape.batches != 1)) return Status::shape_out_of_range;
  return Status::ok;
}

Rotation rotation_of(Pairing pairing, bool inverse) {
  switch (pairing) {
    case Pairing::half: return Rotation::half;
    case Pairing::interleaved: return Rotation::interleaved;
    case Pairing::interleaved_to_half: return inverse ? Rotation::half_to_interleaved : Rotation::interleaved_to_half;
  }
  return Rotation::half;
}

void rotate(const RotateKernels& kernels, Rotation rotation, const HeadTensor& tensor, Span span, const Rows& rows,
            const TokenBlock& block) {
  const Walker walker(kernels, rotation, tensor, span);
  const Shape& shape = tensor.shape;
  const bool runs_over_tokens = tensor.layout == Layout::bhtd && shape.tokens != 1;
  const std::int64_t bytes = element_count(shape) * size_of(tensor.dtype);
  WalkChoice* choice =
      runs_over_tokens ? nullptr : choice_of(rotation, tensor.dtype, bytes);  // runs over tokens are too short for prefetchers
  const std::ptrdiff_t pairs = span.size / 2;
  const TensorStrides source = strides_of(tensor, tensor.strides == nullptr ? nullptr : &tensor.strides->source);
  const TensorStrides target = strides_of(tensor, tensor.strides == nullptr ? nullptr : &tensor.strides->target);
  const auto start = [&](const TensorStrides& strides, int batch, int token, int head) {
    return (block.batch + batch) * strides.batch + (block.first + token) * strides.token + head * strides.head;
  };

  const int step = std::max<int>(1, kRowBytesInCache / static_cast<int>(2 * pairs * sizeof(float)));
  const int steps = (block.count + step - 1) / step;
  const std::int64_t work = kPairWork * pairs * shape.heads * std::min(step, block.count);
  const auto rotate_unit = [&](int unit, Walk walk) {
    const int batch = unit / steps, first_of_unit = unit % steps * step, count_of_unit = std::min(step, block.count - first_of_unit);
    const std::ptrdiff_t first_row = (rows.per_batch ? batch * static_cast<std::ptrdiff_t>(block.count) : 0) * pairs;
    if (!runs_over_tokens) {
      return walker.rotate_tokens(rows, first_row + first_of_unit * pairs,
                                  {start(source, batch, first_of_unit, 0), source.head, source.token},
                                  {start(target, batch, first_of_unit, 0), target.head, target.token}, count_of_unit, walk);
    }
    for (int head = 0; head < shape.heads; ++head) {
      walker.rotate(rows, first_row + first_of_unit * pairs, pairs, {start(source, batch, first_of_unit, head), source.token},
                    {start(target, batch, first_of_unit, head), target.token}, count_of_unit, walk);
    }
  };
  const auto rotate_units = [&](int first, int last, Walk walk) {
    for (int unit = first; unit < last; ++unit) rotate_unit(unit, walk);
  };
  const int units = block.batches * steps, parts = parts_of(units, work);
  in_parallel(parts, [&](int part, int thread) {
    const auto range = part_range(units, parts, part);
    const int first = static_cast<int>(range.first), last = static_cast<int>(range.last);
    if (choice == nullptr) return rotate_units(first, last, bytes > kStreamingBytes ? Walk::read_ahead : Walk::in_steps);
    for (int unit = first; unit < last; unit += kTrialUnits) {
      // the clock is the caller's: in wasm, helpers can't call JavaScript
      choice->run(std::min(kTrialUnits, last - unit), thread == 0,
                  [&](int from, int to, Walk walk) { rotate_units(unit + from, unit + to, walk); });
    }
  });
}

Status rotate_by_rows(const RotateKernels& kernels, Pairing pairing, const HeadTensor& tensor, Span span, const Rows& rows) {
  if (const Status status = check_tensor(tensor); status != Status::ok) return status;
  if (static_cast<int>(pairing) < 0 || pairing > Pairing::interleaved_to_half) return Status::pairing_unknown;
  if (span.size % 2 != 0) return Status::rotary_dim_odd;
  if (span.size < 2 || span.size > kMaxHeadDim) return Status::rotary_dim_out_of_range;
  if (span.offset < 0 || span.offset > tensor.shape.head_dim - span.size) return Status::rotary_span_outside_head;
  rotate(kernels, rotation_of(pairing, false), tensor, span, rows, {0, tensor.shape.batches, 0, tensor.shape.tokens});
  return thread_pool().status();
}

}  // namespace ropewalk
