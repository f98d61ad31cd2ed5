// Recurrent layers of the reference transformer for whole prompts, token by token from their equations:
//   convolution   transformers, modeling_lfm2.py: Lfm2ShortConv
//   delta         Yang et al. 2024 (arXiv:2412.06464), equation 10, between the projections of modeling_qwen3_next.py
//   mamba2        Dao and Gu 2024 (arXiv:2405.21060), equation 1 with a scalar A for each head, with the gated norm of modeling_mamba2.py,
//                 and the multipliers of modeling_falcon_h1.py
//   mamba         Gu and Dao 2023 (arXiv:2312.00752), equations 2 and 4 with B discretized as Δ B; the norms are those of
//                 modeling_falcon_mamba.py, and with weights those of modeling_jamba.py
#pragma once

#include "native/transformer/oracle_math.h"

namespace ropewalk::oracle {

class RecurrentOracle {
 public:
  explicit RecurrentOracle(const TestModel& model) : model_(model), c_(model.config()), r_(c_.recurrence) {}

  // The output for all tokens of a layer, whose inputs are [tokens][hidden_size].
  Rows mix(int layer, const Rows& unscaled) const {
    const Rows inputs = scaled(unscaled, c_.multipliers.recurrent_in);
    const auto out_of = [&](const Rows& mixed) {
      Rows out;
      for (const Row& row : mixed)
        out.push_back(times(model_.matrix(layer, LayerMatrix::recurrent_out), row, vector(layer, LayerVector::recurrent_out_bias)));
      return scaled(out, c_.multipliers.recurrent_out);
    };
    switch (model_.layer_config(layer).recurrence) {
      case Recurrence::none: break;
      case Recurrence::convolution: return out_of(short_convolution(layer, inputs));
      case Recurrence::delta: return out_of(delta(layer, inputs));
      case Recurrence::mamba2: return out_of(mamba2(layer, inputs));
      case Recurrence::mamba: return out_of(mamba(layer, inputs));
      case Recurrence::rwkv7: break;  // rwkv_oracle.h
    }
    return {};
  }

 private:
  const std::vector<float>& vector(int layer, LayerVector slot) const { return model_.vector(layer, slot); }

  Rows projected(int layer, LayerMatrix slot, LayerVector bias, const Rows& inputs) const {
    Rows out;
    for (const Row& input : inputs) out.push_back(times(model_.matrix(layer, slot), input, vector(layer, bias)));
    return out;
  }
  Rows in(int layer, const Rows& inputs) const {
    return projected(layer, LayerMatrix::recurrent_in, LayerVector::recurrent_in_bias, inputs);
  }
  Rows gates(int layer, const Rows& inputs) const {
    return projected(layer, LayerMatrix::recurrent_gate, LayerVector::recurrent_gate_bias, inputs);
  }

  static Row part(const Row& row, int first, int count) { return {row.begin() + first, row.begin() + first + count}; }
  static double softplus(double x) { return std::log1p(std::exp(x)); }
  static double silu(double x) { return x * sigmoid(x); }

  // Of each channel over the tokens until each; there is nothing before the first. The weights are [channels][kernel].
  Rows convolved(int layer, const Rows& rows) const {
    const std::vector<float>&weights = vector(layer, LayerVector::convolution), &bias = vector(layer, LayerVector::convolution_bias);
    Rows out = rows;
    for (int t = 0; t < static_cast<int>(rows.size()); ++t) {
      for (std::size_t channel = 0; channel < out[t].size(); ++channel) {
        out[t][channel] = bias.empty() ? 0 : bias[channel];
        for (int back = 0; back < r_.kernel && back <= t; ++back)
          out[t][channel] += weights[channel * r_.kernel + r_.kernel - 1 - back] * rows[t - back][channel];
      }
    }
    return out;
  }
  Rows silu_of_convolved(int layer, const Rows& rows) const {
    Rows out = convolved(layer, rows);
    for (Row& row : out) {
      for (double& element : row) element = silu(element);
    }
    return out;
  }

  Rows short_convolution(int layer, const Rows& inputs) const {
    const Rows all = in(layer, inputs);
    Rows products;
    for (const Row& row : all) {
      Row product = part(row, 0, r_.inner);
      for (int i = 0; i < r_.inner; ++i) product[i] *= row[2 * r_.inner + i];
      products.push_back(product);
    }
    Rows out = convolved(layer, products);
    for (std::size_t t = 0; t < out.size(); ++t) {
      for (int i = 0; i < r_.inner; ++i) out[t][i] *= all[t][r_.inner + i];
    }
    return out;
  }

  // A of a number of `decay`.
  double rate(int layer, int index) const {
    const std::vector<float>& log = vector(layer, LayerVector::decay_log);
    return log.empty() ? static_cast<double>(vector(layer, LayerVector::decay)[index]) : -std::exp(static_cast<double>(log[index]));
  }

  // softplus(multiplier · (W_step x + bias) + offset) of each head.
  Rows steps(int layer, const Rows& inputs, double multiplier = 1) const {
    Rows out = scaled(projected(layer, LayerMatrix::recurrent_step, LayerVector::recurrent_step_bias, inputs), multiplier);
    const std::vector<float>& offset = vector(layer, LayerVector::recurrent_step_offset);
    for (Row& row : out) {
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = softplus(row[i] + (offset.empty() ? 0 : offset[i]));
    }
    return out;
  }

  static Row unit(Row x) {
    double squares = 1e-6;
    for (const double element : x) squares += element * element;
    for (double& element : x) element /= std::sqrt(squares);
    return x;
  }

  Rows delta(int layer, const Rows& inputs) const {
    const int keys = r_.key_heads * r_.key_size, values = r_.inner / r_.heads;
    const Rows rows = silu_of_convolved(layer, in(layer, inputs)), all_steps = steps(layer, inputs), opened = gates(layer, inputs);
    std::vector<Rows> states(r_.heads, Rows(values, Row(r_.key_size, 0)));
    Rows out;
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      const Row strengths = times(model_.matrix(layer, LayerMatrix::recurrent_strength), inputs[t]);
      out.emplace_back();
      for (int head = 0; head < r_.heads; ++head) {
        const int key_head = r_.is_tiled ? head % r_.key_heads : head / (r_.heads / r_.key_heads);
        const Row q = unit(part(rows[t], key_head * r_.key_size, r_.key_size));
        const Row k = unit(part(rows[t], keys + key_head * r_.key_size, r_.key_size));
        const double kept = std::exp(all_steps[t][head] * rate(layer, head));
        Row read;
        for (int r = 0; r < values; ++r) {
          Row& state = states[head][r];
          double known = 0, sum = 0;
          for (double& element : state) element *= kept;
          for (int i = 0; i < r_.key_size; ++i) known += state[i] * k[i];
          for (int i = 0; i < r_.key_size; ++i)
            state[i] += sigmoid(strengths[head]) * (rows[t][2 * keys + head * values + r] - known) * k[i];
          for (int i = 0; i < r_.key_size; ++i) sum += state[i] * q[i] / std::sqrt(1.0 * r_.key_size);
          read.push_back(sum);
        }
        read = normalized(c_.norm, read, vector(layer, LayerVector::recurrent_norm));
        for (int r = 0; r < values; ++r) out.back().push_back(read[r] * silu(opened[t][head * values + r]));
      }
    }
    return out;
  }

  Rows mamba2(int layer, const Rows& inputs) const {
    const Multipliers& m = c_.multipliers;
    const int keys = r_.key_heads * r_.key_size, values = r_.inner / r_.heads, group = r_.inner / r_.norm_groups;
    Rows parts = in(layer, inputs);
    for (Row& row : parts) {
      for (int i = 0; i < r_.inner + 2 * keys; ++i)
        row[i] *= i < r_.inner ? m.recurrent_value : i < r_.inner + keys ? m.recurrent_key : m.recurrent_query;
    }
    const Rows rows = silu_of_convolved(layer, parts), all_steps = steps(layer, inputs, m.recurrent_step);
    const Rows opened = scaled(gates(layer, inputs), m.recurrent_gate);
    const std::vector<float>&skip = vector(layer, LayerVector::skip), &norm = vector(layer, LayerVector::recurrent_norm);
    Rows states(r_.inner, Row(r_.key_size, 0)), out;
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      Row y;
      for (int i = 0; i < r_.inner; ++i) {
        const int head = i / values, key_head = r_.is_tiled ? head % r_.key_heads : head / (r_.heads / r_.key_heads);
        const double step = std::min<double>(std::max<double>(all_steps[t][head], r_.least_step), r_.largest_step), u = rows[t][i];
        double sum = skip[head] * u;
        for (int n = 0; n < r_.key_size; ++n) {
          const int at = r_.inner + key_head * r_.key_size + n;
          states[i][n] = std::exp(step * rate(layer, head)) * states[i][n] + step * u * rows[t][at];
          sum += states[i][n] * rows[t][keys + at];
        }
        y.push_back(sum);
      }
      const auto open = [&] {
        for (int i = 0; i < r_.inner; ++i) y[i] *= silu(opened[t][i]);
      };
      if (!r_.norms_before_gate) open();
      for (int first = 0; r_.has_norm && first < r_.inner; first += group) normalize_span(c_.norm, &y[first], group, &norm[first], {});
      if (r_.norms_before_gate) open();
      out.push_back(y);
    }
    return out;
  }

  // A part of a row, normalized if the model does so.
  Row selected(int layer, const Row& row, int first, int count) const {
    Row out = part(row, first, count);
    if (r_.select_norm_epsilon == 0) return out;
    const std::vector<float>& weight = vector(layer, LayerVector::recurrent_select_norm);
    const double root = std::sqrt(mean_square(out) + r_.select_norm_epsilon);
    for (int i = 0; i < count; ++i) out[i] *= (weight.empty() ? 1 : weight[first + i]) / root;
    return out;
  }

  Rows mamba(int layer, const Rows& inputs) const {
    const Rows rows = silu_of_convolved(layer, in(layer, inputs)), opened = gates(layer, inputs);
    const std::vector<float>& skip = vector(layer, LayerVector::skip);
    Rows states(r_.inner, Row(r_.key_size, 0)), out;
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      const Row all = times(model_.matrix(layer, LayerMatrix::recurrent_select), rows[t]);
      const Row B = selected(layer, all, r_.step_rank, r_.key_size), C = selected(layer, all, r_.step_rank + r_.key_size, r_.key_size);
      const Row all_steps = times(model_.matrix(layer, LayerMatrix::recurrent_step), selected(layer, all, 0, r_.step_rank),
                                  vector(layer, LayerVector::recurrent_step_offset));
      out.emplace_back();
      for (int i = 0; i < r_.inner; ++i) {
        const double step = softplus(all_steps[i]), u = rows[t][i];
        double y = skip[i] * u;
        for (int n = 0; n < r_.key_size; ++n) {
          states[i][n] = std::exp(step * rate(layer, i * r_.key_size + n)) * states[i][n] + step * u * B[n];
          y += states[i][n] * C[n];
        }
        out.back().push_back(y * silu(opened[t][i]));
      }
    }
    return out;
  }

  const TestModel& model_;
  const ModelConfig& c_;
  const RecurrenceConfig& r_;
};

}  // namespace ropewalk::oracle
