// Weights of RWKV-7.
import type { StoredTensor } from "../../files/model_files.js";
import type { MatrixRole } from "../architectures/parts/tensor_names.js";
import { wholeTensor } from "./weight_mapping.js";
import { slotOfMatrix, slotOfVector, type WeightMapper } from "./weight_mapper.js";

/** The inputs that are mixed with the previous token's, in the order of the core and of tensors with all of them. */
const SHIFTED = ["r", "w", "k", "v", "a", "g"];

/** @internal */
export function addRwkv(mapper: WeightMapper, layer: number): void {
  const { config, shapes } = mapper.plan;
  const { hidden_size, recurrence } = config;
  const { inner } = recurrence;
  for (const role of ["recurrent_query", "recurrent_key", "recurrent_value"] as const)
    mapper.addMatrix(layer, role, inner, hidden_size);
  mapper.addMatrix(layer, "recurrent_out", hidden_size, inner);
  addLowRank(mapper, layer, "decay", recurrence.decay_rank);
  addLowRank(mapper, layer, "rate", recurrence.rate_rank);
  addLowRank(mapper, layer, "recurrent_gate", recurrence.gate_rank);
  if (layer > 0) addLowRank(mapper, layer, "share", recurrence.share_rank);
  else skipShare(mapper);
  mapper.vector(layer, slotOfVector("token_shift"), SHIFTED.length * hidden_size, shiftTensors(mapper, layer));
  for (const role of ["removal_scale", "rate_scale", "bonus"] as const) mapper.addWhole(layer, role, inner, true);
  const norm = mapper.stem(layer, "recurrent_norm");
  mapper.vector(layer, slotOfVector("recurrent_norm"), inner, [mapper.tensor(`${norm}.weight`)]);
  mapper.vector(layer, slotOfVector("recurrent_norm_bias"), inner, [mapper.tensor(`${norm}.bias`)]);
  if (shapes[layer]!.has_feed_forward) mapper.addWhole(layer, "feed_forward_shift", hidden_size, true);
}

type LowRank = "decay" | "rate" | "share" | "recurrent_gate";

/** The two matrices of a product of a low rank, and the bias of the second, which the gate hasn't. */
function addLowRank(mapper: WeightMapper, layer: number, part: LowRank, rank: number): void {
  const { hidden_size, recurrence } = mapper.plan.config;
  const { inner } = recurrence;
  const add = (role: MatrixRole, rows: number, columns: number): void => {
    const tensor = mapper.tensor(`${mapper.stem(layer, role)}.weight`);
    mapper.matrix(layer, slotOfMatrix(role), 0, rows, columns, [wholeTensor(tensor)]);
  };
  add(`${part}_down`, rank, hidden_size);
  add(`${part}_up`, inner, rank);
  if (part !== "recurrent_gate") mapper.addWhole(layer, `${part}_bias`, inner, true);
}

/** The first layer has no other's values to share. Some files have tensors for it, which nothing reads. */
function skipShare(mapper: WeightMapper): void {
  for (const role of ["share_down", "share_up"] as const) mapper.find(`${mapper.stem(0, role)}.weight`);
  mapper.find(mapper.stem(0, "share_bias"));
}

/** One tensor for all inputs, or one for each. */
function shiftTensors(mapper: WeightMapper, layer: number): StoredTensor[] {
  const name = mapper.stem(layer, "token_shift");
  const all = mapper.find(name.replace("{x}", "x"));
  return all === undefined ? SHIFTED.map((input) => mapper.tensor(name.replace("{x}", input))) : [all];
}
