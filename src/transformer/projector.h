// The products of a forward pass. After the first failure they do nothing.
#pragma once

#include <initializer_list>

#include "base/profile.h"
#include "matmul/matmul.h"

namespace ropewalk {

struct Projector {
  const MatmulKernels* kernels;
  Status* status;

  void keep(Status failure) const {
    if (*status == Status::ok) *status = failure;
  }

  // out = W x + bias, for all products at once.
  void operator()(Stage stage, Activations& x, std::initializer_list<Product> products) const {
    const StageTimer timer(stage);
    if (*status == Status::ok) keep(multiply(*kernels, {products.begin(), products.size()}, x));
  }
};

}  // namespace ropewalk
