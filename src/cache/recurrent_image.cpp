#include "cache/recurrent_image.h"

#include <cmath>

#include "base/image.h"

namespace ropewalk {
namespace {

struct Tokens {
  std::int32_t now, before;
};

std::size_t header_bytes(const RecurrentState& state) { return sizeof(Tokens) + state.layers() * sizeof(double); }

// Saves the floats of each layer as f64: size_t differs between platforms.
void put_sizes(const RecurrentState& state, char* at) {
  for (int layer = 0; layer < state.layers(); ++layer) {
    const double size = static_cast<double>(state.size(layer));
    std::memcpy(at + layer * sizeof(double), &size, sizeof(size));
  }
}

bool has_sizes(const RecurrentState& state, const char* at) {
  for (int layer = 0; layer < state.layers(); ++layer) {
    double size;
    std::memcpy(&size, at + layer * sizeof(double), sizeof(size));
    if (size != static_cast<double>(state.size(layer))) return false;
  }
  return true;
}

bool are_finite(const float* x, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i])) return false;
  }
  return true;
}

}  // namespace

std::size_t RecurrentImage::bytes(const RecurrentState& state) {
  const std::size_t states = state.tokens_before_ == RecurrentState::kNone ? 1 : 2;
  return sizeof(ImageStart) + header_bytes(state) + states * state.floats() * sizeof(float) + kChecksumBytes;
}

void RecurrentImage::save(const RecurrentState& state, void* target) {
  char* const first = static_cast<char*>(target);
  const std::size_t content = state.floats() * sizeof(float);
  const bool has_before = state.tokens_before_ != RecurrentState::kNone;
  const ImageStart start =
      image_start(ImageKind::recurrent_state, header_bytes(state), static_cast<double>(has_before ? 2 * content : content));
  const Tokens tokens = {state.tokens_, state.tokens_before_};
  char* at = first;
  const auto put = [&at](const void* from, std::size_t size) {
    if (size > 0) std::memcpy(at, from, size);
    at += size;
  };
  put(&start, sizeof(start));
  put(&tokens, sizeof(tokens));
  put_sizes(state, at);
  at += state.layers() * sizeof(double);
  put(state.now_.data(), content);
  if (has_before) put(state.before_.data(), content);
  Checksum checksum;
  checksum.add(first, at - first);
  const std::uint32_t sum = checksum.value();
  put(&sum, sizeof(sum));
}

Status RecurrentImage::restore(RecurrentState& state, const void* source, std::size_t bytes) {
  const char* at = static_cast<const char*>(source);
  ImageStart start;
  if (bytes < sizeof(start)) return Status::image_too_short;
  std::memcpy(&start, at, sizeof(start));
  if (const Status status = check_start(start, ImageKind::recurrent_state, static_cast<double>(bytes)); status != Status::ok) return status;
  if (start.header_bytes != header_bytes(state)) return Status::image_geometry;
  Tokens tokens;
  at += sizeof(start);
  if (bytes < sizeof(start) + header_bytes(state) + kChecksumBytes) return Status::image_too_short;
  std::memcpy(&tokens, at, sizeof(tokens));
  if (!has_sizes(state, at + sizeof(tokens))) return Status::image_geometry;
  const bool has_before = tokens.before != RecurrentState::kNone;
  const std::size_t content = state.floats() * sizeof(float);
  if (bytes != sizeof(start) + header_bytes(state) + (has_before ? 2 : 1) * content + kChecksumBytes) return Status::image_content;
  std::uint32_t sum;
  Checksum checksum;
  checksum.add(source, bytes - kChecksumBytes);
  std::memcpy(&sum, static_cast<const char*>(source) + bytes - kChecksumBytes, sizeof(sum));
  if (sum != checksum.value()) return Status::image_checksum;
  if (tokens.now < 0 || tokens.before < RecurrentState::kNone || tokens.before > tokens.now) return Status::image_content;

  Buffer<float> now, before;
  if (!now.resize(state.floats()) || !before.resize(state.floats())) return Status::out_of_memory;
  at += header_bytes(state);
  if (content > 0) std::memcpy(now.data(), at, content);
  if (has_before && content > 0) std::memcpy(before.data(), at + content, content);
  if (!are_finite(now.data(), state.floats()) || (has_before && !are_finite(before.data(), state.floats()))) return Status::image_content;
  state.forget_checkpoints();
  state.now_ = std::move(now);
  state.before_ = std::move(before);
  state.tokens_ = tokens.now;
  state.tokens_before_ = tokens.before;
  return Status::ok;
}

}  // namespace ropewalk
