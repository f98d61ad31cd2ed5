// Products of many rows for `npm run bench -- products`, and their bounds: loops of nothing but the loads, arithmetic and stores of a tile,
// whose data are in the first-level cache. And the bound of the products of one token. Linked into the module of limits.cpp.
#include <emscripten.h>
#include <wasm_simd128.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/add_product.h"
#include "base/buffer.h"
#include "base/computed_here.h"
#ifdef __wasm_relaxed_simd__
#include "base/relaxed_simd.h"
#endif
#include "base/touch.h"
#include "matmul/activations.h"
#include "matmul/kernels/lane_constants.h"
#include "matmul/kernels/load_at.h"
#include "matmul/kernels/matmul_unrolled.h"
#include "matmul/matmul.h"
#include "matmul/packed_rows.h"
#include "tests/bench/fastest_arithmetic.h"

using namespace ropewalk;

namespace {

using Arithmetic = FastestArithmetic;

#ifdef __wasm_relaxed_simd__
constexpr int kElementBytes = 1;
v128_t add_products(v128_t sum, v128_t row, v128_t column) { return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(column, row, sum); }
#else
constexpr int kElementBytes = 2;
v128_t add_products(v128_t sum, v128_t row, v128_t column) { return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(row, column)); }
#endif

// What a loop repeats: a chunk of a panel, and up to this many tokens. They are multiplied together as tiles multiply them: six by six
// where one instruction multiplies and adds, else four by four.
constexpr int kColumns = 256, kTokens = 128;
#ifdef __wasm_relaxed_simd__
constexpr int kTogether = 6;
#else
constexpr int kTogether = 4;
#endif

alignas(64) std::uint8_t chunk[kPanelRows * kColumns * sizeof(float)];
alignas(64) std::uint8_t inputs[kTokens * kColumns * sizeof(float)];
alignas(64) float row_scales[kColumns / kActivationGroup][kPanelRows], input_scales[kTokens * kColumns / kActivationGroup];
alignas(64) float sums[kTokens * kPanelRows * 4];

// Calls tile.operator()<Together>(token) for all tokens, a multiple of four.
template <class Tile>
void each_tile(int tokens, Tile&& tile) {
  int token = 0;
  for (; tokens - token >= 2 * kTogether || (tokens - token) % 4 != 0; token += kTogether) tile.template operator()<kTogether>(token);
  for (; token < tokens; token += 4) tile.template operator()<4>(token);
}

// The products with 32 columns of some tokens.
template <int Together>
ROPEWALK_INLINE inline void multiply_group(const std::uint8_t* weights, const std::uint8_t* x, v128_t (&products)[Together][2]) {
  unrolled<2 * Together>([&]<int I>() ROPEWALK_INLINE { products[I / 2][I % 2] = wasm_i32x4_splat(0); });
  const std::uint8_t* const end = weights + kActivationGroup * kPanelRows * kElementBytes;
  ROPEWALK_ROLLED for (; weights != end; weights += 32, x += 4 * Together) {
    const v128_t low = wasm_v128_load(weights), high = wasm_v128_load(weights + 16);
    unrolled<Together>([&]<int T>() ROPEWALK_INLINE {
      const v128_t column = wasm_v128_load32_splat(x + 4 * T);
      products[T][0] = add_products(products[T][0], low, column);
      products[T][1] = add_products(products[T][1], high, column);
      computed_here(products[T][0], products[T][1]);
    });
  }
}

template <int Together>
void quantized_bound(int token) {
  const std::uint8_t* x = inputs + token * kColumns * kElementBytes;
  const float* x_scales = input_scales + token * kColumns / kActivationGroup;
  const std::uint8_t* weights = chunk;
  for (int group = 0; group < kColumns / kActivationGroup; ++group, x_scales += Together) {
    v128_t products[Together][2];
    multiply_group(weights, x, products);
    weights += kActivationGroup * kPanelRows * kElementBytes;
    x += kActivationGroup * Together * kElementBytes;
    const v128_t scales[2] = {wasm_v128_load(row_scales[group]), wasm_v128_load(row_scales[group] + 4)};
    unrolled<Together>([&]<int T>() ROPEWALK_INLINE {
      const v128_t x_scale = wasm_v128_load32_splat(x_scales + T);
      float* const to = sums + (token + T) * kPanelRows;
      const v128_t low = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(products[T][0]), scales[0]);
      const v128_t high = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(products[T][1]), scales[1]);
      wasm_v128_store(to, Arithmetic::add_product(wasm_v128_load(to), low, x_scale));
      wasm_v128_store(to + 4, Arithmetic::add_product(wasm_v128_load(to + 4), high, x_scale));
    });
  }
}

// One of the four partial sums of some tokens.
template <int Together>
void float_bound(int token, int part) {
  const float* x = reinterpret_cast<const float*>(inputs) + token * kColumns;
  const float* weights = reinterpret_cast<const float*>(chunk) + part * kPanelRows * kColumns / 4;
  float* const to = sums + (part * kTokens + token) * kPanelRows;
  v128_t totals[Together][2];
  unrolled<2 * Together>([&]<int I>() ROPEWALK_INLINE { totals[I / 2][I % 2] = wasm_v128_load(to + 4 * I); });
  const float* const end = weights + kPanelRows * kColumns / 4;
  ROPEWALK_ROLLED for (; weights != end; weights += kPanelRows, x += Together) {
    const v128_t low = wasm_v128_load(weights), high = wasm_v128_load(weights + 4);
    unrolled<Together>([&]<int T>() ROPEWALK_INLINE {
      const v128_t column = wasm_v128_load32_splat(x + T);
      totals[T][0] = Arithmetic::add_product(totals[T][0], low, column);
      totals[T][1] = Arithmetic::add_product(totals[T][1], high, column);
      computed_here(totals[T][0], totals[T][1]);
    });
  }
  unrolled<2 * Together>([&]<int I>() ROPEWALK_INLINE { wasm_v128_store(to + 4 * I, totals[I / 2][I % 2]); });
}

// All tokens with a chunk. Meanwhile fetches a chunk's lines from `fetched`, unless it is null.
void float_bounds(int tokens, const char* fetched) {
  constexpr int kLines = kPanelRows * kColumns * sizeof(float) / kLineBytes;
  each_tile(tokens, [&]<int Together>(int token) {
    for (int part = 0; part < 4; ++part) {
      const int before = 4 * token + part * Together;
      const int first = kLines * before / (4 * tokens), last = kLines * (before + Together) / (4 * tokens);
      if (fetched != nullptr) touch_lines(fetched + first * kLineBytes, (last - first) * kLineBytes);
      float_bound<Together>(token, part);
    }
  });
}

// Products of a token with four columns of four rows of q8_0, whose bytes are joined in words (matmul_integer_dot.h), and how many panels
// are multiplied with a column at a time.
struct Words {
  static constexpr int kElementBytes = 2, kPanels = 2;
  template <int Unit>
  ROPEWALK_INLINE static v128_t add(v128_t sum, v128_t bytes, const std::uint8_t* x) {
    const auto add_words = [](v128_t sum, v128_t words, v128_t column) { return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(words, column)); };
    sum = add_words(sum, bytes, load32_splat_at<8 * Unit>(x));
    return add_words(sum, wasm_i16x8_shr(bytes, 8), load32_splat_at<8 * Unit + 4>(x));
  }
};

#ifdef __wasm_relaxed_simd__
// The same with bytes, where the engine's relaxed dot product reads all eight bits of the weights.
struct Bytes {
  static constexpr int kElementBytes = 1, kPanels = 1;
  template <int Unit>
  ROPEWALK_INLINE static v128_t add(v128_t sum, v128_t bytes, const std::uint8_t* x) {
    return add_products(sum, bytes, load32_splat_at<4 * Unit>(x));
  }
};
#endif

template <class Dot>
float token_loop(const std::uint8_t* weights, int blocks, int places, int repeats) {
  constexpr int kPanels = Dot::kPanels, kUnits = 2 / kPanels, kScales = 2 * kPanelRows;
  constexpr std::ptrdiff_t kBlockBytes = kScales + kPanelRows * kActivationGroup;
  constexpr int kGroupBytes = kActivationGroup * Dot::kElementBytes, kStepBytes = 4 * kUnits * Dot::kElementBytes;
  const bool in_one_place = places < kPanels;  // then panels that are multiplied together follow each other
  const int turns = in_one_place ? kPanels : places, steps = blocks / turns;
  const std::ptrdiff_t apart = in_one_place ? kBlockBytes : steps * kBlockBytes;
  const std::ptrdiff_t step_bytes = in_one_place ? kPanels * kBlockBytes : kBlockBytes;
  v128_t totals[kPanels][2] = {};
  for (int count = 0, i = 0; count < repeats * steps; ++count, i = i + 1 == steps ? 0 : i + 1) {
    const std::uint8_t* block = weights + i * step_bytes;
    const int group = i % (kColumns / kActivationGroup);
    for (int turn = 0; turn < turns; turn += kPanels, block += kPanels * apart) {
      const std::uint8_t* x = inputs + group * kGroupBytes;
      const v128_t x_scale = wasm_v128_load32_splat(input_scales + group);
      v128_t products[kPanels][2] = {};
      const std::uint8_t* from = block + kScales;
      ROPEWALK_ROLLED for (const std::uint8_t* const end = x + kGroupBytes; x != end; x += kStepBytes, from += 32 * kUnits) {
        loaded_again(from);
        const std::uint8_t* second = from + apart;
        if constexpr (kPanels == 2) loaded_again(second);
        unrolled<kUnits>([&]<int U>() ROPEWALK_INLINE {
          unrolled<2 * kPanels>([&]<int I>() ROPEWALK_INLINE {
            const v128_t bytes = wasm_v128_load((I < 2 ? from : second) + 32 * U + I % 2 * 16);
            products[I / 2][I % 2] = Dot::template add<U>(products[I / 2][I % 2], bytes, x);
          });
        });
      }
      unrolled<2 * kPanels>([&]<int I>() ROPEWALK_INLINE {  // the exponents of scales can be corrected by x_scale
        const v128_t halves = wasm_i32x4_load16x4(block + I / 2 * apart + I % 2 * 8);
        const v128_t scale = wasm_v128_and(wasm_i32x4_shl(halves, 13), lanes(kLanes.f16_bits));
        v128_t& total = totals[I / 2][I % 2];
        total = Arithmetic::add_product(total, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(products[I / 2][I % 2]), scale), x_scale);
      });
    }
  }
  v128_t total = wasm_f32x4_add(totals[0][0], totals[0][1]);
  if constexpr (kPanels == 2) total = wasm_f32x4_add(total, wasm_f32x4_add(totals[1][0], totals[1][1]));
  return wasm_f32x4_extract_lane(total, 0);
}

// The product that is measured. Its copies, one after another, take more memory than caches have.
Buffer<std::uint8_t> weights;
Buffer<float> x, out;
WeightMatrix matrix;
std::size_t matrix_bytes;
int copies, latest;
Activations activations;

// The next copy of the weights.
const std::uint8_t* next_copy() {
  latest = (latest + 1) % copies;
  return weights.data() + latest * matrix_bytes;
}

}  // namespace

extern "C" {

// Fills the data of the bounds. (Compilers compute with zeros while they compile, if nothing else is ever stored there.)
EMSCRIPTEN_KEEPALIVE void fill_bounds() {
  std::uint32_t random = 1;
  const auto next = [&] { return (static_cast<float>((random = random * 1664525 + 1013904223) >> 24) - 127) / 128; };
  const auto fill = [&](void* to, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += sizeof(float)) {
      const float value = next();
      std::memcpy(static_cast<std::uint8_t*>(to) + i, &value, sizeof value);
    }
  };
  fill(chunk, sizeof chunk);
  fill(inputs, sizeof inputs);
  fill(row_scales, sizeof row_scales);
  fill(input_scales, sizeof input_scales);
  std::fill(std::begin(sums), std::end(sums), 0.0f);
}

// Makes `count` copies of weights [rows, columns], f32 or q8_0, for products with up to `tokens` tokens. Returns false if there is no
// memory.
EMSCRIPTEN_KEEPALIVE bool make_product(bool is_float, int rows, int columns, int tokens, int count) {
  matrix = {is_float ? WeightFormat::f32 : WeightFormat::q8_0, rows, columns, nullptr, 0};
  const std::size_t bytes = matrix_bytes = weight_row_bytes(matrix.format, columns) * rows;
  copies = count;
  latest = 0;
  if (!weights.resize(std::uint64_t(bytes) * copies) || !x.resize(std::uint64_t(tokens) * columns) ||
      !out.resize(std::uint64_t(tokens) * rows))
    return false;
  std::uint32_t random = 1;
  const auto next = [&] { return (random = random * 1664525 + 1013904223) >> 24; };
  if (is_float) {
    for (std::size_t i = 0; i < bytes; i += sizeof(float)) {
      const float value = (static_cast<float>(next()) - 127) / 512;
      std::memcpy(weights.data() + i, &value, sizeof value);
    }
  } else {
    for (std::size_t i = 0; i < bytes; ++i) weights[i] = static_cast<std::uint8_t>(next());
    const std::uint16_t scale = 0x2000;  // 2^-7
    for (std::size_t i = 0; i < bytes; i += block_bytes(WeightFormat::q8_0)) std::memcpy(weights.data() + i, &scale, sizeof scale);
  }
  for (int i = 0; i < tokens * columns; ++i) x[i] = (static_cast<float>(next()) - 127) / 64;
  matrix.data = weights.data();
  if (pack_rows(matrix, weights.data(), rows) != Status::ok) return false;
  for (int copy = 1; copy < copies; ++copy) std::memcpy(weights.data() + copy * bytes, weights.data(), bytes);
  return true;
}

// Multiplies with one copy after another, and rounds or rearranges the inputs before.
EMSCRIPTEN_KEEPALIVE bool run_product(int tokens, int repeats) {
  const Product product = {&matrix, nullptr, out.data(), matrix.rows};
  bool is_ok = true;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    matrix.data = next_copy();
    activations.set(x.data(), matrix.columns, tokens, matrix.columns);
    is_ok = multiply(fastest_matmul_kernels(), {&product, 1}, activations) == Status::ok && is_ok;
  }
  return is_ok;
}

// As many multiplications and additions as run_product has. If there are several copies of f32 weights, each reads one from memory.
EMSCRIPTEN_KEEPALIVE void product_bound(int tokens, int repeats) {
  constexpr int kChunkBytes = kPanelRows * kColumns * sizeof(float);
  const int chunks = matrix.rows / kPanelRows * matrix.columns / kColumns;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const char* const fetched = copies > 1 ? reinterpret_cast<const char*>(next_copy()) : nullptr;
    for (int i = 0; i < chunks; ++i) {
      for (int first = 0; first < tokens; first += kTokens) {
        const int count = std::min(kTokens, tokens - first);
        if (is_float(matrix.format)) {
          float_bounds(count, first == 0 && fetched != nullptr ? fetched + i * kChunkBytes : nullptr);
        } else {
          each_tile(count, []<int Together>(int token) { quantized_bound<Together>(token); });
        }
      }
    }
  }
}

// Bound of a token's products with `blocks` blocks of 32 columns of eight rows of q8_0: nothing but the loads, conversions of scales, dot
// products and sums. Reads as many parts of them in turn as there are `places`.
EMSCRIPTEN_KEEPALIVE float token_bound(const std::uint8_t* weights, int blocks, int places, int repeats) {
#ifdef __wasm_relaxed_simd__
  if (relaxed_sign() != RelaxedSign::neither) return token_loop<Bytes>(weights, blocks, places, repeats);
#endif
  return token_loop<Words>(weights, blocks, places, repeats);
}

// The same for one token and the weights of run_product().
EMSCRIPTEN_KEEPALIVE float product_of_token_bound(int places, int repeats) {
  const int blocks = matrix.rows / kPanelRows * (matrix.columns / kActivationGroup);
  return token_bound(weights.data(), blocks, places, repeats);
}
}
