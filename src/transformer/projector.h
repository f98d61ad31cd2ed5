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

  void keep(Status failure) const {
    if (*status == Status::ok) *status = failure;
  }

  // out = W x + bias, and the terms of the adapters in use, for all products at once.
  void operator()(Stage stage, Activations& x, std::initializer_list<Product> products) const {
    const StageTimer timer(stage);
    if (*status != Status::ok) return;
    const std::span<const Product> all = {products.begin(), products.size()};
    keep(adapters == nullptr ? multiply(*kernels, all, x) : adapters->multiply(*kernels, all, x));
  }
};

}  // namespace ropewalk
