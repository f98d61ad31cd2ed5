#include "matmul/low_rank.h"

#include <algorithm>
#include <functional>
#include <new>

namespace ropewalk {
namespace {

bool is_before(const LowRankTerm* term, const WeightMatrix* matrix) { return std::less<>()(term->of, matrix); }

// Elements of `rows` rows of `size` floats.
std::ptrdiff_t elements(int rows, int size) { return static_cast<std::ptrdiff_t>(rows) * size; }

// Copies and packs a matrix.
Status copy(const float* from, int rows, int columns, Buffer<float>& elements, WeightMatrix& matrix) {
  const std::uint64_t size = static_cast<std::uint64_t>(rows) * columns;
  if (!elements.resize(size)) return Status::out_of_memory;
  std::copy_n(from, size, elements.data());
  matrix = {WeightFormat::f32, rows, columns, elements.data(), 0};
  return pack_rows(matrix, elements.data(), rows);
}

}  // namespace

Status Adapter::resize(int terms) {
  std::unique_ptr<LowRankTerm[]> made(new (std::nothrow) LowRankTerm[terms]);
  Buffer<const LowRankTerm*> order;
  if (made == nullptr || !order.resize(terms)) return Status::out_of_memory;
  terms_ = std::move(made);
  by_matrix_ = std::move(order);
  room_ = terms;
  count_ = 0;
  return Status::ok;
}

Status Adapter::add(const WeightMatrix& of, RowRange rows, int rank, const float* a, const float* b, const float* bias, float scale) {
  const bool is_inside = rows.first >= 0 && rows.count >= 1 && rows.first <= of.rows - rows.count;
  if (!is_inside || rank < 1) return Status::weight_shape;
  if (count_ == room_) return Status::out_of_memory;
  LowRankTerm& term = terms_[count_];
  if (const Status status = copy(a, rank, of.columns, term.down_elements, term.down); status != Status::ok) return status;
  if (const Status status = copy(b, rows.count, rank, term.up_elements, term.up); status != Status::ok) return status;
  if (!term.bias.resize(bias == nullptr ? 0 : rows.count)) return Status::out_of_memory;
  std::copy_n(bias, term.bias.size(), term.bias.data());
  term.of = &of;
  term.first_row = rows.first;
  term.scale = scale;
  const LowRankTerm** const begin = by_matrix_.data();
  const LowRankTerm** const at = std::lower_bound(begin, begin + count_, &of, is_before);
  std::copy_backward(at, begin + count_, begin + count_ + 1);
  *at = &term;
  ++count_;
  return Status::ok;
}

std::span<const LowRankTerm* const> Adapter::terms_of(const WeightMatrix& matrix) const {
  const LowRankTerm* const* const end = by_matrix_.data() + count_;
  const LowRankTerm* const* const first = std::lower_bound(by_matrix_.data(), end, &matrix, is_before);
  const LowRankTerm* const* last = first;
  while (last != end && (*last)->of == &matrix) ++last;
  return {first, last};
}

Status AdaptedProducts::use(std::span<const ScaledAdapter> adapters) {
  if (!adapters_.resize(adapters.size())) return Status::out_of_memory;
  std::copy_n(adapters.data(), adapters.size(), adapters_.data());
  return Status::ok;
}

Status AdaptedProducts::multiply(const MatmulKernels& kernels, std::span<const Product> products, Activations& x) {
  return adapters_.empty() ? ropewalk::multiply(kernels, products, x) : run(kernels, products, false, x);
}

Status AdaptedProducts::add_terms(const MatmulKernels& kernels, const Product& product, Activations& x) {
  return adapters_.empty() ? Status::ok : run(kernels, {&product, 1}, true, x);
}

Status AdaptedProducts::run(const MatmulKernels& kernels, std::span<const Product> products, bool terms_alone, Activations& x) {
  if (const Status status = collect(products, terms_alone, x.tokens()); status != Status::ok) return status;
  if (together_.empty()) return Status::ok;
  // A x comes with W x, because the product may overwrite what it reads
  if (const Status status = ropewalk::multiply(kernels, {together_.data(), together_.size()}, x); status != Status::ok) return status;
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    if (const Status status = add_term(kernels, uses_[i], x.tokens()); status != Status::ok) return status;
  }
  return Status::ok;
}

// Fills uses_ and together_.
Status AdaptedProducts::collect(std::span<const Product> products, bool terms_alone, int tokens) {
  const auto each_use = [&](auto&& act) {
    for (const Product& product : products) {
      for (std::size_t i = 0; i < adapters_.size(); ++i) {
        for (const LowRankTerm* term : adapters_[i].adapter->terms_of(*product.weights))
          act(product, *term, adapters_[i].scale * term->scale);
      }
    }
  };
  std::size_t count = 0;
  std::uint64_t ranks = 0;
  each_use([&](const Product&, const LowRankTerm& term, float) { ++count, ranks += term.down.rows; });
  const std::size_t whole = terms_alone ? 0 : products.size();
  if (!uses_.resize(count) || !together_.resize(whole + count) || !low_rows_.resize(ranks * tokens)) return Status::out_of_memory;
  std::copy_n(products.data(), whole, together_.data());
  float* low = low_rows_.data();
  std::size_t at = 0;
  each_use([&](const Product& product, const LowRankTerm& term, float scale) {
    uses_[at] = {&term, scale, &product, low};
    together_[whole + at++] = {&term.down, nullptr, low, term.down.rows};
    low += elements(tokens, term.down.rows);
  });
  return Status::ok;
}

// Adds scale · (B (A x) + c) to the rows of a product.
Status AdaptedProducts::add_term(const MatmulKernels& kernels, const Use& use, int tokens) {
  const LowRankTerm& term = *use.term;
  const int rank = term.down.rows;
  for (std::ptrdiff_t i = 0; i < elements(tokens, rank); ++i) use.low[i] *= use.scale;
  low_.set(use.low, rank, tokens, rank);
  float* const out = use.product->out + term.first_row;
  const Product up = {&term.up, nullptr, out, use.product->out_stride, true};
  if (const Status status = ropewalk::multiply(kernels, {&up, 1}, low_); status != Status::ok) return status;
  for (int t = 0; t < tokens && !term.bias.empty(); ++t) {
    float* const row = out + t * use.product->out_stride;
    for (std::size_t i = 0; i < term.bias.size(); ++i) row[i] += use.scale * term.bias[i];
  }
  return Status::ok;
}

}  // namespace ropewalk
