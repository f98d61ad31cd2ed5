#include "rope/rotate.h"

#include <algorithm>
#include <cstring>

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

// Heads at equal distances of `stride` elements.
struct HeadRange {
  std::ptrdiff_t first;  // elements from the start of the tensor
  std::ptrdiff_t stride;
  int count;
};

class Walker {
 public:
  Walker(const RotateKernels& kernels, Rotation rotation, const HeadTensor& tensor, Span span)
      : kernel_(kernels.rotate[static_cast<int>(rotation)][static_cast<int>(tensor.dtype)]),
        tensor_(tensor),
        span_(span),
        is_streaming_(element_count(tensor.shape) * size_of(tensor.dtype) > kStreamingBytes) {}

  // `row` and `row_stride` are in floats from the start of the rows.
  void rotate(const Rows& rows, std::ptrdiff_t row, std::ptrdiff_t row_stride, const HeadRange& heads) const {
    if (!is_streaming_) return rotate_run(rows, row, row_stride, heads);
    const std::ptrdiff_t head_bytes = heads.stride * size_of(tensor_.dtype);
    const int step = std::max<int>(1, static_cast<int>(kPieceBytes / head_bytes));
    for (int head = 0; head < heads.count; head += step) {
      const HeadRange piece = {heads.first + head * heads.stride, heads.stride, std::min(step, heads.count - head)};
      touch_lines(static_cast<const char*>(tensor_.source) + byte_offset(piece), piece.count * head_bytes);
      rotate_run(rows, row + head * row_stride, row_stride, piece);
    }
  }

 private:
  void rotate_run(const Rows& rows, std::ptrdiff_t row, std::ptrdiff_t row_stride, const HeadRange& heads) const {
    const std::ptrdiff_t size = size_of(tensor_.dtype);
    const char* source = static_cast<const char*>(tensor_.source) + byte_offset(heads);
    char* target = static_cast<char*>(tensor_.target) + byte_offset(heads);
    if (source != target && span_.size != tensor_.shape.head_dim) {
      copy(source, target, heads);
      source = target;
    }
    const std::ptrdiff_t offset = span_.offset * size;
    kernel_({source + offset, target + offset, heads.stride, heads.stride, row_stride, rows.cos + row, rows.sin + row, span_.size / 2,
             heads.count});
  }

  // Unsigned, because a tensor in wasm memory may have more bytes than a 32-bit ptrdiff_t can count.
  std::size_t byte_offset(const HeadRange& heads) const {
    return static_cast<std::size_t>(heads.first) * static_cast<std::size_t>(size_of(tensor_.dtype));
  }

  void copy(const char* source, char* target, const HeadRange& heads) const {
    const std::size_t size = size_of(tensor_.dtype);
    for (int head = 0; head < heads.count; ++head) {
      std::memcpy(target + head * heads.stride * size, source + head * heads.stride * size, tensor_.shape.head_dim * size);
    }
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
  const std::ptrdiff_t dim = shape.head_dim, pairs = span.size / 2;
  const std::ptrdiff_t batch_size = dim * shape.heads * shape.tokens;
  const bool heads_are_adjacent = tensor.layout != Layout::bhtd || shape.tokens == 1;

  for (int batch = 0; batch < block.batches; ++batch) {
    const std::ptrdiff_t base = (block.batch + batch) * batch_size;
    const std::ptrdiff_t first_row = rows.per_batch ? batch * block.count * pairs : 0;
    if (heads_are_adjacent) {
      for (int token = 0; token < block.count; ++token) {
        walker.rotate(rows, first_row + token * pairs, 0, {base + (block.first + token) * shape.heads * dim, dim, shape.heads});
      }
      continue;
    }
    const int step = std::max<int>(1, kRowBytesInCache / static_cast<int>(2 * pairs * sizeof(float)));
    for (int token = 0; token < block.count; token += step) {
      const int count = std::min(step, block.count - token);
      for (int head = 0; head < shape.heads; ++head) {
        const std::ptrdiff_t first = base + (static_cast<std::ptrdiff_t>(head) * shape.tokens + block.first + token) * dim;
        walker.rotate(rows, first_row + token * pairs, pairs, {first, dim, count});
      }
    }
  }
}

}  // namespace ropewalk
