#include "rope/rerotate.h"

#include <cstring>

#include "rope/reproducible_math.h"
#include "rope/sin_cos.h"

namespace ropewalk {
namespace {

// Tokens whose rows are computed together: 64 rows of 128 pairs are 64 KB.
constexpr int kBlockTokens = 64;

bool same_geometry(const FrequencyPlan& a, const FrequencyPlan& b) {
  if (a.head_dim != b.head_dim || a.rotary_dim != b.rotary_dim || a.rotary_offset != b.rotary_offset || a.pairing != b.pairing ||
      a.axes != b.axes) {
    return false;
  }
  return std::memcmp(a.axis_of_pair.data(), b.axis_of_pair.data(), a.axis_of_pair.size()) == 0;
}

// Whether angles are the same multiples of the position, so that their difference is a multiple of the positions' difference.
bool is_one_plan(const FrequencyPlan& a, const FrequencyPlan& b) {
  if (a.precision == Precision::hf || b.precision == Precision::hf) return false;
  return std::memcmp(a.inv_freq.data(), b.inv_freq.data(), a.inv_freq.size() * sizeof(double)) == 0;
}

// The angle at which a key stands, rounded as its plan rounds.
double angle_at(const FrequencyPlan& plan, std::size_t pair, double position) {
  if (plan.precision == Precision::hf) return static_cast<float>(plan.inv_freq[pair]) * static_cast<float>(position);
  return plan.inv_freq[pair] * position;
}

double key_scale(const FrequencyPlan& plan, std::size_t pair, double position) {
  if (plan.xpos_scale.empty()) return plan.attention_factor;
  const double power = -(position - plan.xpos_center) / plan.xpos_scale_base;
  return plan.attention_factor * reproducible_pow(plan.xpos_scale[pair], power);
}

// Rows of cos and sin by which keys turn from one standing to the other.
class DifferenceRows {
 public:
  DifferenceRows(const Standing& from, const Standing& to) : from_(from), to_(to), is_one_plan_(is_one_plan(from.plan, to.plan)) {}

  [[nodiscard]] bool allocate() {
    const std::size_t pairs = to_.plan.inv_freq.size();
    return angle_.resize(pairs) && scale_.resize(pairs) && cos_.resize(pairs) && sin_.resize(pairs);
  }

  // Writes the row of a token and returns whether it turns or scales anything.
  bool write(int row, int token, float* cos, float* sin) {
    const std::size_t pairs = to_.plan.inv_freq.size();
    bool moves = false, is_new = false;
    for (std::size_t j = 0; j < pairs; ++j) {
      const int axis = to_.plan.axis_of_pair[j];
      const double old_position = from_.positions.at(axis, row, token), new_position = to_.positions.at(axis, row, token);
      // within one plan the difference of positions is exact, and so is no difference at all
      const double angle = is_one_plan_ ? to_.plan.inv_freq[j] * (new_position - old_position)
                                        : angle_at(to_.plan, j, new_position) - angle_at(from_.plan, j, old_position);
      is_new = is_new || !has_row_ || angle != angle_[j];
      angle_[j] = angle;
      scale_[j] = key_scale(to_.plan, j, new_position) / key_scale(from_.plan, j, old_position);
      moves = moves || angle != 0 || scale_[j] != 1;
    }
    if (!moves) {
      has_row_ = false;
      return false;
    }
    if (is_new) sin_cos(angle_.data(), static_cast<int>(pairs), sin_.data(), cos_.data());  // a shift turns all tokens alike
    has_row_ = true;
    for (std::size_t j = 0; j < pairs; ++j) {
      cos[j] = static_cast<float>(cos_[j] * scale_[j]);
      sin[j] = static_cast<float>(sin_[j] * scale_[j]);
    }
    return true;
  }

 private:
  const Standing& from_;
  const Standing& to_;
  bool is_one_plan_;
  bool has_row_ = false;                      // cos_ and sin_ belong to angle_
  Buffer<double> angle_, scale_, cos_, sin_;  // [pairs]
};

Status check(const HeadTensor& keys, const Standing& standing) {
  if (const Status status = check_tensor(keys); status != Status::ok) return status;
  if (keys.shape.head_dim != standing.plan.head_dim) return Status::head_dim_mismatch;
  if (standing.positions.tokens != keys.shape.tokens || (standing.positions.rows != 1 && standing.positions.rows != keys.shape.batches)) {
    return Status::shape_out_of_range;
  }
  return check_positions(standing.plan, standing.positions);
}

}  // namespace

Status rerotate(const RotateKernels& kernels, const HeadTensor& keys, const Standing& from, const Standing& to) {
  if (!same_geometry(from.plan, to.plan)) return Status::plans_differ;
  if (const Status status = check(keys, from); status != Status::ok) return status;
  if (const Status status = check(keys, to); status != Status::ok) return status;

  const std::size_t pairs = to.plan.rotary_dim / 2;
  Buffer<float> cos, sin;
  DifferenceRows rows(from, to);
  if (!rows.allocate() || !cos.resize(kBlockTokens * pairs) || !sin.resize(kBlockTokens * pairs)) return Status::out_of_memory;
  if (keys.source != keys.target) {
    std::memcpy(keys.target, keys.source, static_cast<std::size_t>(element_count(keys.shape)) * size_of(keys.dtype));
  }
  HeadTensor target = keys;
  target.source = keys.target;

  const Turn turn = to.plan.pairing == Pairing::interleaved ? Turn::interleaved : Turn::half;
  const Span span = {to.plan.rotary_offset, to.plan.rotary_dim};
  const bool shared = from.positions.rows == 1 && to.positions.rows == 1;
  const int row_count = shared ? 1 : keys.shape.batches, batches_a_row = shared ? keys.shape.batches : 1;

  for (int row = 0; row < row_count; ++row) {
    int first = 0, count = 0;  // a run of tokens that move, rows written
    const auto turn_run = [&] {
      if (count > 0) rotate(kernels, turn, target, span, {cos.data(), sin.data()}, {row, batches_a_row, first, count});
      first += count;
      count = 0;
    };
    for (int token = 0; token < keys.shape.tokens; ++token) {
      if (rows.write(row, token, &cos[count * pairs], &sin[count * pairs])) {
        if (++count == kBlockTokens) turn_run();
      } else {
        turn_run();
        first = token + 1;
      }
    }
    turn_run();
  }
  return Status::ok;
}

}  // namespace ropewalk
