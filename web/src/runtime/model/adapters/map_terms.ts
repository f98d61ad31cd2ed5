// From what an adapter's files say to terms of the core's matrices, by the tensors that the model's matrices were assembled from.
import * as advise from "../../../core/base/advice.js";
import { named } from "../../files/errors.js";
import type { AdapterFiles } from "../../files/adapter_files.js";
import type { StoredTensor } from "../../files/model_files.js";
import type { ModelPlan } from "../plan/model_plan.js";
import { textModelNames } from "../architectures/parts/multimodal_names.js";
import { LAYER_MATRICES } from "../architectures/parts/tensor_names.js";
import { columnsOf, rowsOf, type TensorRows, type WeightMapping, wholeTensor } from "../weights/weight_mapping.js";
import { MODEL_MATRICES, namesOf, NO_LAYER, slotOfVector } from "../weights/weight_mapper.js";
import { invalid, type LowRank, unsupported } from "./low_rank.js";
import { otherFormat, type OtherFormat } from "./other_format.js";
import { type OlderName, olderName, type RowPart } from "./renamed_modules.js";

/** A matrix as rows of numbers. @internal */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float32Array;
}

/** A term of a matrix of the core. @internal */
export interface Term {
  readonly place: Pick<WeightMapping, "layer" | "slot" | "expert">;
  readonly firstRow: number;
  /** [rank, columns] */
  readonly a: Matrix;
  /** [rows, rank] */
  readonly b: Matrix;
  /** [rows]; undefined for none */
  readonly bias: Float32Array | undefined;
  readonly scale: number;
}

/** A tensor of the model, and the matrices of the core that have rows of it. @internal */
interface Uses {
  readonly tensor: StoredTensor;
  readonly mappings: WeightMapping[];
}

/** Where the terms of a weight go. @internal */
export interface Target {
  readonly lowRank: LowRank;
  readonly tensor: StoredTensor;
  readonly mappings: readonly WeightMapping[];
  /** Row of B for each row of the model's tensor, if they are in another order. */
  readonly rowOf: ((row: number) => number) | undefined;
  /** The rows of the model's tensor that it changes, if not all. */
  readonly part: RowPart | undefined;
}

/**
 * Finds the weights that an adapter changes, and checks their shapes.
 * @throws {@link RopewalkError} INVALID_FILE (the adapter is of another model), UNSUPPORTED_MODEL
 * @internal
 */
export function findTargets(
  files: AdapterFiles,
  lowRanks: readonly LowRank[],
  plan: ModelPlan,
  mappings: readonly WeightMapping[],
): Target[] {
  const uses = usesOf(mappings.filter(({ isVector }) => !isVector));
  const isOther = (files.kind === "gguf") !== plan.reader.isGguf;
  return lowRanks.map((lowRank) => {
    // PEFT names modules as its version of transformers does, and the file as the model was first released.
    const names: OlderName[] = [{ name: lowRank.target }, olderName(plan.reader.architecture, lowRank.target)];
    const translated = isOther ? names.map(({ name }) => otherFormat(plan, name)).find(Boolean) : undefined;
    if (isOther && translated === undefined) refuseFormat(files, lowRank, plan);
    const inFile: OlderName[] = translated === undefined ? names : [translated];
    for (const { name, part } of inFile) {
      const found = findUses(uses, plan, name);
      if (found !== undefined) return checked(files, lowRank, found, part, translated);
    }
    const gates = usesOf(mappings.filter(isSharedExpertGate).map(asMatrix));
    const gate = inFile.map(({ name }) => findUses(gates, plan, name)).find(Boolean);
    if (gate !== undefined) return checked(files, lowRank, gate, undefined, undefined);
    return refuseMissing(files, lowRank, plan);
  });
}

function isSharedExpertGate({ isVector, slot }: WeightMapping): boolean {
  return isVector && slot === slotOfVector("shared_expert_gate");
}

/** A vector as the matrix of one row whose terms the core adds: kSharedExpertGate of src/transformer/weights.h, the slot after those of matrices. */
function asMatrix(mapping: WeightMapping): WeightMapping {
  const tensor = { ...mapping.parts[0]!.tensor, shape: [1, mapping.columns] };
  return { ...mapping, isVector: false, slot: LAYER_MATRICES.length, parts: [wholeTensor(tensor)] };
}

function usesOf(mappings: readonly WeightMapping[]): ReadonlyMap<string, Uses> {
  const uses = new Map<string, Uses>();
  for (const mapping of mappings) {
    for (const tensor of new Set(mapping.parts.map((part) => part.tensor))) {
      const known = uses.get(tensor.name) ?? { tensor, mappings: [] };
      known.mappings.push(mapping);
      uses.set(tensor.name, known);
    }
  }
  return uses;
}

/** Where the text model is in a class of a multimodal model. */
const MULTIMODAL = /^(model\.)?(language_model|text_model)\.(model\.)?/;

/** Adapters name modules as the model's class does, and files of multimodal models have other prefixes. */
function findUses(uses: ReadonlyMap<string, Uses>, plan: ModelPlan, name: string): Uses | undefined {
  const names = namesOf(plan);
  const embedding = `${names.embedding}.weight`;
  const kind = plan.reader.isGguf ? "gguf" : "safetensors";
  const tensors = new Map([...uses].map(([key, { tensor }]) => [key, tensor]));
  const { nameOf } = textModelNames({ kind, tensors }, embedding, names);
  // Classes with a head have the encoder in a module of their own, which files may leave out.
  const prefix = names.prefixes?.find((start) => name.startsWith(start)) ?? "";
  const inner = name.slice(prefix.length).replace(MULTIMODAL, "model.");
  const tried = [name, nameOf(name), nameOf(`model.${name}`), inner, nameOf(inner)];
  const found = tried.map((one) => uses.get(one)).find(Boolean);
  if (found !== undefined || name !== `${names.head}.weight`) return found;
  // the head is tied to the embedding, and the adapter changes only the head
  const tied = uses.get(nameOf(embedding));
  const mapping = tied?.mappings[0];
  return tied && mapping && { tensor: tied.tensor, mappings: [{ ...mapping, slot: MODEL_MATRICES.indexOf("head") }] };
}

function checked(
  files: AdapterFiles,
  lowRank: LowRank,
  { tensor, mappings }: Uses,
  part: RowPart | undefined,
  other: OtherFormat | undefined,
): Target {
  const { a, b, target } = lowRank;
  if (tensor.shape.length !== 2)
    unsupported(files.name, a.name, `changes ${named(target)}, which has all experts of a layer and isn't supported`);
  const isRead = mappings.every(({ layer, slot }) => layer !== NO_LAYER || MODEL_MATRICES[slot] === "head");
  if (!isRead)
    unsupported(files.name, a.name, `changes ${named(target)}, which isn't a linear layer, and so isn't supported`);
  const [rows, columns] = [b.shape[0]!, a.shape[1]!];
  if (rows * (part?.of ?? 1) !== rowsOf(tensor) || columns !== columnsOf(tensor))
    invalid(
      files,
      a.name,
      `changes a weight of ${rows} × ${columns}, but ${named(tensor.name)} of the model is ${tensor.shape.join(" × ")}${part ? `, in ${part.of} parts` : ""}: the adapter is of another base model${baseModel(files)}`,
    );
  const { base } = lowRank;
  if (base !== undefined && base.shape.join() !== tensor.shape.join())
    unsupported(
      files.name,
      base.name,
      `replaces ${named(tensor.name)} by a weight of ${base.shape.join(" × ")} (the model has ${tensor.shape.join(" × ")}): the vocabulary was changed`,
      advise.other("merge the adapter with merge_and_unload()"),
    );
  return { lowRank, tensor, mappings, rowOf: other?.rowOf, part };
}

function refuseMissing(files: AdapterFiles, { a, target }: LowRank, plan: ModelPlan): never {
  const message = `changes ${named(target)}, which the model (${plan.reader.architecture}) doesn't have: the adapter is of another base model${baseModel(files)}`;
  return invalid(files, a.name, message);
}

function refuseFormat(files: AdapterFiles, { a, target }: LowRank, plan: ModelPlan): never {
  const [model, adapter] = plan.reader.isGguf ? ["GGUF", "GGUF"] : ["safetensors", "PEFT's format"];
  const message = `changes ${named(target)}, which has no known counterpart in a ${plan.reader.architecture} model in ${model}`;
  return unsupported(files.name, a.name, message, advise.other(`use the adapter in ${adapter}`));
}

/** The base model that an adapter names, for messages. */
function baseModel({ config, metadata }: AdapterFiles): string {
  const name = config["base_model_name_or_path"] ?? metadata["general.base_model.0.name"];
  return typeof name === "string" && name !== "" ? `, ${named(name)}` : "";
}

/** The terms of the core's matrices for what an adapter adds to one tensor of the model. @internal */
export function termsOf(target: Target, a: Matrix, given: Matrix, givenBias: Float32Array | undefined): Term[] {
  const { tensor, mappings, rowOf, lowRank } = target;
  const { scale } = lowRank;
  const order = rowOf && Array.from({ length: given.rows }, (_, row) => rowOf(row));
  const b = order === undefined ? given : pickRows(given, order);
  const bias = order === undefined ? givenBias : givenBias && pick(givenBias, order);
  const first = (target.part?.index ?? 0) * given.rows; // of the tensor's rows
  return mappings.flatMap((mapping) => {
    let row = 0;
    const runs: { firstRow: number; rows: number[] }[] = [];
    const terms: Term[] = [];
    for (const part of mapping.parts) {
      const firstRow = row;
      const { transposed } = part;
      const rows = transposed === undefined ? rowsIn(part) : [];
      row += transposed?.count ?? rows.length;
      if (part.tensor.name !== tensor.name) continue;
      if (transposed !== undefined) {
        // (B A)ᵀ = Aᵀ Bᵀ
        const columns = Array.from({ length: transposed.count }, (_, i) => transposed.first + i * transposed.step);
        const inner = Array.from({ length: part.count }, (_, i) => part.first + i);
        const [up, down] = [pickRows(flipped(a), columns), flipped(pickRows(b, inner))];
        terms.push({ place: mapping, firstRow, a: down, b: up, bias: undefined, scale });
        continue;
      }
      for (const [index, rowOfTensor] of rows.entries()) {
        const rowOfB = rowOfTensor - first;
        if (rowOfB < 0 || rowOfB >= given.rows) continue; // of another part
        const last = runs.at(-1);
        if (last !== undefined && last.firstRow + last.rows.length === firstRow + index) last.rows.push(rowOfB);
        else runs.push({ firstRow: firstRow + index, rows: [rowOfB] });
      }
    }
    for (const { firstRow, rows } of runs)
      terms.push({ place: mapping, firstRow, a, b: pickRows(b, rows), bias: bias && pick(bias, rows), scale });
    return terms;
  });
}

/** The tensor's rows that a part has, in its order. */
function rowsIn({ first, count, every }: TensorRows): number[] {
  const { offset, step } = every ?? { offset: 0, step: 1 };
  return Array.from({ length: count / step }, (_, i) => first + offset + i * step);
}

function pickRows({ columns, values }: Matrix, rows: readonly number[]): Matrix {
  const picked = new Float32Array(rows.length * columns);
  rows.forEach((row, i) => picked.set(values.subarray(row * columns, (row + 1) * columns), i * columns));
  return { rows: rows.length, columns, values: picked };
}

function pick(values: Float32Array, places: readonly number[]): Float32Array {
  return Float32Array.from(places, (place) => values[place]!);
}

function flipped({ rows, columns, values }: Matrix): Matrix {
  const turned = new Float32Array(values.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) turned[column * rows + row] = values[row * columns + column]!;
  return { rows: columns, columns: rows, values: turned };
}
