#include "cache/kv_rerotate.h"

#include <algorithm>
#include <cmath>

#include "base/reproducible_math.h"
#include "base/touch.h"
#include "rope/rotate.h"

namespace ropewalk {

double xpos_growth(const FrequencyPlan& plan, double largest_position) {
  if (plan.xpos_scale.empty()) return 1;
  const double power = std::max(0.0, (largest_position - plan.xpos_center) / plan.xpos_scale_base);
  return reproducible_pow(1 / plan.xpos_scale[0], power);  // the first pair's zeta is the smallest
}

Status KeyRerotation::prepare(const KvGeometry& geometry, const FrequencyPlan& from, const FrequencyPlan& to) {
  if (const Status status = difference_.prepare(from, to, true); status != Status::ok) return status;
  const std::uint64_t pairs = to.inv_freq.size();
  if (!cos_.resize(kBlockTokens * pairs) || !sin_.resize(kBlockTokens * pairs)) return Status::out_of_memory;
  if (geometry.type() == RowType::q8_0 && !rows_.resize(static_cast<std::uint64_t>(kBlockTokens) * padded_dim(to.head_dim))) {
    return Status::out_of_memory;
  }
  geometry_ = &geometry;
  plan_ = &to;
  return Status::ok;
}

void KeyRerotation::apply(const AttentionKernels& kernels, const RotateKernels& rotate_kernels, const KvSequence& sequence, int rope,
                          const KeyMove& move) {
  const std::size_t pairs = plan_->inv_freq.size();
  for (int index = 0; index < sequence.pages(); ++index) {
    const int start = index * kBlockTokens, tokens = std::min(kBlockTokens, sequence.tokens() - start);
    int first = 0, count = 0;  // a run of tokens whose keys change, and the rows written for it so far
    const auto rotate_run = [&] {
      for (int i = 0; count > 0 && i < geometry_->layers(); ++i) {
        const KvGeometry::Layer& layer = geometry_->layer(i);
        const int written = std::min(count, sequence.written(i) - start - first);
        if (layer.rope == rope && written > 0) rotate_rows(kernels, rotate_kernels, layer, sequence.page(index), first, written);
      }
      first += count;
      count = 0;
    };
    for (int token = 0; token < tokens; ++token) {
      double from_position[kMaxAxes] = {}, to_position[kMaxAxes] = {};
      for (int axis = 0; axis < plan_->axes; ++axis) {
        const int plane = geometry_->axes() == 1 ? 0 : axis;
        from_position[axis] = sequence.position(plane, start + token);
        to_position[axis] = move.at(sequence, plane, start + token);
      }
      if (difference_.write(from_position, to_position, &cos_[count * pairs], &sin_[count * pairs])) {
        ++count;
      } else {
        rotate_run();
        first = token + 1;
      }
    }
    rotate_run();
  }
}

void KeyRerotation::rotate_rows(const AttentionKernels& kernels, const RotateKernels& rotate_kernels, const KvGeometry::Layer& layer,
                                char* page, int first, int count) {
  const int type = static_cast<int>(geometry_->type());
  const bool in_place = geometry_->type() != RowType::q8_0;
  const Rotation rotation =
      plan_->pairing == Pairing::interleaved ? Rotation::interleaved : Rotation::half;  // interleaved_to_half is stored by halves
  const RotateKernel kernel = rotate_kernels.rotate[static_cast<int>(rotation)][in_place ? type : static_cast<int>(DType::f32)];
  const int dim = padded_dim(layer.head_dim), pairs = plan_->rotary_dim / 2;
  const StoredRows rows = {static_cast<std::ptrdiff_t>(layer.row_bytes), dim, count, layer.head_dim};

  for (int head = 0; head < layer.heads; ++head) {
    char* stored = page + layer.key_offset + layer.row(head, first);
    if (in_place) {
      touch_lines(stored, static_cast<std::ptrdiff_t>(count * layer.row_bytes));
      char* span = stored + plan_->rotary_offset * size_of(static_cast<DType>(type));
      kernel({span, span, layer.head_dim, layer.head_dim, pairs, cos_.data(), sin_.data(), pairs, count});
      continue;
    }
    kernels.load[type](rows, stored, rows_.data());
    float* span = rows_.data() + plan_->rotary_offset;
    kernel({span, span, dim, dim, pairs, cos_.data(), sin_.data(), pairs, count});
    kernels.store[type](rows, rows_.data(), stored);
  }
}

}  // namespace ropewalk
