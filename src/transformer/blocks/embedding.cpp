#include "transformer/blocks/embedding.h"

#include "base/thread_pool.h"
#include "vectors/row_work.h"
#include "vectors/scale_rows.h"

namespace ropewalk {
namespace {

void add_embedding(const WeightMatrix& embedding, int row, float* added, float* x) {
  read_row(embedding, row, added);
  add_row(added, embedding.columns, 1, x);
}

}  // namespace

void embed(const ForwardPass& pass, const float* rows, float* added, float* x) {
  const StageTimer timer(Stage::embedding);
  const Weights& w = pass.weights;
  const ModelConfig& c = pass.config();
  const int* tokens = pass.sequences.token_ids();
  const WholeTexts* whole = pass.sequences.whole();
  const float* norm = w[ModelVector::embedding_norm];
  each_in_parallel(pass.count, kRowWork * c.hidden_size, [&](int t) {
    float *row = x + elements(t, c.hidden_size), *term = added + elements(t, c.hidden_size);
    read_row(w.embedding(), tokens[t], row);
    for (int i = 0; i < c.hidden_size && c.embedding_scale != 1; ++i) row[i] *= c.embedding_scale;
    if (c.positions > 0) add_embedding(w[ModelMatrix::positions], pass.sequences.index_in_sequence(t), term, row);
    if (whole != nullptr && c.token_types > 0) add_embedding(w[ModelMatrix::token_types], whole->type(t), term, row);
    if (rows != nullptr) add_row(rows + elements(t, c.hidden_size), c.hidden_size, 1, row);
    if (norm != nullptr) normalize(c.norm, row, c.hidden_size, norm, w[ModelVector::embedding_norm_bias], row);
  });
}

}  // namespace ropewalk
