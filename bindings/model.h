// A model as the bindings hold it.
#pragma once

#include "bindings/embind.h"
#include "transformer/loss.h"
#include "transformer/text_vectors.h"

namespace ropewalk::bindings {

struct Model {
  Buffer<LayerConfig> layers;  // as they were set; weights have them resolved
  Weights weights;
  Forward forward;
  Losses losses;
  TextVectors vectors;
};

inline Model& model_at(Address model) { return *at<Model>(model); }

}  // namespace ropewalk::bindings
