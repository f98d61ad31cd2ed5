// Weights of layers that do something of their own: latent attention, per-layer embeddings, stacked experts.
import type { StoredTensor } from "../../files/model_files.js";
import { WEIGHT_BLOCKS } from "../../../core/quantize/weight_formats.js";
import type { ExpertLayout } from "../architectures/parts/architecture.js";
import type { MatrixRole } from "../architectures/parts/tensor_names.js";
import { columnsOf, rowsOf, type TensorRows, wholeTensor } from "./weight_mapping.js";
import {
  MODEL_MATRICES,
  MODEL_VECTORS,
  NO_LAYER,
  slotOfMatrix,
  slotOfVector,
  type WeightMapper,
} from "./weight_mapper.js";

/** Weights of the whole model that belong to per-layer embeddings and streams. @internal */
export function addPerLayer(mapper: WeightMapper): void {
  const { layers, hidden_size, per_layer } = mapper.plan.config;
  const { size, vocabulary_size, streams } = per_layer;
  if (size === 0) return;
  const add = (role: (typeof MODEL_MATRICES)[number], index: number, rows: number, columns: number, part: TensorRows) =>
    mapper.matrix(NO_LAYER, MODEL_MATRICES.indexOf(role), index, rows, columns, [part]);
  const whole = (role: "per_layer_embedding" | "per_layer_projection" | "per_layer_projection_norm"): StoredTensor =>
    mapper.tensor(`${mapper.names[role]}.weight`);
  const all = layers * size;
  if (vocabulary_size > 0)
    add("per_layer_embedding", 0, vocabulary_size, all, wholeTensor(whole("per_layer_embedding")));
  add("per_layer_projection", 0, all, hidden_size, wholeTensor(whole("per_layer_projection")));
  const norm = MODEL_VECTORS.indexOf("per_layer_projection_norm");
  mapper.vector(NO_LAYER, norm, size, [whole("per_layer_projection_norm")]);
  for (const role of ["streams_in", "streams_out"] as const) {
    for (let index = 0; index < streams - 1; index++) {
      const name = mapper.names[role] ?? "";
      const tensor = mapper.tensor(`${name.replace("{s}", String(index))}.weight`);
      const isOfAll = !name.includes("{s}");
      const first = isOfAll ? index * hidden_size : 0;
      mapper.checkShape(tensor, (isOfAll ? streams - 1 : 1) * hidden_size, hidden_size);
      add(role, index, hidden_size, hidden_size, { tensor, first, count: hidden_size });
    }
  }
}

/** Keys and values of heads as linear maps of the latent. A part of the map is transposed, unless the file has it so. @internal */
export function addLatentAttention(mapper: WeightMapper, layer: number): void {
  const { heads, hidden_size } = mapper.plan.config;
  const { latent, rotated, plain, value, query } = mapper.plan.config.latent;
  const queries = heads * (plain + rotated);
  if (query > 0) {
    mapper.addMatrix(layer, "query_latent", query, hidden_size);
    const queryUp = wholeTensor(mapper.tensor(`${mapper.stem(layer, "query_up")}.weight`));
    mapper.matrix(layer, slotOfMatrix("query"), 0, queries, query, [queryUp]);
  } else mapper.addMatrix(layer, "query", queries, hidden_size);
  mapper.addMatrix(layer, "latent", latent + rotated, hidden_size);
  mapper.addMatrix(layer, "output", hidden_size, heads * value);
  const both = mapper.find(`${mapper.stem(layer, "key_value_up")}.weight`);
  const keys = both ?? mapper.tensor(`${mapper.stem(layer, "key_up")}.weight`);
  const values = both ?? mapper.tensor(`${mapper.stem(layer, "value_up")}.weight`);
  const rows = both === undefined ? value : plain + value;
  mapper.checkShape(values, heads * rows, latent);
  if (both === undefined) mapper.checkShape(keys, heads * latent, plain);
  for (let head = 0; head < heads; head++) {
    const transposed = { first: 0, step: 1, count: latent };
    const keyUp =
      both === undefined
        ? { tensor: keys, first: head * latent, count: latent }
        : { tensor: keys, first: head * rows, count: plain, transposed };
    const valueUp = { tensor: values, first: head * rows + rows - value, count: value };
    mapper.matrix(layer, slotOfMatrix("key_up"), head, latent, plain, [keyUp]);
    mapper.matrix(layer, slotOfMatrix("value_up"), head, value, latent, [valueUp]);
  }
}

/** Some files have keys and values of layers that read those of another. @internal */
export function skipKeys(mapper: WeightMapper, layer: number): void {
  for (const role of ["key", "value", "key_norm"] as const) mapper.find(`${mapper.stem(layer, role)}.weight`);
}

/** Files have scales of all layers or of none. */
function hasLayerScales(mapper: WeightMapper): boolean {
  if (mapper.names.layers.layer_scale === undefined) return false;
  const { layers } = mapper.plan.config;
  return Array.from({ length: layers }, (_, layer) => mapper.find(mapper.stem(layer, "layer_scale"))).some(Boolean);
}

/** @internal */
export function addPerLayerOf(mapper: WeightMapper, layer: number): void {
  const { hidden_size, per_layer } = mapper.plan.config;
  const { size, streams, laurel } = per_layer;
  mapper.addWhole(layer, "layer_scale", 1, hasLayerScales(mapper));
  if (size > 0) {
    mapper.addMatrix(layer, "per_layer_gate", size, hidden_size);
    mapper.addMatrix(layer, "per_layer_output", hidden_size, size);
  }
  if (laurel > 0) {
    mapper.addMatrix(layer, "laurel_down", laurel, hidden_size);
    mapper.addMatrix(layer, "laurel_up", hidden_size, laurel);
  }
  if (streams === 0) return;
  mapper.addMatrix(layer, "stream_router", streams, hidden_size);
  mapper.addMatrix(layer, "stream_prediction", streams * streams, streams);
  mapper.addMatrix(layer, "stream_correction", streams, streams);
  const scales = mapper.plan.reader.isGguf || mapper.plan.reader.boolean(["altup_correct_scale", ""], true);
  if (scales) mapper.addWhole(layer, "stream_scale", hidden_size, true);
  else mapper.find(mapper.stem(layer, "stream_scale"));
}

/**
 * All experts of a layer in two tensors: gate and up, and down. A matrix is stored as [columns][rows], unless it consists of blocks, which lie along
 * rows.
 *
 * @internal
 */
export function addStackedExperts(mapper: WeightMapper, layer: number, layout: ExpertLayout): void {
  const { experts, expert_size, hidden_size } = mapper.plan.config;
  const gateUp = mapper.tensor(mapper.stem(layer, "expert_gate_up"));
  const down = mapper.tensor(mapper.stem(layer, "expert_down"));
  const add = (tensor: StoredTensor, role: MatrixRole, all: number, first: number, rows: number, columns: number) => {
    const hasRows = tensor.shape.at(-2) === all && tensor.shape.at(-1) === columns;
    const canTranspose = WEIGHT_BLOCKS[tensor.format].elements === 1;
    const isTransposed = layout !== "rows" && canTranspose && !(layout === "by_shape" && hasRows);
    const step = layout === "alternating" && all > rows ? 2 : 1;
    mapper.checkShape(tensor, experts * (isTransposed ? columns : all), isTransposed ? all : columns);
    for (let expert = 0; expert < experts; expert++) {
      const part = isTransposed
        ? { tensor, first: expert * columns, count: columns, transposed: { first, step, count: rows } }
        : step > 1
          ? { tensor, first: expert * all, count: all, every: { offset: first, step } }
          : { tensor, first: expert * all + first, count: rows };
      mapper.matrix(layer, slotOfMatrix(role), expert, rows, columns, [part]);
    }
  };
  add(gateUp, "gate", 2 * expert_size, 0, expert_size, hidden_size);
  add(gateUp, "up", 2 * expert_size, layout === "alternating" ? 1 : expert_size, expert_size, hidden_size);
  add(down, "down", hidden_size, 0, hidden_size, expert_size);
}

/** @internal */
export function addRouterLogitBias(mapper: WeightMapper, layer: number, experts: number): void {
  if (mapper.plan.architecture.expertLayout !== "alternating") return;
  const bias = mapper.tensor(`${mapper.stem(layer, "router")}.bias`);
  mapper.vector(layer, slotOfVector("router_logit_bias"), experts, [bias]);
}

/** Biases of all experts: a vector for each role. @internal */
export function addExpertBiases(mapper: WeightMapper, layer: number): void {
  const { experts, expert_size, hidden_size } = mapper.plan.config;
  if (mapper.plan.architecture.expertLayout !== "alternating") return;
  const { isGguf } = mapper.plan.reader;
  (["gate", "up"] as const).forEach((role, offset) => {
    const bias = mapper.tensor(mapper.stem(layer, isGguf ? `expert_${role}_bias` : "expert_gate_up_bias"));
    const size = experts * expert_size;
    if (rowsOf(bias) * columnsOf(bias) !== (isGguf ? size : 2 * size)) mapper.refuseShape(bias, `${size} elements`);
    const flat: StoredTensor = { ...bias, shape: [rowsOf(bias) * columnsOf(bias), 1] };
    const rows = wholeTensor(flat);
    mapper.addVector(
      layer,
      slotOfVector(`expert_${role}_bias`),
      size,
      [isGguf ? rows : { ...rows, every: { offset, step: 2 } }],
      0,
    );
  });
  mapper.addWhole(layer, "expert_down_bias", experts * hidden_size, true);
}
