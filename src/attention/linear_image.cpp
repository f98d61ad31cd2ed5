#include "attention/linear_image.h"

#include <algorithm>

#include "base/image.h"

namespace ropewalk {
namespace {

struct LinearHeader {
  std::int32_t heads, kv_heads, head_dim;
  std::uint32_t rope;
  double tokens;
};

std::size_t content_bytes(const LinearAttention& attention) { return attention.state_size() * sizeof(float); }

// Of everything that decides how a key is rotated. 0 without a rope.
std::uint32_t checksum_of(const FrequencyPlan* plan) {
  if (plan == nullptr) return 0;
  Checksum checksum;
  const auto add = [&checksum](const auto&... values) { (checksum.add(&values, sizeof(values)), ...); };
  add(plan->rotary_dim, plan->rotary_offset, plan->pairing, plan->precision, plan->attention_factor, plan->xpos_scale_base,
      plan->xpos_center);
  checksum.add(plan->inv_freq.data(), plan->inv_freq.size() * sizeof(double));
  checksum.add(plan->xpos_scale.data(), plan->xpos_scale.size() * sizeof(double));
  checksum.add(plan->axis_of_pair.data(), plan->axis_of_pair.size());
  return std::max(checksum.value(), 1u);
}

LinearHeader header_of(const LinearAttention& attention, const FrequencyPlan* plan) {
  return {attention.heads(), attention.kv_heads(), attention.head_dim(), checksum_of(plan), static_cast<double>(attention.tokens())};
}

}  // namespace

std::size_t linear_image_bytes(const LinearAttention& attention) {
  return sizeof(ImageStart) + sizeof(LinearHeader) + content_bytes(attention) + kChecksumBytes;
}

void save_linear(const LinearAttention& attention, void* target, const FrequencyPlan* plan) {
  char* at = static_cast<char*>(target);
  const ImageStart start = image_start(ImageKind::linear_attention, sizeof(LinearHeader), static_cast<double>(content_bytes(attention)));
  const LinearHeader header = header_of(attention, plan);
  std::memcpy(at, &start, sizeof(start));
  std::memcpy(at + sizeof(start), &header, sizeof(header));
  std::memcpy(at + sizeof(start) + sizeof(header), attention.state(), content_bytes(attention));
  Checksum checksum;
  const std::size_t summed = linear_image_bytes(attention) - kChecksumBytes;
  checksum.add(target, summed);
  const std::uint32_t sum = checksum.value();
  std::memcpy(at + summed, &sum, sizeof(sum));
}

Status restore_linear(LinearAttention& attention, const void* source, std::size_t bytes, const FrequencyPlan* plan) {
  const char* at = static_cast<const char*>(source);
  ImageStart start;
  LinearHeader header;
  if (bytes < sizeof(start)) return Status::image_too_short;
  std::memcpy(&start, at, sizeof(start));
  if (const Status status = check_start(start, ImageKind::linear_attention, static_cast<double>(bytes)); status != Status::ok)
    return status;
  if (start.header_bytes != sizeof(header)) return Status::image_content;
  if (bytes != linear_image_bytes(attention)) return Status::image_geometry;
  std::memcpy(&header, at + sizeof(start), sizeof(header));
  const LinearHeader own = header_of(attention, plan);
  if (header.heads != own.heads || header.kv_heads != own.kv_heads || header.head_dim != own.head_dim) return Status::image_geometry;

  Checksum checksum;
  checksum.add(source, bytes - kChecksumBytes);
  std::uint32_t sum;
  std::memcpy(&sum, at + bytes - kChecksumBytes, sizeof(sum));
  if (sum != checksum.value()) return Status::image_checksum;
  if (header.rope != own.rope) return Status::image_rope;
  Buffer<float> state;  // a copy, because the image may not be aligned for floats
  if (!state.resize(attention.state_size())) return Status::out_of_memory;
  std::memcpy(state.data(), at + sizeof(start) + sizeof(header), content_bytes(attention));
  return attention.set_state(state.data(), header.tokens);
}

}  // namespace ropewalk
