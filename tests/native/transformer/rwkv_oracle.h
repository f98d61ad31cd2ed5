// RWKV-7 layers of the reference transformer for whole prompts, token by token from the equations of Peng et al. 2025 (arXiv:2503.14456).
#pragma once

#include "native/transformer/oracle_math.h"

namespace ropewalk::oracle {

// Layers are mixed in their order, because the first leaves its values to the others.
class RwkvOracle {
 public:
  explicit RwkvOracle(const TestModel& model) : model_(model), c_(model.config()), r_(c_.recurrence) {}

  // The output for all tokens of a layer, whose inputs are [tokens][hidden_size].
  Rows mix(int layer, const Rows& unscaled) {
    const Rows inputs = scaled(unscaled, c_.multipliers.recurrent_in);
    const auto low = [&](int input, LayerMatrix down, LayerMatrix up, const std::vector<float>& bias, auto&& activate) {
      Rows rows = projected(layer, input, inputs, down);
      for (Row& row : rows) {
        for (double& element : row) element = activate(element);
        row = times(model_.matrix(layer, up), row, bias);
      }
      return rows;
    };
    const auto as_is = [](double x) { return x; };
    const auto tanh_of = [](double x) { return std::tanh(x); };
    const Rows q = projected(layer, 0, inputs, LayerMatrix::recurrent_query), k = projected(layer, 2, inputs, LayerMatrix::recurrent_key);
    const Rows w = low(1, LayerMatrix::decay_down, LayerMatrix::decay_up, vector(layer, LayerVector::decay_bias), tanh_of);
    const Rows a = low(4, LayerMatrix::rate_down, LayerMatrix::rate_up, vector(layer, LayerVector::rate_bias), as_is);
    const Rows g = low(5, LayerMatrix::recurrent_gate_down, LayerMatrix::recurrent_gate_up, {}, sigmoid);
    Rows v = projected(layer, 3, inputs, LayerMatrix::recurrent_value);
    if (first_values_.empty()) {
      first_values_ = v;
    } else {
      const Rows shares = low(3, LayerMatrix::share_down, LayerMatrix::share_up, vector(layer, LayerVector::share_bias), as_is);
      for (std::size_t t = 0; t < v.size(); ++t) {
        for (int i = 0; i < r_.inner; ++i) v[t][i] += sigmoid(shares[t][i]) * (first_values_[t][i] - v[t][i]);
      }
    }
    const int size = r_.key_size;
    std::vector<Rows> states(r_.heads, Rows(size, Row(size, 0)));
    Rows out;
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      Row mixed;
      for (int head = 0; head < r_.heads; ++head) {
        const Row read = read_head(layer, head, q[t], w[t], k[t], v[t], a[t], states[head]);
        for (int i = 0; i < size; ++i) mixed.push_back(read[i] * g[t][head * size + i]);
      }
      out.push_back(times(model_.matrix(layer, LayerMatrix::recurrent_out), mixed, vector(layer, LayerVector::recurrent_out_bias)));
    }
    return scaled(out, c_.multipliers.recurrent_out);
  }

  // x_t + share · (x_(t−1) − x_t)
  static Row shifted(const Row& x, const Row& before, const float* share) {
    Row out = x;
    for (std::size_t i = 0; i < x.size(); ++i) out[i] += share[i] * (before[i] - x[i]);
    return out;
  }

 private:
  const std::vector<float>& vector(int layer, LayerVector slot) const { return model_.vector(layer, slot); }

  Rows projected(int layer, int input, const Rows& rows, LayerMatrix slot) const {
    const float* share = &vector(layer, LayerVector::token_shift)[input * c_.hidden_size];
    Row before(c_.hidden_size, 0);
    Rows out;
    for (const Row& row : rows) {
      out.push_back(times(model_.matrix(layer, slot), shifted(row, before, share)));
      before = row;
    }
    return out;
  }

  // A head's output before the gate. Changes its state, [values][keys].
  Row read_head(int layer, int head, const Row& q, const Row& w, const Row& k, const Row& v, const Row& a, Rows& state) const {
    const int size = r_.key_size, first = head * size;
    const auto at = [&](LayerVector slot, int i) { return static_cast<double>(vector(layer, slot)[first + i]); };
    Row removed, key;
    double squares = r_.removal_epsilon, bonus = 0;
    for (int i = 0; i < size; ++i) {
      removed.push_back(k[first + i] * at(LayerVector::removal_scale, i));
      squares += removed[i] * removed[i];
      key.push_back(k[first + i] * (1 + (sigmoid(a[first + i]) - 1) * at(LayerVector::rate_scale, i)));
      bonus += q[first + i] * at(LayerVector::bonus, i) * key[i];
    }
    for (double& element : removed) element /= std::sqrt(squares);
    Row out;
    for (int r = 0; r < size; ++r) {
      double known = 0, sum = 0;
      for (int i = 0; i < size; ++i) known += state[r][i] * removed[i];
      for (int i = 0; i < size; ++i) {
        const double kept = std::exp(-std::exp(-0.5) * sigmoid(w[first + i]));
        state[r][i] = kept * state[r][i] - known * removed[i] * sigmoid(a[first + i]) + v[first + r] * key[i];
        sum += state[r][i] * q[first + i];
      }
      out.push_back(sum);
    }
    const std::vector<float>& bias = vector(layer, LayerVector::recurrent_norm_bias);
    normalize_span({NormKind::layer, r_.head_norm_epsilon}, out.data(), size, &vector(layer, LayerVector::recurrent_norm)[first],
                   {bias.begin() + first, bias.begin() + first + size});
    for (int r = 0; r < size; ++r) out[r] += bonus * v[first + r];
    return out;
  }

  const TestModel& model_;
  const ModelConfig& c_;
  const RecurrenceConfig& r_;
  Rows first_values_;
};

}  // namespace ropewalk::oracle
