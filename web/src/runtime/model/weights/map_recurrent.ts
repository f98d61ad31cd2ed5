// Weights of recurrent layers.
import { addRwkv } from "./map_rwkv.js";
import type { VectorRole } from "../architectures/parts/tensor_names.js";
import { asColumn, type TensorRows, wholeTensor } from "./weight_mapping.js";
import { slotOfMatrix, slotOfVector, type WeightMapper } from "./weight_mapper.js";

type Part = "recurrent_in" | "recurrent_gate" | "recurrent_step" | "recurrent_strength";

/** @internal */
export function addRecurrent(mapper: WeightMapper, layer: number): void {
  const { config, shapes } = mapper.plan;
  const { hidden_size } = config;
  const kind = shapes[layer]!.recurrence;
  if (kind === "rwkv7") {
    addRwkv(mapper, layer);
    return;
  }
  const inner = config.recurrence.inner;
  const { keys, channels, steps } = sizesOf(mapper, layer);
  const rows: Readonly<Partial<Record<Part, number>>> = {
    convolution: { recurrent_in: 3 * inner },
    delta: { recurrent_in: channels, recurrent_gate: inner, recurrent_step: steps, recurrent_strength: steps },
    mamba2: { recurrent_gate: inner, recurrent_in: channels, recurrent_step: steps },
    mamba: { recurrent_in: inner, recurrent_gate: inner },
    none: {},
  }[kind];
  const fused = mapper.names.layers.recurrent_all && mapper.stem(layer, "recurrent_all");
  if (fused !== undefined && mapper.find(`${fused}.weight`) !== undefined)
    addFused(mapper, layer, fused, kind === "delta" ? splitByKeyHead(mapper) : inOrder(rows));
  else addApart(mapper, layer, rows);
  if (kind === "delta" && fused !== undefined) addStrengthAndStep(mapper, layer);
  if (kind === "mamba") {
    const rank = config.recurrence.step_rank;
    mapper.addMatrix(layer, "recurrent_select", rank + 2 * keys, inner);
    const step = mapper.tensor(`${mapper.stem(layer, "recurrent_step")}.weight`); // its bias is recurrent_step_offset
    mapper.matrix(layer, slotOfMatrix("recurrent_step"), 0, steps, rank, [wholeTensor(step)]);
  }
  mapper.addMatrix(layer, "recurrent_out", hidden_size, inner);
  addVectors(mapper, layer);
}

interface Sizes {
  readonly keys: number;
  readonly channels: number;
  readonly steps: number;
}

function sizesOf(mapper: WeightMapper, layer: number): Sizes {
  const { config, shapes } = mapper.plan;
  const { recurrence: kind } = shapes[layer]!;
  const { inner, key_size: keys, key_heads: keyHeads } = config.recurrence;
  const hasKeys = kind === "delta" || kind === "mamba2";
  return {
    keys,
    channels: hasKeys ? inner + 2 * keyHeads * keys : inner,
    steps: kind === "mamba" ? inner : config.recurrence.heads,
  };
}

/** Rows of a tensor with its whole name. */
interface NamedRows {
  readonly name: string;
  readonly first: number;
  readonly count: number;
}

function addRows(
  mapper: WeightMapper,
  layer: number,
  role: Part,
  rows: number,
  columns: number,
  parts: readonly NamedRows[],
): void {
  const found = parts.map(({ name, first, count }): TensorRows => ({ tensor: mapper.tensor(name), first, count }));
  mapper.matrix(layer, slotOfMatrix(role), 0, rows, columns, found);
}

/** Each projection in a tensor of its own. */
function addApart(mapper: WeightMapper, layer: number, rows: Readonly<Partial<Record<Part, number>>>): void {
  const hasPair = mapper.names.layers.recurrent_strength_step !== undefined;
  for (const role of Object.keys(rows) as Part[]) {
    const isInPair = role === "recurrent_step" || role === "recurrent_strength";
    if (!(isInPair && hasPair && isPair(mapper, layer)))
      mapper.addMatrix(layer, role, rows[role]!, mapper.plan.config.hidden_size);
  }
}

function isPair(mapper: WeightMapper, layer: number): boolean {
  return mapper.find(`${mapper.stem(layer, "recurrent_strength_step")}.weight`) !== undefined;
}

type Split = ReadonlyMap<Part, readonly { readonly first: number; readonly count: number }[]>;

/** The projections one after the other. */
function inOrder(rows: Readonly<Partial<Record<Part, number>>>): Split {
  let first = 0;
  return new Map(
    (Object.keys(rows) as Part[]).map((role) => {
      const part = { first, count: rows[role]! };
      first += part.count;
      return [role, [part]] as const;
    }),
  );
}

/** For each key head its query, its key, its values and their gates. */
function splitByKeyHead(mapper: WeightMapper): Split {
  const { inner, key_size: keys, key_heads: heads } = mapper.plan.config.recurrence;
  const values = inner / heads;
  const ofHead = 2 * keys + 2 * values;
  const each = (offset: number, count: number) =>
    Array.from({ length: heads }, (_, head) => ({ first: head * ofHead + offset, count }));
  return new Map([
    ["recurrent_in", [...each(0, keys), ...each(keys, keys), ...each(2 * keys, values)]],
    ["recurrent_gate", each(2 * keys + values, values)],
  ]);
}

function addFused(mapper: WeightMapper, layer: number, stem: string, split: Split): void {
  const tensor = mapper.tensor(`${stem}.weight`);
  const bias = mapper.find(`${stem}.bias`);
  const total = [...split.values()].flat().reduce((sum, { count }) => sum + count, 0);
  const columns = mapper.plan.config.hidden_size;
  mapper.checkShape(tensor, total, columns);
  if (bias !== undefined) mapper.checkShape(bias, 1, total);
  for (const [role, parts] of split) {
    const rows = parts.reduce((sum, { count }) => sum + count, 0);
    mapper.matrix(
      layer,
      slotOfMatrix(role),
      0,
      rows,
      columns,
      parts.map((part) => ({ tensor, ...part })),
    );
    if (bias === undefined) continue;
    const column = asColumn(bias);
    const slot = slotOfVector(`${role}_bias` as VectorRole);
    mapper.addVector(
      layer,
      slot,
      rows,
      parts.map((part) => ({ tensor: column, ...part })),
      0,
    );
  }
}

/** For each key head the strengths of its values, then their steps. */
function addStrengthAndStep(mapper: WeightMapper, layer: number): void {
  const { recurrence, hidden_size } = mapper.plan.config;
  const { heads, key_heads: keyHeads } = recurrence;
  if (!isPair(mapper, layer)) return;
  const name = `${mapper.stem(layer, "recurrent_strength_step")}.weight`;
  mapper.checkShape(mapper.tensor(name), 2 * heads, hidden_size);
  const values = heads / keyHeads;
  (["recurrent_strength", "recurrent_step"] as const).forEach((role, index) => {
    const parts = Array.from({ length: keyHeads }, (_, head) => ({
      name,
      first: (2 * head + index) * values,
      count: values,
    }));
    addRows(mapper, layer, role, heads, hidden_size, parts);
  });
}

function addVectors(mapper: WeightMapper, layer: number): void {
  const { config, shapes } = mapper.plan;
  const { recurrence: kind } = shapes[layer]!;
  const { keys, channels, steps } = sizesOf(mapper, layer);
  const stem = mapper.stem(layer, "convolution");
  mapper.vector(layer, slotOfVector("convolution"), channels * config.recurrence.kernel, [
    mapper.tensor(`${stem}.weight`),
  ]);
  const bias = mapper.find(`${stem}.bias`);
  if (bias !== undefined) mapper.vector(layer, slotOfVector("convolution_bias"), channels, [bias]);
  if (kind === "convolution") return;
  mapper.addWhole(layer, "recurrent_step_offset", steps, true);
  const decays = kind === "mamba" ? steps * keys : steps;
  mapper.addWhole(layer, mapper.names.layers.decay_log === undefined ? "decay" : "decay_log", decays, true);
  if (kind !== "delta") mapper.addWhole(layer, "skip", steps, true);
  if (kind === "mamba") addSelectNorm(mapper, layer);
  if (kind === "mamba" || !config.recurrence.has_norm) return;
  const norm = mapper.tensor(`${mapper.stem(layer, "recurrent_norm")}.weight`);
  const size = kind === "delta" ? config.recurrence.inner / config.recurrence.heads : config.recurrence.inner;
  mapper.vector(layer, slotOfVector("recurrent_norm"), size, [norm]);
}

/** The norms of what the input selects, if they have weights. */
function addSelectNorm(mapper: WeightMapper, layer: number): void {
  const { step_rank: rank, key_size: keys } = mapper.plan.config.recurrence;
  const roles = ["recurrent_step_norm", "recurrent_key_norm", "recurrent_query_norm"] as const;
  if (mapper.plan.architecture.names.layers[roles[0]] === undefined) return;
  const norms = roles.map((role) => mapper.tensor(`${mapper.stem(layer, role)}.weight`));
  mapper.vector(layer, slotOfVector("recurrent_select_norm"), rank + 2 * keys, norms);
}

/** Queries and their gates, which the tensor has head by head. @internal */
export function addGatedQueries(mapper: WeightMapper, layer: number): void {
  const { heads, hidden_size } = mapper.plan.config;
  const { head_dim } = mapper.plan.shapes[layer]!;
  const stem = mapper.stem(layer, "query");
  const tensor = mapper.tensor(`${stem}.weight`);
  const bias = mapper.bias(stem, "query");
  mapper.checkShape(tensor, 2 * heads * head_dim, hidden_size);
  if (bias !== undefined) mapper.checkShape(bias, 1, 2 * heads * head_dim);
  (["query", "attention_gate"] as const).forEach((role, index) => {
    const rowsFrom = (from: TensorRows["tensor"]): TensorRows[] =>
      Array.from({ length: heads }, (_, head) => ({
        tensor: from,
        first: (2 * head + index) * head_dim,
        count: head_dim,
      }));
    mapper.matrix(layer, slotOfMatrix(role), 0, heads * head_dim, hidden_size, rowsFrom(tensor));
    if (bias === undefined) return;
    const slot = slotOfVector(`${role}_bias` as VectorRole);
    mapper.addVector(layer, slot, heads * head_dim, rowsFrom(asColumn(bias)), 0);
  });
}
