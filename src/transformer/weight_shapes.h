// The shapes of a model's weights, from its config.
#pragma once

#include "base/status.h"
#include "transformer/weights.h"

namespace ropewalk {

// Matrices that exist once per expert, per head of latent attention, and per residual stream.
constexpr int kExpertMatrices = 3, kHeadMatrices = 2, kStreamMatrices = 2;

inline bool is_of_expert(LayerMatrix slot) { return slot >= LayerMatrix::gate && slot <= LayerMatrix::down; }
inline bool is_of_head(LayerMatrix slot) { return slot == LayerMatrix::key_up || slot == LayerMatrix::value_up; }
inline bool is_of_stream(ModelMatrix slot) { return slot == ModelMatrix::streams_in || slot == ModelMatrix::streams_out; }

inline int expert_index(LayerMatrix slot) { return static_cast<int>(slot) - static_cast<int>(LayerMatrix::gate); }
inline int head_index(LayerMatrix slot) { return static_cast<int>(slot) - static_cast<int>(LayerMatrix::key_up); }
inline int stream_index(ModelMatrix slot) { return static_cast<int>(slot) - static_cast<int>(ModelMatrix::streams_in); }

inline int experts_of(const ModelConfig& c) { return c.experts + (c.shared_expert_size > 0 ? 1 : 0); }

inline bool has_latent(const ModelConfig& c) { return c.latent.latent > 0; }

inline bool is_within(int value, int min, int max) { return value >= min && value <= max; }

struct MatrixShape {
  int rows;
  int columns;
};

// {0, 0} if the model or layer has no such matrix. `inner` is the inner size of the block or expert that the matrix belongs to.
MatrixShape shape_of(ModelMatrix slot, const ModelConfig& config);
MatrixShape shape_of(LayerMatrix slot, const ModelConfig& config, const LayerConfig& layer, int inner);

// Elements of a vector; 0 if the model or layer can't have it.
int size_of(ModelVector slot, const ModelConfig& config);
int size_of(LayerVector slot, const ModelConfig& config, const LayerConfig& layer);

// Floats of a layer's recurrent state; 0 if it has none.
std::size_t recurrent_state_size(const ModelConfig& config, const LayerConfig& layer);

}  // namespace ropewalk
