// Low-rank terms of a model's matrices (LoRA, Hu et al. 2021, arXiv:2106.09685): W x + bias becomes W x + bias + scale · (B (A x) + c).
// They are computed beside each product, so the weights stay in the format of their file.
#pragma once

#include <memory>
#include <span>

#include "base/buffer.h"
#include "base/status.h"
#include "matmul/matmul.h"

namespace ropewalk {

// The rows [first, first + count) of a matrix.
struct RowRange {
  int first, count;
};

// What a term adds to a product with the matrix `of`.
struct LowRankTerm {
  const WeightMatrix* of = nullptr;
  int first_row = 0;
  float scale = 1;
  WeightMatrix down;  // A, [rank][columns]
  WeightMatrix up;    // B, [rows][rank]
  Buffer<float> down_elements, up_elements;
  Buffer<float> bias;  // c, [rows]; empty for none
};

// The terms of one adapter, for the matrices of one model, which must outlive the runs that use them.
class Adapter {
 public:
  // Removes all terms, and makes room for others. Returns out_of_memory or ok.
  Status resize(int terms);

  // Adds a term for rows of a matrix, as long as there is room: a is A, [rank][columns], b is B, [rows][rank], and bias is c, [rows], or
  // null. They are copied. Returns weight_shape if the rows aren't inside the matrix or the rank is below 1, out_of_memory or ok. Changes
  // nothing on failure.
  Status add(const WeightMatrix& of, RowRange rows, int rank, const float* a, const float* b, const float* bias, float scale);

  // The terms of a matrix, none for most.
  std::span<const LowRankTerm* const> terms_of(const WeightMatrix& matrix) const;

 private:
  std::unique_ptr<LowRankTerm[]> terms_;
  Buffer<const LowRankTerm*> by_matrix_;  // ordered by the address of the matrix
  int room_ = 0, count_ = 0;
};

struct ScaledAdapter {
  const Adapter* adapter;
  float scale;
};

// Products with the terms of all adapters in use.
class AdaptedProducts {
 public:
  // Replaces the adapters in use. They must stay until they are replaced or the runs are over. Returns out_of_memory, which changes
  // nothing, or ok.
  Status use(std::span<const ScaledAdapter> adapters);

  // As ropewalk::multiply(), plus the terms.
  Status multiply(const MatmulKernels& kernels, std::span<const Product> products, Activations& x);

  // Adds only the terms of a product to its rows.
  Status add_terms(const MatmulKernels& kernels, const Product& product, Activations& x);

 private:
  // A term of a product, and A x.
  struct Use {
    const LowRankTerm* term;
    float scale;
    const Product* product;
    float* low;  // [tokens][rank]
  };

  Status run(const MatmulKernels& kernels, std::span<const Product> products, bool terms_alone, Activations& x);
  Status collect(std::span<const Product> products, bool terms_alone, int tokens);
  Status add_term(const MatmulKernels& kernels, const Use& use, int tokens);

  Buffer<ScaledAdapter> adapters_;
  Buffer<Use> uses_;
  Buffer<Product> together_;  // the products, unless only their terms are wanted, and those with A
  Buffer<float> low_rows_;
  Activations low_;
};

}  // namespace ropewalk
