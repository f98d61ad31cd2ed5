// Weights outside the layers: embeddings of positions and types, biases of distances, and the layers after pooling.
import type { StoredTensor } from "../../files/model_files.js";
import { wholeTensor } from "./weight_mapping.js";
import { MODEL_MATRICES, MODEL_VECTORS, NO_LAYER, type WeightMapper } from "./weight_mapper.js";

/** What is added to the embedding of a token, and to scores. @internal */
export function addPositions(mapper: WeightMapper): void {
  const { reader, architecture, config } = mapper.plan;
  const { hidden_size, heads, positions, token_types, relative_buckets } = config;
  const { names } = mapper;
  if (positions > 0) {
    const tensor = mapper.tensor(`${names.positions}.weight`);
    // GGUF files store only the positions that are used
    const first = reader.isGguf ? 0 : architecture.positions!(reader).unused;
    if (first === 0) mapper.checkShape(tensor, positions, hidden_size);
    mapper.matrix(NO_LAYER, MODEL_MATRICES.indexOf("positions"), 0, positions, hidden_size, [
      { tensor, first, count: positions },
    ]);
  }
  if (token_types > 0) {
    const tensor = mapper.tensor(`${names.token_types}.weight`);
    const slot = MODEL_MATRICES.indexOf("token_types");
    mapper.matrix(NO_LAYER, slot, 0, token_types, hidden_size, [wholeTensor(tensor)]);
  }
  if (relative_buckets > 0) {
    const part = { tensor: mapper.tensor(`${names.relative_bias}.weight`), first: 0, count: relative_buckets };
    mapper.addVector(NO_LAYER, MODEL_VECTORS.indexOf("relative_bias"), relative_buckets * heads, [part], 0);
  }
}

/** The layers after pooling. Their names don't depend on those of the text model. @internal */
export function addDense(mapper: WeightMapper): void {
  const { config, embedding, reader } = mapper.plan;
  const tensorOf = (name: string): StoredTensor => {
    const found = mapper.files.tensors.get(name);
    if (found === undefined) return reader.refuse("INVALID_FILE", name, "tensor is missing; the file is damaged");
    mapper.used.add(found.name);
    return found;
  };
  let columns = config.hidden_size;
  embedding.dense.forEach(({ weight, bias, size, norm }, index) => {
    const number = (index + 1) as 1 | 2 | 3;
    const matrix = MODEL_MATRICES.indexOf(`dense_${number}`);
    mapper.matrix(NO_LAYER, matrix, 0, size, columns, [wholeTensor(tensorOf(weight))]);
    if (bias !== undefined)
      mapper.vector(NO_LAYER, MODEL_VECTORS.indexOf(`dense_${number}_bias`), size, [tensorOf(bias)]);
    if (norm !== undefined) {
      mapper.vector(NO_LAYER, MODEL_VECTORS.indexOf("dense_norm"), size, [tensorOf(`${norm}.weight`)]);
      if (mapper.files.tensors.has(`${norm}.bias`))
        mapper.vector(NO_LAYER, MODEL_VECTORS.indexOf("dense_norm_bias"), size, [tensorOf(`${norm}.bias`)]);
    }
    columns = size;
  });
}
