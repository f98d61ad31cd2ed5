#include "matmul/matmul.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "base/computed_here.h"
#include "base/storage_wasmsimd.h"
#include "base/thread_pool.h"
#include "matmul/dequantize.h"
#include "matmul/kernels/matmul_unrolled.h"
#include "matmul/panel_exponent.h"

namespace ropewalk {
namespace {

// Number of tokens that share the unpacked columns of a panel. Their sums stay in the first-level cache.
constexpr int kTokensTogether = 128;

const std::uint8_t* bytes_of(const WeightMatrix& weights, int row) {
  return static_cast<const std::uint8_t*>(weights.data) + row * weight_row_bytes(weights.format, weights.columns);
}

// What the f16 numbers of packed rows are to be multiplied by.
float unit_of(const WeightMatrix& weights) { return std::ldexp(1.0f, -weights.exponent); }

// An exponent above 0 is only for panels without infinity and NaN.
bool is_surely_finite(const WeightMatrix& weights) { return weights.exponent > 0; }

// Without the calls of functions, outside of wasm, that compilers make of std::fill_n.
void clear(float* sums, int count) {
  v128_t zero = wasm_i32x4_splat(0);
  computed_here(zero);
  for (int i = 0; i < count; i += kPanelRows) store8(sums + i, {zero, zero});
}

F32x8 add8(F32x8 a, F32x8 b) { return {wasm_f32x4_add(a.low, b.low), wasm_f32x4_add(a.high, b.high)}; }

// Number of tokens in the tiles that `tokens` take.
int whole_tiles(int tokens) { return (tokens + kTileTokens - 1) / kTileTokens * kTileTokens; }

// The eight sums of a token, of which floats have four parts.
template <bool IsFloat>
F32x8 joined(const float* sums) {
  const F32x8 total = load8(sums);
  if constexpr (!IsFloat) return total;
  const F32x8 second = load8(sums + kPanelRows), third = load8(sums + 2 * kPanelRows), fourth = load8(sums + 3 * kPanelRows);
  return add8(add8(total, second), add8(third, fourth));
}

// The rows of up to kPanelsTogether panels below row `end`: of the panel at row `first`, of that `apart` rows later, and so on.
struct PanelRows {
  // Calls act(panel, row, rows) for each panel.
  template <class Act>
  void each_panel(Act&& act) const {
    for (int panel = 0, row = first; panel < kPanelsTogether && row < end; ++panel, row += apart)
      act(panel, row, std::min(kPanelRows, end - row));
  }

  int count() const { return std::min(kPanelsTogether, (end - first + apart - 1) / apart); }

  // Whether there are kPanelsTogether panels, of eight rows each.
  bool are_whole() const { return first + (kPanelsTogether - 1) * apart + kPanelRows <= end; }

  int first, apart, end;
};

// Multiplies the rows of up to kPanelsTogether panels with a run of tokens.
class PanelProduct {
 public:
  PanelProduct(const MatmulKernels& kernels, const WeightMatrix& weights, Activations& x)
      : weights_(weights),
        x_(x),
        format_(static_cast<int>(weights.format)),
        sums_per_token_(sums_per_token(is_float(weights.format))),
        row_bytes_(weight_row_bytes(weights.format, weights.columns)),
        kernels_(kernels),
        unit_(unit_of(weights)),
        is_finite_(!has_f16(weights.format) || is_surely_finite(weights)),
        end_(row_at(weights.packed_rows)),
        most_in_fours_(x.in_tiles() && is_surely_finite(weights) ? kernels.most_in_fours(weights.format) : 0),
        two_(is_surely_finite(weights) ? kernels.two[format_] : nullptr) {}

  // Whether packed panels are multiplied with so many tokens in turn (PanelParts).
  bool takes_turns(int tokens) const { return tokens <= most_in_fours_ || !x_.in_tiles(); }

  // Multiplies the packed panels of rows [first_row, last_row) with tokens [token, token + count): four panels at a time, which are far
  // apart (PanelParts).
  void multiply_in_turns(const Product& of, int first_row, int last_row, int token, int count) {
    const int fours = count <= most_in_fours_ ? std::min(x_.first_alone() - token, count) : 0, alone = count - fours;
    const TokenRows first_alone = alone > 0 ? x_.alone(token + fours, 0) : TokenRows{};
    sums_apart_ = std::max(count, whole_tiles(fours)) * sums_per_token_;
    float* const sums_alone = sums_ + fours * sums_per_token_;
    const int panels = (last_row - first_row) / kPanelRows, apart = (panels + kPanelsTogether - 1) / kPanelsTogether * kPanelRows;
    PanelParts parts = {
        {row_at(first_row), weights_.columns, unit_, end_}, 0, static_cast<std::ptrdiff_t>(apart * row_bytes_), sums_apart_};
    for (int row = first_row; row < first_row + apart; row += kPanelRows, parts.first.weights += kPanelRows * row_bytes_) {
      const PanelRows rows = {row, apart, last_row};
      parts.count = rows.count();
      clear(sums_, parts.count * sums_apart_);
      for (int t = 0; t < fours; t += kTileTokens)
        kernels_.four[format_](parts, x_.rows(token + t, 0, kTileTokens), sums_ + t * sums_per_token_);
      if (alone == 2 && two_ != nullptr) {
        two_(parts, first_alone, sums_alone);
      } else if (alone > 0) {
        add_token_in_turns(parts, first_alone, sums_alone);
        for (int t = 1; t < alone; ++t) add_token_in_turns(parts, x_.alone(token + fours + t, 0), sums_alone + t * sums_per_token_);
      }
      write(of, rows, token, count);
    }
  }

  // Computes the sums of any panels and tokens [token, token + count).
  void add(const PanelRows& rows, int token, int count) {
    sums_apart_ = whole_tiles(count) * sums_per_token_;
    rows.each_panel([&](int panel, int row, int rows) { add_panel(panel, row, rows, token, count); });
  }

  // Writes the sums of tokens [token, token + count). Cache lines are written whole: if each panel were written alone, so many other tokens
  // would come before the next that a line had left the first-level cache.
  void write(const Product& of, const PanelRows& rows, int token, int count) const {
    if (is_float(weights_.format))
      write_tokens<true>(of, rows, token, count);
    else
      write_tokens<false>(of, rows, token, count);
  }

 private:
  // Computes the sums of eight rows, or the last few, as those of panel `panel_of_sums`: with tiles, or of rows that aren't packed.
  void add_panel(int panel_of_sums, int row, int rows, int token, int count) {
    float* const sums = sums_ + panel_of_sums * sums_apart_;
    clear(sums, sums_apart_);
    const bool is_packed = row < weights_.packed_rows;
    const std::uint8_t* from = row_at(row);
    for (int column = 0; column < weights_.columns; column += kChunkColumns) {
      const int columns = std::min(kChunkColumns, weights_.columns - column);
      const std::size_t before = weight_row_bytes(weights_.format, column);
      if (!is_packed) pack_panel(weights_.format, from + before, row_bytes_, rows, columns, packed_);
      const PanelPart part =
          is_packed ? PanelPart{from + before * kPanelRows, columns, unit_, end_} : PanelPart{packed_, columns, 1, std::end(packed_)};
      if (x_.in_tiles()) {
        kernels_.unpack[format_](part, chunk_);
        chunk_.multiply(chunk_, columns, x_.rows(token, column, count), sums);
      } else {
        for (int t = 0; t < count; ++t) add_token(part, x_.alone(token + t, column), sums + t * sums_per_token_);
      }
    }
  }

  // As bytes_of(), which divides.
  const std::uint8_t* row_at(int row) const { return static_cast<const std::uint8_t*>(weights_.data) + row * row_bytes_; }

  template <bool IsFloat>
  void write_tokens(const Product& of, const PanelRows& rows, int token, int count) const {
    const PanelRows at = rows;  // a copy: the compiler doesn't know that storing floats leaves it alone
    const float* sums = sums_;
    const int sums_apart = sums_apart_;
    float* out = of.out + token * of.out_stride + at.first;
    const float* added = of.adds ? out : of.bias == nullptr ? nullptr : of.bias + at.first;
    const std::ptrdiff_t stride = of.out_stride, added_stride = of.adds ? stride : 0;
    const auto sum_of = [&](int panel) { return joined<IsFloat>(sums + panel * sums_apart); };
    for (int t = 0; t < count; ++t, sums += sums_per_token(IsFloat), out += stride) {
      if (at.are_whole()) {
        unrolled<kPanelsTogether>([&]<int Panel>() ROPEWALK_INLINE {
          const F32x8 sum = sum_of(Panel);
          store8(out + Panel * at.apart, added == nullptr ? sum : add8(sum, load8(added + Panel * at.apart)));
        });
      } else {
        at.each_panel([&](int panel, int row, int rows) {
          float each[kPanelRows];
          store8(each, sum_of(panel));
          const int first = row - at.first;
          for (int r = 0; r < rows; ++r) out[first + r] = added == nullptr ? each[r] : each[r] + added[first + r];
        });
      }
      if (added != nullptr) added += added_stride;
    }
  }

  // Adds the products of packed panels with a token.
  void add_token_in_turns(const PanelParts& panels, const TokenRows& x, float* sums) const {
    if (is_finite_) return kernels_.token[format_](panels, x, sums);
    PanelPart panel = panels.first;
    for (int i = 0; i < panels.count; ++i, panel.weights += panels.bytes_apart, sums += panels.sums_apart) add_token(panel, x, sums);
  }

  // Adds the products of a panel with a token. One with infinity or NaN doesn't change how the others are multiplied.
  [[gnu::noinline]] void add_token(const PanelPart& panel, const TokenRows& x, float* sums) const {
    const bool is_finite = has_finite_f16(weights_.format, panel.weights, panel.columns);
    (is_finite ? kernels_ : kScalarMatmulKernels).token[format_]({panel, 1, 0, 0}, x, sums);
  }

  const WeightMatrix& weights_;
  Activations& x_;
  int format_, sums_per_token_;
  std::size_t row_bytes_;
  const MatmulKernels& kernels_;
  float unit_;
  bool is_finite_;           // whether the f16 numbers of packed rows are
  const std::uint8_t* end_;  // of packed rows
  int most_in_fours_;
  PanelsTimesTokens two_;
  int sums_apart_ = 0;  // from those of a panel to the next
  alignas(64) float sums_[kPanelsTogether * kTokensTogether * sums_per_token(true)];
  alignas(16) std::uint8_t packed_[kPanelRows * kChunkColumns * sizeof(float)];
  PanelChunk chunk_;
};

std::int64_t panel_count(const WeightMatrix& weights) { return (weights.rows + kPanelRows - 1) / kPanelRows; }

// Computes the rows of panels [first, last).
void multiply_panels(const MatmulKernels& kernels, const Product& of, Activations& x, std::int64_t first, std::int64_t last) {
  const WeightMatrix& weights = *of.weights;
  const int first_row = static_cast<int>(first) * kPanelRows, end = std::min(static_cast<int>(last) * kPanelRows, weights.rows);
  PanelProduct product(kernels, weights, x);
  for (int token = 0; token < x.tokens(); token += kTokensTogether) {
    const int count = std::min(kTokensTogether, x.tokens() - token);
    int row = first_row;
    if (product.takes_turns(count)) {
      row = std::max(row, std::min(end, weights.packed_rows));
      product.multiply_in_turns(of, first_row, row, token, count);
    }
    for (; row < end; row += kPanelsTogether * kPanelRows) {
      const PanelRows rows = {row, kPanelRows, end};
      product.add(rows, token, count);
      product.write(of, rows, token, count);
    }
  }
}

// Operations that take as long as packing a byte (thread_pool.h).
constexpr std::int64_t kPackingWork = 10;

// The panels of a matrix that is packed in place.
struct Panels {
  Panels(const WeightMatrix& weights, void* rows)
      : format(weights.format),
        columns(weights.columns),
        bytes(weight_row_bytes(format, columns) * kPanelRows),
        data(static_cast<std::uint8_t*>(rows)) {}

  // Packs panels times 2^exponent, or less if their f16 numbers are too large for it. Returns the exponent that it used.
  // `scratch` has the bytes of a panel.
  int pack(PartRange panels, int exponent, std::uint8_t* scratch) const {
    for (std::int64_t panel = panels.first; panel < panels.last; ++panel) {
      pack_panel(format, data + panel * bytes, bytes / kPanelRows, kPanelRows, columns, scratch);
      const int largest = std::min(exponent, panel_exponent(format, scratch, columns));
      scale({panels.first, panel}, largest - exponent);
      exponent = largest;
      scale_panel(format, scratch, columns, exponent);
      std::memcpy(data + panel * bytes, scratch, bytes);
    }
    return exponent;
  }

  void scale(PartRange panels, int n) const {
    if (n == 0) return;
    for (std::int64_t panel = panels.first; panel < panels.last; ++panel) scale_panel(format, data + panel * bytes, columns, n);
  }

  WeightFormat format;
  int columns;
  std::size_t bytes;  // of a panel
  std::uint8_t* data;
};

}  // namespace

Status pack_rows(WeightMatrix& weights, void* data, int rows) {
  const Panels matrix(weights, data);
  const int packed = weights.packed_rows / kPanelRows, count = rows / kPanelRows - packed;
  if (count <= 0) return Status::ok;
  const int parts = parts_of(count, kPackingWork * static_cast<std::int64_t>(matrix.bytes));
  Buffer<std::uint8_t> scratch;
  Buffer<int> exponents;
  if (!scratch.resize(matrix.bytes * (parts == 1 ? 1 : thread_pool().threads())) || !exponents.resize(parts)) return Status::out_of_memory;
  const auto range_of = [&](int part) {
    const PartRange range = part_range(count, parts, part);
    return PartRange{packed + range.first, packed + range.last};
  };
  const int before = packed == 0 ? kLargestPanelExponent : weights.exponent;
  in_parallel(parts, [&](int part, int thread) {
    exponents[part] = matrix.pack(range_of(part), before, scratch.data() + (parts == 1 ? 0 : thread) * matrix.bytes);
  });
  if (thread_pool().status() != Status::ok) return Status::thread_lost;
  weights.exponent = *std::min_element(exponents.data(), exponents.data() + parts);
  for (int part = 0; part < parts; ++part) matrix.scale(range_of(part), weights.exponent - exponents[part]);
  matrix.scale({0, packed}, weights.exponent - before);
  weights.packed_rows = (packed + count) * kPanelRows;
  return Status::ok;
}

void read_row(const WeightMatrix& weights, int row, float* out) {
  if (row >= weights.packed_rows) return dequantize(weights.format, bytes_of(weights, row), weights.columns, out);
  const int elements = block_elements(weights.format);
  const std::uint8_t* block = bytes_of(weights, row / kPanelRows * kPanelRows);
  std::uint8_t unpacked[kLargestBlockBytes];
  for (int column = 0; column < weights.columns; column += elements, block += block_bytes(weights.format) * kPanelRows) {
    unpack_panel_row(weights.format, block, row % kPanelRows, elements, unpacked);
    dequantize(weights.format, unpacked, elements, out + column);
  }
  if (weights.exponent == 0) return;
  const float unit = unit_of(weights);
  for (int column = 0; column < weights.columns; ++column) out[column] *= unit;
}

Status multiply(const MatmulKernels& kernels, std::span<const Product> products, Activations& x) {
  std::int64_t panels = 0;
  for (const Product& product : products) {
    panels += panel_count(*product.weights);
    const Status status =
        is_float(product.weights->format) ? x.prepare_floats(kernels) : x.quantize(kernels, kernels.inputs(product.weights->format));
    if (status != Status::ok) return status;
  }
  const int parts = parts_of(panels, std::int64_t{kPanelRows} * x.columns() * x.tokens());
  in_parallel(parts, [&](int part, int) {
    auto [first, last] = part_range(panels, parts, part);
    for (const Product& product : products) {
      const std::int64_t count = panel_count(*product.weights);
      if (first < count && last > 0) multiply_panels(kernels, product, x, std::max<std::int64_t>(first, 0), std::min(last, count));
      first -= count;
      last -= count;
    }
  });
  return thread_pool().status();
}

}  // namespace ropewalk
