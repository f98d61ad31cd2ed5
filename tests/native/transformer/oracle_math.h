// Steps of the reference transformer in double precision: products, norms and activation functions.
#pragma once

#include "native/transformer/transformer_model.h"

namespace ropewalk::oracle {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

inline Row times(const TestMatrix& w, const Row& x, const std::vector<float>& bias = {}) {
  Row out(w.rows, 0);
  for (int r = 0; r < w.rows; ++r) {
    for (int c = 0; c < w.columns; ++c) out[r] += static_cast<double>(w.values[r * w.columns + c]) * x[c];
    if (!bias.empty()) out[r] += bias[r];
  }
  return out;
}

inline Row scaled(Row x, double factor) {
  for (double& element : x) element *= factor;
  return x;
}
inline Rows scaled(Rows rows, double factor) {
  for (Row& row : rows) row = scaled(row, factor);
  return rows;
}

inline void normalize_span(const Norm& norm, double* x, int size, const float* weight, const std::vector<float>& bias) {
  double mean = 0, squares = 0;
  for (int i = 0; i < size; ++i) mean += norm.kind == NormKind::layer ? x[i] / size : 0;
  for (int i = 0; i < size; ++i) squares += (x[i] - mean) * (x[i] - mean) / size;
  for (int i = 0; i < size; ++i)
    x[i] = (x[i] - mean) / std::sqrt(squares + norm.epsilon) * (weight == nullptr ? 1 : weight[i]) + (bias.empty() ? 0 : bias[i]);
}

inline Row normalized(const Norm& norm, Row x, const std::vector<float>& weight, const std::vector<float>& bias = {}) {
  if (!weight.empty()) normalize_span(norm, x.data(), static_cast<int>(x.size()), weight.data(), bias);
  return x;
}

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Of functions of one number. xielu has parameters, and clamped_silu also changes the other factor: feed_forward_oracle.h.
inline double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::silu: return x * sigmoid(x);
    case Activation::gelu: return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
    case Activation::gelu_tanh: return x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))) / 2;
    case Activation::relu2: return x > 0 ? x * x : 0;
    case Activation::relu: return x > 0 ? x : 0;
    case Activation::tanh: return std::tanh(x);
    case Activation::xielu:
    case Activation::clamped_silu: break;
  }
  return NAN;
}

inline double mean_square(const Row& x) {
  double sum = 0;
  for (const double element : x) sum += element * element / static_cast<double>(x.size());
  return sum;
}

}  // namespace ropewalk::oracle
