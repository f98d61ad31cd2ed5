// The products of a forward pass. After the first failure they do nothing.
#pragma once

#include <initializer_list>

#include "base/profile.h"
#include "matmul/low_rank.h"

namespace ropewalk {

struct Projector {
  const MatmulKernels* kernels;
  Status* status;
  AdaptedProducts* adapters = nullptr;  // null for none

  bool has_failed() const { return *status != Status::ok; }
  // Keeps the first failure.
  void keep(Status failure) const {
    if (*status == Status::ok) *status = failure;
  }

  // out = W x + bias, and the terms of the adapters in use, for all products at once.
  void operator()(Stage stage, Activations& x, std::initializer_list<Product> products) const {
    const StageTimer timer(stage);
    if (has_failed()) return;
    const std::span<const Product> all = {products.begin(), products.size()};
    keep(adapters == nullptr ? multiply(*kernels, all, x) : adapters->multiply(*kernels, all, x));
  }

  // Adds only the terms of the adapters in use to the rows of a product.
  void add_terms(const Product& product, Activations& x) const {
    if (!has_failed() && adapters != nullptr) keep(adapters->add_terms(*kernels, product, x));
  }
};

// A product that writes rows without a gap.
inline Product product_of(const WeightMatrix& w, const float* bias, float* out) { return {&w, bias, out, w.rows}; }

}  // namespace ropewalk
