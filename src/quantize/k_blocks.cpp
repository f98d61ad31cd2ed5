// Blocks of 256 elements. For each group of 16 or 32 elements, a search over some twenty scales finds the one with the least weighted
// error.
//
// Four groups are searched at a time, one in each lane. A lane adds in the order of ggml's loops, so its sums have the same bits.
#include <wasm_simd128.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/loaded_constants.h"
#include "base/storage.h"
#include "quantize/quantize_blocks.h"

namespace ropewalk {
namespace {

constexpr int kElements = 256, kLanes = 4;

v128_t splat(float value) { return wasm_f32x4_splat(value); }
v128_t add(v128_t a, v128_t b) { return wasm_f32x4_add(a, b); }
v128_t subtract(v128_t a, v128_t b) { return wasm_f32x4_sub(a, b); }
v128_t multiply(v128_t a, v128_t b) { return wasm_f32x4_mul(a, b); }
v128_t divide(v128_t a, v128_t b) { return wasm_f32x4_div(a, b); }
v128_t is_above(v128_t a, v128_t b) { return wasm_f32x4_gt(a, b); }
v128_t where(v128_t condition, v128_t yes, v128_t no) { return wasm_v128_bitselect(yes, no, condition); }

// The nearest integers from `Least` to `Most`, ties to even, as floats. Up to 2^22 in magnitude; ggml's nearest_int() gives the same bits
// for others too.
template <int Least, int Most>
class Nearest {
 public:
  Nearest() {
    static constexpr std::int32_t kConstants[] = {std::bit_cast<std::int32_t>(0x1.8p23f), 0x7FFFFF, 0x400000, Least, Most};
    const LoadedConstants c(kConstants);
    magic_ = c[0], mantissa_ = c[1], middle_ = c[2], least_ = c[3], most_ = c[4];
  }
  v128_t operator()(v128_t x) const {
    const v128_t rounded = wasm_i32x4_sub(wasm_v128_and(add(x, magic_), mantissa_), middle_);
    return wasm_f32x4_convert_i32x4(wasm_i32x4_max(least_, wasm_i32x4_min(most_, rounded)));
  }

 private:
  v128_t magic_, mantissa_, middle_, least_, most_;
};

int nearest(float x) {
  const Nearest<-0x400000, 0x3FFFFF> nearest;
  return wasm_i32x4_extract_lane(wasm_i32x4_trunc_sat_f32x4(nearest(splat(x))), 0);
}

// Elements i of four groups of `Size` that follow each other.
template <int Size>
void load_groups(const float* x, v128_t (&out)[Size]) {
  for (int i = 0; i < Size; ++i) out[i] = wasm_f32x4_make(x[i], x[Size + i], x[2 * Size + i], x[3 * Size + i]);
}

template <int Size>
void store_groups(const v128_t (&quants)[Size], std::int8_t* out) {
  for (int i = 0; i < Size; ++i) {
    const v128_t integers = wasm_i32x4_trunc_sat_f32x4(quants[i]);
    out[i] = static_cast<std::int8_t>(wasm_i32x4_extract_lane(integers, 0));
    out[Size + i] = static_cast<std::int8_t>(wasm_i32x4_extract_lane(integers, 1));
    out[2 * Size + i] = static_cast<std::int8_t>(wasm_i32x4_extract_lane(integers, 2));
    out[3 * Size + i] = static_cast<std::int8_t>(wasm_i32x4_extract_lane(integers, 3));
  }
}

float rounded_to_half(float value, std::uint8_t* where) {
  Float16 half;
  from_float(value, half);
  std::memcpy(where, &half, sizeof half);
  return to_float(half);
}

// make_qkx2_quants(): scales and minimums for quants from 0 to 15, so that x ≈ scale · quant - minimum. Elements far from zero weigh more.
constexpr int kGroup4 = 32;
void search_q4(const float* group, float* scales, float* minimums, std::int8_t* quants) {
  const Nearest<0, 15> nearest;
  v128_t x[kGroup4], weight[kGroup4], best[kGroup4], tried[kGroup4];
  load_groups(group, x);
  v128_t sum_of_squares = splat(0.0f);
  for (const v128_t& value : x) sum_of_squares = add(sum_of_squares, multiply(value, value));
  const v128_t root_mean_square = wasm_f32x4_sqrt(divide(sum_of_squares, splat(32.0f)));
  for (int i = 0; i < kGroup4; ++i) weight[i] = add(root_mean_square, wasm_f32x4_abs(x[i]));

  v128_t least = x[0], most = x[0], sum_w = weight[0], sum_x = multiply(weight[0], x[0]);
  for (int i = 1; i < kGroup4; ++i) {
    least = where(is_above(least, x[i]), x[i], least);
    most = where(is_above(x[i], most), x[i], most);
    sum_w = add(sum_w, weight[i]);
    sum_x = add(sum_x, multiply(weight[i], x[i]));
  }
  least = where(is_above(least, splat(0.0f)), splat(0.0f), least);
  const v128_t is_flat = wasm_f32x4_eq(most, least), flat_minimum = wasm_f32x4_neg(least);

  const v128_t first_inverse = divide(splat(15.0f), subtract(most, least));
  v128_t scale = divide(splat(1.0f), first_inverse), least_error = splat(0.0f);
  for (int i = 0; i < kGroup4; ++i) {
    best[i] = nearest(multiply(first_inverse, subtract(x[i], least)));
    const v128_t difference = subtract(add(multiply(scale, best[i]), least), x[i]);
    least_error = add(least_error, multiply(weight[i], multiply(difference, difference)));
  }
  for (int step = 0; step <= 20; ++step) {
    // as in ggml, a better scale moves the minimum that the next steps start from
    const v128_t inverse = divide(splat(-1.0f + 0.1f * static_cast<float>(step) + 15.0f), subtract(most, least));
    v128_t sum_l = splat(0.0f), sum_l2 = splat(0.0f), sum_xl = splat(0.0f);
    for (int i = 0; i < kGroup4; ++i) {
      tried[i] = nearest(multiply(inverse, subtract(x[i], least)));
      const v128_t weighted = multiply(weight[i], tried[i]);
      sum_l = add(sum_l, weighted);
      sum_l2 = add(sum_l2, multiply(weighted, tried[i]));
      sum_xl = add(sum_xl, multiply(weighted, x[i]));
    }
    const v128_t determinant = subtract(multiply(sum_w, sum_l2), multiply(sum_l, sum_l));
    v128_t this_scale = divide(subtract(multiply(sum_w, sum_xl), multiply(sum_x, sum_l)), determinant);
    v128_t this_least = divide(subtract(multiply(sum_l2, sum_x), multiply(sum_l, sum_xl)), determinant);
    const v128_t is_positive = is_above(this_least, splat(0.0f));
    this_least = where(is_positive, splat(0.0f), this_least);
    this_scale = where(is_positive, divide(sum_xl, sum_l2), this_scale);
    v128_t error = splat(0.0f);
    for (int i = 0; i < kGroup4; ++i) {
      const v128_t difference = subtract(add(multiply(this_scale, tried[i]), this_least), x[i]);
      error = add(error, multiply(weight[i], multiply(difference, difference)));
    }
    const v128_t is_better = wasm_v128_and(is_above(determinant, splat(0.0f)), is_above(least_error, error));
    if (!wasm_v128_any_true(is_better)) continue;
    for (int i = 0; i < kGroup4; ++i) best[i] = where(is_better, tried[i], best[i]);
    least_error = where(is_better, error, least_error);
    scale = where(is_better, this_scale, scale);
    least = where(is_better, this_least, least);
  }
  for (v128_t& quant : best) quant = where(is_flat, splat(0.0f), quant);
  store_groups(best, quants);
  wasm_v128_store(scales, where(is_flat, splat(0.0f), scale));
  wasm_v128_store(minimums, where(is_flat, flat_minimum, wasm_f32x4_neg(least)));
}

// make_qx_quants(): scales for quants from -32 to 31, so that x ≈ scale · quant, where squares of elements weigh. Quants are written
// plus 32.
constexpr int kGroup6 = 16;
constexpr float kSmallestGroup = 1e-15f;
void search_q6(const float* group, float* scales, std::int8_t* quants) {
  const Nearest<-32, 31> nearest;
  v128_t x[kGroup6], squares[kGroup6], cubes[kGroup6], best[kGroup6], tried[kGroup6];
  load_groups(group, x);
  for (int i = 0; i < kGroup6; ++i) squares[i] = multiply(x[i], x[i]), cubes[i] = multiply(squares[i], x[i]);
  v128_t magnitude = splat(0.0f), farthest = splat(0.0f);
  for (const v128_t& value : x) {
    const v128_t is_farther = is_above(wasm_f32x4_abs(value), magnitude);
    magnitude = where(is_farther, wasm_f32x4_abs(value), magnitude);
    farthest = where(is_farther, value, farthest);
  }
  const v128_t is_zero = is_above(splat(kSmallestGroup), magnitude);

  v128_t scale = splat(0.0f), score = splat(0.0f);
  // The first step is ggml's starting point, the others those from -9 to 9 but 0.
  for (int index = -10; index <= 9; ++index) {
    if (index == 0) continue;
    const int step = index == -10 ? 0 : index;
    const v128_t inverse = divide(splat(-(32.0f + 0.1f * static_cast<float>(step))), farthest);
    v128_t sum_lx = splat(0.0f), sum_l2 = splat(0.0f);
    for (int i = 0; i < kGroup6; ++i) {
      tried[i] = nearest(multiply(inverse, x[i]));
      sum_lx = add(sum_lx, multiply(cubes[i], tried[i]));
      sum_l2 = add(sum_l2, multiply(multiply(squares[i], tried[i]), tried[i]));
    }
    const v128_t is_first = wasm_i32x4_splat(index == -10 ? -1 : 0);
    const v128_t has_sum = is_above(sum_l2, splat(0.0f));
    const v128_t is_more = wasm_v128_and(has_sum, is_above(multiply(sum_lx, sum_lx), multiply(score, sum_l2)));
    const v128_t is_better = wasm_v128_or(is_first, is_more);
    if (!wasm_v128_any_true(is_better)) continue;
    for (int i = 0; i < kGroup6; ++i) best[i] = where(is_better, add(tried[i], splat(32.0f)), best[i]);
    const v128_t this_scale = wasm_v128_and(divide(sum_lx, sum_l2), has_sum);
    scale = where(is_better, this_scale, scale);
    score = where(is_better, multiply(this_scale, sum_lx), score);
  }
  for (v128_t& quant : best) quant = where(is_zero, splat(0.0f), quant);
  store_groups(best, quants);
  wasm_v128_store(scales, where(is_zero, splat(0.0f), scale));
}

// Rounds elements to quants again, with the scales as they are stored. The least quant is written as 0.
template <int Size, int Least, int Most>
void round_groups(const float* x, const float* scales, const float* minimums, std::int8_t* quants) {
  const Nearest<Least, Most> nearest;
  for (int group = 0; group < kElements / Size; ++group) {
    if (scales[group] == 0.0f) continue;
    const v128_t scale = splat(scales[group]), minimum = splat(minimums[group]);
    for (int i = group * Size; i < (group + 1) * Size; i += kLanes) {
      const v128_t quant = subtract(nearest(divide(add(wasm_v128_load(x + i), minimum), scale)), splat(Least));
      const v128_t integers = wasm_i32x4_trunc_sat_f32x4(quant);
      const v128_t halves = wasm_i16x8_narrow_i32x4(integers, integers);
      wasm_v128_store32_lane(quants + i, wasm_i8x16_narrow_i16x8(halves, halves), 0);
    }
  }
}

float largest_of(const float* values, int count) {
  float largest = 0.0f;
  for (int i = 0; i < count; ++i) {
    if (values[i] > largest) largest = values[i];
  }
  return largest;
}

}  // namespace

// A block: scale and scale of minimums in f16, 8 scales and 8 minimums of 6 bits, then 4 bits per element.
void quantize_q4_k(const float* x, std::uint8_t* block) {
  constexpr int kGroups = kElements / kGroup4;
  std::int8_t quants[kElements];
  float scales[kGroups], minimums[kGroups];
  for (int group = 0; group < kGroups; group += kLanes)
    search_q4(x + group * kGroup4, scales + group, minimums + group, quants + group * kGroup4);

  const float largest_scale = largest_of(scales, kGroups), largest_minimum = largest_of(minimums, kGroups);
  const float inverse_scale = largest_scale > 0.0f ? 63.0f / largest_scale : 0.0f;
  const float inverse_minimum = largest_minimum > 0.0f ? 63.0f / largest_minimum : 0.0f;
  const float scale = rounded_to_half(largest_scale / 63.0f, block);
  const float minimum_scale = rounded_to_half(largest_minimum / 63.0f, block + 2);
  std::uint8_t* const packed = block + 4;
  for (int group = 0; group < kGroups; ++group) {
    const int rounded_scale = static_cast<std::uint8_t>(nearest(inverse_scale * scales[group]));
    const int rounded_minimum = static_cast<std::uint8_t>(nearest(inverse_minimum * minimums[group]));
    const int s = rounded_scale < 63 ? rounded_scale : 63, m = rounded_minimum < 63 ? rounded_minimum : 63;
    if (group < 4) {
      packed[group] = static_cast<std::uint8_t>(s);
      packed[group + 4] = static_cast<std::uint8_t>(m);
    } else {
      packed[group + 4] = static_cast<std::uint8_t>((s & 15) | (m & 15) << 4);
      packed[group - 4] = static_cast<std::uint8_t>(packed[group - 4] | (s >> 4) << 6);
      packed[group] = static_cast<std::uint8_t>(packed[group] | (m >> 4) << 6);
    }
    scales[group] = scale * static_cast<float>(s);
    minimums[group] = minimum_scale * static_cast<float>(m);
  }
  round_groups<kGroup4, 0, 15>(x, scales, minimums, quants);
  for (int pair = 0; pair < kGroups / 2; ++pair) {
    const std::int8_t* low = quants + 2 * pair * kGroup4;
    for (int i = 0; i < kGroup4; ++i) block[16 + pair * kGroup4 + i] = static_cast<std::uint8_t>(low[i] | low[i + kGroup4] << 4);
  }
}

// A block: the lower 4 bits of elements, their upper 2 bits, 16 scales of 8 bits, then the scale in f16.
void quantize_q6_k(const float* x, std::uint8_t* block) {
  constexpr int kGroups = kElements / kGroup6;
  constexpr float kNoMinimums[kGroups] = {};
  std::uint8_t* const upper = block + 128;
  std::uint8_t* const packed = block + 192;
  std::int8_t quants[kElements];
  float scales[kGroups];
  for (int group = 0; group < kGroups; group += kLanes) search_q6(x + group * kGroup6, scales + group, quants + group * kGroup6);

  float farthest = 0.0f;
  for (const float scale : scales) {
    if (std::fabs(scale) > std::fabs(farthest)) farthest = scale;
  }
  if (std::fabs(farthest) < kSmallestGroup) {
    std::memset(block, 0, 210);
    return;
  }
  const float inverse = -128.0f / farthest;
  const float scale = rounded_to_half(1.0f / inverse, block + 208);
  for (int group = 0; group < kGroups; ++group) {
    const int rounded = nearest(inverse * scales[group]);
    const std::int8_t s = static_cast<std::int8_t>(rounded < 127 ? rounded : 127);
    packed[group] = static_cast<std::uint8_t>(s);
    scales[group] = scale * static_cast<float>(s);
  }
  round_groups<kGroup6, -32, 31>(x, scales, kNoMinimums, quants);
  for (int half = 0; half < 2; ++half) {
    const std::int8_t* q = quants + 128 * half;
    for (int i = 0; i < 32; ++i) {
      block[64 * half + i] = static_cast<std::uint8_t>((q[i] & 15) | (q[i + 64] & 15) << 4);
      block[64 * half + 32 + i] = static_cast<std::uint8_t>((q[i + 32] & 15) | (q[i + 96] & 15) << 4);
      upper[32 * half + i] = static_cast<std::uint8_t>(q[i] >> 4 | (q[i + 32] >> 4) << 2 | (q[i + 64] >> 4) << 4 | (q[i + 96] >> 4) << 6);
    }
  }
}

}  // namespace ropewalk
