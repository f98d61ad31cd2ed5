// Reference attention in double, all scores of a query at once: the formula of attention.h, without code from src/.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace ropewalk::oracle {

struct Attention {
  int queries = 0, keys = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::vector<double> q;     // [heads][queries][head_dim]
  std::vector<double> k, v;  // [kv_heads][keys][head_dim]

  double scale = 1;
  bool causal = true;
  double window = std::numeric_limits<double>::infinity();
  int sink_tokens = 0;
  std::vector<double> sinks;  // [heads], or empty
  double soft_cap = 0;
  std::vector<double> temperatures;                          // [queries], or empty
  std::function<double(int head, int query, int key)> bias;  // or empty

  // The queries are the newest tokens.
  int slot(int query) const { return keys - queries + query; }

  bool sees(int query, int key) const {
    if (causal && key > slot(query)) return false;
    return std::abs(slot(query) - key) < window || key < sink_tokens;
  }

  double score(int head, int query, int key) const {
    const double* a = &q[(static_cast<std::size_t>(head) * queries + query) * head_dim];
    const double* b = &k[(static_cast<std::size_t>(head / (heads / kv_heads)) * keys + key) * head_dim];
    double sum = 0;
    for (int i = 0; i < head_dim; ++i) sum += a[i] * b[i];
    sum *= scale * (temperatures.empty() ? 1 : temperatures[query]);
    if (soft_cap != 0) sum = soft_cap * std::tanh(sum / soft_cap);
    return bias ? sum + bias(head, query, key) : sum;
  }

  // [keys]: 0 for keys that the query doesn't see.
  std::vector<double> weights(int head, int query) const {
    std::vector<double> weights(keys, 0.0);
    double largest = sinks.empty() ? -std::numeric_limits<double>::infinity() : sinks[head];
    for (int key = 0; key < keys; ++key) {
      if (sees(query, key)) largest = std::fmax(largest, weights[key] = score(head, query, key));
    }
    double total = sinks.empty() ? 0 : std::exp(sinks[head] - largest);
    for (int key = 0; key < keys; ++key) {
      if (sees(query, key)) total += weights[key] = std::exp(weights[key] - largest);
    }
    for (double& weight : weights) weight = weight == 0 ? 0 : weight / total;
    return weights;
  }

  // [heads][queries][head_dim]: the outputs, and the sums of weights times |values|, to which errors are relative.
  struct Result {
    std::vector<double> out, size;
  };

  Result attend() const {
    Result result{std::vector<double>(q.size(), 0.0), std::vector<double>(q.size(), 0.0)};
    for (int head = 0; head < heads; ++head) {
      for (int query = 0; query < queries; ++query) {
        const std::vector<double> shares = weights(head, query);
        const std::size_t row = (static_cast<std::size_t>(head) * queries + query) * head_dim;
        double *out = &result.out[row], *size = &result.size[row];
        for (int key = 0; key < keys; ++key) {
          if (!sees(query, key)) continue;
          const double weight = shares[key];
          const double* value = &v[(static_cast<std::size_t>(head / (heads / kv_heads)) * keys + key) * head_dim];
          for (int i = 0; i < head_dim; ++i) {
            out[i] += weight * value[i];
            size[i] += weight * std::fabs(value[i]);
          }
        }
      }
    }
    return result;
  }
};

}  // namespace ropewalk::oracle
