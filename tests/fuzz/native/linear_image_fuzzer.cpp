// Images of linear attention, damaged at will: an image is refused and nothing changes, or the state works and can be saved again.
#include <cstring>

#include "attention/linear_image.h"
#include "fuzz_image.h"

using namespace ropewalk;

namespace {

Image image_of(const LinearAttention& sums) {
  Image image(linear_image_bytes(sums));
  save_linear(sums, image.data(), nullptr);
  return image;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  const int kv_heads = input.between(1, 2), heads = kv_heads * input.between(1, 2), head_dim = input.between(2, 9);
  LinearAttention sums, fresh;
  EXPECT_HOLDS(sums.configure(heads, kv_heads, head_dim) == Status::ok && fresh.configure(heads, kv_heads, head_dim) == Status::ok);
  const int tokens = input.between(0, 4);
  std::vector<float> q = input.ordinaries(4 * heads * head_dim), k = input.ordinaries(4 * kv_heads * head_dim), out(q.size());
  const auto append = [&](LinearAttention& to, int count) {
    return to.append(nullptr, {0, nullptr, 1, 1, count}, {q.data(), k.data(), k.data(), out.data(), Layout::thd, count});
  };
  if (tokens > 0) EXPECT_HOLDS(append(sums, tokens) == Status::ok);

  const Image before = image_of(fresh), image = damaged(image_of(sums), input);
  if (restore_linear(fresh, image.data(), image.size(), nullptr) != Status::ok) {
    EXPECT_HOLDS(image_of(fresh) == before);
    return 0;
  }
  const Image restored = image_of(fresh);
  EXPECT_HOLDS(restore_linear(sums, restored.data(), restored.size(), nullptr) == Status::ok && image_of(sums) == restored);
  append(fresh, 2);
  return 0;
}
