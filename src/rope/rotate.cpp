#include "rope/rotate.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "base/touch.h"

namespace ropewalk {
namespace {

// In layout bhtd, every head uses rows of this many bytes before the next rows are read, so that they stay in the first-level cache.
constexpr int kRowBytesInCache = 16384;

// A tensor of more bytes than this is read from memory, not from a cache. Then each piece of it is prefetched, line by line, before it
// is rotated, so that its loads overlap instead of waiting behind a kernel's arithmetic. At T = 4096 this reaches the memory limit
// instead of 0.78 of it. Data in a cache would take a fifth longer. A piece and its rows fit in a first-level cache of 32 KB.
constexpr std::int64_t kStreamingBytes = 16 << 20;
constexpr int kPieceBytes = 16384;

// Operations per pair (thread_pool.h). Large tensors wait for memory.
constexpr std::int64_t kPairWork = 8;

// The strides of a tensor in source or target, in elements.
struct Steps {
  std::ptrdiff_t batch, token, head;
};

Steps steps_of(const HeadTensor& tensor, const Strides* strides) {
  if (strides != nullptr) return {strides->batch, strides->token, strides->head};
  const std::ptrdiff_t dim = tensor.shape.head_dim, tokens = tensor.shape.tokens, heads = tensor.shape.heads;
  if (tensor.layout == Layout::bhtd) return {dim * tokens * heads, dim, dim * tokens};
  return {dim * tokens * heads, dim * heads, dim};
}

// Heads at equal distances of `stride` elements.
struct HeadRange {
  std::ptrdiff_t first;  // elements from the start
  std::ptrdiff_t stride;
};

class Walker {
 public:
  Walker(const RotateKernels& kernels, Rotation rotation, const HeadTensor& tensor, Span span)
      : kernel_(kernels.rotate[static_cast<int>(rotation)][static_cast<int>(tensor.dtype)]),
        tensor_(tensor),
        span_(span),
        is_streaming_(element_count(tensor.shape) * size_of(tensor.dtype) > kStreamingBytes) {}

  // `row` and `row_stride` are in floats from the start of the rows.
  void rotate(const Rows& rows, std::ptrdiff_t row, std::ptrdiff_t row_stride, const HeadRange& source, const HeadRange& target,
              int count) const {
    if (!is_streaming_ || source.stride != tensor_.shape.head_dim) return rotate_run(rows, row, row_stride, source, target, count);
    const std::ptrdiff_t head_bytes = source.stride * size_of(tensor_.dtype);
    const int step = std::max<int>(1, static_cast<int>(kPieceBytes / head_bytes));
    for (int head = 0; head < count; head += step) {
      const HeadRange source_piece = {source.first + head * source.stride, source.stride};
      const HeadRange target_piece = {target.first + head * target.stride, target.stride};
      const int piece_count = std::min(step, count - head);
      touch_lines(static_cast<const char*>(tensor_.source) + byte_offset(source_piece), piece_count * head_bytes);
      rotate_run(rows, row + head * row_stride, row_stride, source_piece, target_piece, piece_count);
    }
  }

 private:
  void rotate_run(const Rows& rows, std::ptrdiff_t row, std::ptrdiff_t row_stride, const HeadRange& source_heads,
                  const HeadRange& target_heads, int count) const {
    const std::ptrdiff_t size = size_of(tensor_.dtype), offset = span_.offset * size;
    const char* source = static_cast<const char*>(tensor_.source) + byte_offset(source_heads);
    char* target = static_cast<char*>(tensor_.target) + byte_offset(target_heads);
    std::ptrdiff_t source_stride = source_heads.stride;
    if (source != target && span_.size != tensor_.shape.head_dim) {
      for (int head = 0; head < count; ++head) {
        std::memcpy(target + head * target_heads.stride * size, source + head * source_stride * size, tensor_.shape.head_dim * size);
      }
      source = target;
      source_stride = target_heads.stride;
    }
    kernel_({source + offset, target + offset, source_stride, target_heads.stride, row_stride, rows.cos + row, rows.sin + row,
             span_.size / 2, count});
  }

  // Unsigned, because a tensor in wasm memory may have more bytes than a 32-bit ptrdiff_t can count.
  std::size_t byte_offset(const HeadRange& heads) const {
    return static_cast<std::size_t>(heads.first) * static_cast<std::size_t>(size_of(tensor_.dtype));
  }

  RotateKernel kernel_;
  const HeadTensor& tensor_;
  Span span_;
  bool is_streaming_;
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
  const std::ptrdiff_t pairs = span.size / 2;
  const Steps source = steps_of(tensor, tensor.strides == nullptr ? nullptr : &tensor.strides->source);
  const Steps target = steps_of(tensor, tensor.strides == nullptr ? nullptr : &tensor.strides->target);
  const auto start = [&](const Steps& steps, int batch, int token, int head) {
    return (block.batch + batch) * steps.batch + (block.first + token) * steps.token + head * steps.head;
  };

  const int step = std::max<int>(1, kRowBytesInCache / static_cast<int>(2 * pairs * sizeof(float)));
  const int steps = (block.count + step - 1) / step;
  const std::int64_t work = kPairWork * pairs * shape.heads * std::min(step, block.count);
  each_in_parallel(block.batches * steps, work, [&](int unit) {
    const int batch = unit / steps, first = unit % steps * step, count = std::min(step, block.count - first);
    const std::ptrdiff_t first_row = (rows.per_batch ? batch * static_cast<std::ptrdiff_t>(block.count) : 0) * pairs;
    if (tensor.layout != Layout::bhtd || shape.tokens == 1) {
      for (int token = first; token < first + count; ++token) {
        walker.rotate(rows, first_row + token * pairs, 0, {start(source, batch, token, 0), source.head},
                      {start(target, batch, token, 0), target.head}, shape.heads);
      }
      return;
    }
    for (int head = 0; head < shape.heads; ++head) {
      walker.rotate(rows, first_row + first * pairs, pairs, {start(source, batch, first, head), source.token},
                    {start(target, batch, first, head), target.token}, count);
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
  return Status::ok;
}

}  // namespace ropewalk
