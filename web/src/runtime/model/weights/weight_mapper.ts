// Builds the list of a model's weights: finds tensors by their roles, and checks their shapes.
import type { ModelFiles, StoredTensor } from "../../files/model_files.js";
import { MAX_PIECES } from "../config/limits.js";
import type { ModelPlan } from "../plan/model_plan.js";
import {
  assembleWeight,
  columnsOf,
  type WeightMapping,
  type WeightPlace,
  type TensorRows,
  rowsOf,
  wholeTensor,
} from "./weight_mapping.js";
import {
  GGUF_NAMES,
  LAYER_MATRICES,
  LAYER_VECTORS,
  type LayerNames,
  type MatrixRole,
  type TensorNames,
  type VectorRole,
  type WholeName,
} from "../architectures/parts/tensor_names.js";
import { textModelNames, type TextModelNames } from "../architectures/parts/multimodal_names.js";

/** Layer index of weights outside the layers: embedding, final norm and head. @internal */
export const NO_LAYER = -1;
/** In the order of the core's ModelMatrix. @internal */
export const MODEL_MATRICES = [
  "embedding",
  "head",
  "per_layer_embedding",
  "per_layer_projection",
  "streams_in",
  "streams_out",
  "positions",
  "token_types",
  "dense_1",
  "dense_2",
  "dense_3",
] as const;
/** In the order of the core's ModelVector. @internal */
export const MODEL_VECTORS = [
  "final_norm",
  "final_norm_bias",
  "head_bias",
  "per_layer_projection_norm",
  "embedding_norm",
  "embedding_norm_bias",
  "dense_1_bias",
  "dense_2_bias",
  "dense_3_bias",
  "dense_norm",
  "dense_norm_bias",
  "relative_bias",
] as const;

/** The names of a model's tensors in the format of its files, or in GGUF. @internal */
export function namesOf(
  { architecture, reader }: Pick<ModelPlan, "architecture" | "reader">,
  isGguf = reader.isGguf,
): TensorNames {
  const { names, ggufNames, ggufFinalNorm: final_norm = GGUF_NAMES.final_norm } = architecture;
  return isGguf ? { ...GGUF_NAMES, final_norm, layers: { ...GGUF_NAMES.layers, ...ggufNames } } : names;
}

/** The weights of a model that have been found so far. @internal */
export class WeightMapper {
  readonly mappings: WeightMapping[] = [];
  readonly plan: ModelPlan;
  readonly files: ModelFiles;
  readonly names: TensorNames;
  readonly text: TextModelNames;
  readonly used = new Set<string>();
  pieces = 0;

  constructor(files: ModelFiles, plan: ModelPlan) {
    this.files = files;
    this.plan = plan;
    this.names = namesOf(plan);
    this.text = textModelNames(files, `${this.names.embedding}.weight`, this.names);
  }

  addMatrix(layer: number, role: MatrixRole, rows: number, columns: number): void {
    const stem = this.stem(layer, role);
    const tensor = this.tensor(`${stem}.weight`);
    this.checkLinear(tensor, rows, columns);
    this.matrix(layer, slotOfMatrix(role), 0, rows, columns, [this.linearRows(tensor, 0, rows)]);
    const bias = this.bias(stem, role);
    if (bias !== undefined) this.vector(layer, slotOfVector(`${role}_bias` as VectorRole), rows, [bias]);
  }

  /** A norm outside the layers, by its name without `.weight`. */
  addModelNorm(role: (typeof MODEL_VECTORS)[number] & `${string}norm`, stem: string, size: number): void {
    const weight = this.tensor(`${stem}.weight`);
    this.vector(NO_LAYER, MODEL_VECTORS.indexOf(role), size, [weight], this.normAdded);
    const bias = this.normBias(stem);
    const slot = MODEL_VECTORS.indexOf(`${role}_bias` as (typeof MODEL_VECTORS)[number]);
    if (bias !== undefined) this.vector(NO_LAYER, slot, size, [bias]);
  }

  /** A vector that isn't a norm, by its whole name. */
  addWhole(layer: number, role: WholeName & VectorRole, size: number, isNeeded: boolean): void {
    if (this.names.layers[role] === undefined) return;
    const name = this.stem(layer, role);
    const found = isNeeded ? this.tensor(name) : this.find(name);
    if (found !== undefined) this.vector(layer, slotOfVector(role), size, [found]);
  }

  matrix(
    layer: number,
    slot: number,
    expert: number,
    rows: number,
    columns: number,
    parts: readonly TensorRows[],
  ): void {
    if (parts.length === 1 && parts[0]!.count === rowsOf(parts[0]!.tensor) && parts[0]!.transposed === undefined)
      this.checkShape(parts[0]!.tensor, rows, columns);
    this.add({ layer, slot, expert, isVector: false, rows, columns, added: 0 }, parts);
  }

  vector(layer: number, slot: number, size: number, tensors: readonly StoredTensor[], added = 0): void {
    const count = tensors.reduce((sum, tensor) => sum + rowsOf(tensor) * columnsOf(tensor), 0);
    if (count !== size) this.refuseShape(tensors[0]!, `${size} elements`);
    this.addVector(layer, slot, size, tensors.map(wholeTensor), added);
  }

  addVector(layer: number, slot: number, size: number, parts: readonly TensorRows[], added: number): void {
    this.add({ layer, slot, expert: 0, isVector: true, rows: 1, columns: size, added }, parts);
  }

  add(place: WeightPlace, parts: readonly TensorRows[]): void {
    const { reader } = this.plan;
    this.pieces += parts.length;
    if (this.pieces > MAX_PIECES)
      reader.refuse("UNSUPPORTED_MODEL", "tensors", `the weights consist of more than ${MAX_PIECES} pieces`);
    this.mappings.push(
      assembleWeight(place, parts, ({ name }, message) => reader.refuse("INVALID_FILE", name, message)),
    );
  }

  /** Rows of the matrix of a layer, which some files store transposed. */
  linearRows(tensor: StoredTensor, first: number, count: number): TensorRows {
    if (!this.#isTransposed) return { tensor, first, count };
    return { tensor, first: 0, count: rowsOf(tensor), transposed: { first, step: 1, count } };
  }

  checkLinear(tensor: StoredTensor, rows: number, columns: number): void {
    if (this.#isTransposed) this.checkShape(tensor, columns, rows);
    else this.checkShape(tensor, rows, columns);
  }

  get #isTransposed(): boolean {
    return this.plan.architecture.isTransposed === true && !this.plan.reader.isGguf;
  }

  checkShape(tensor: StoredTensor, rows: number, columns: number): void {
    if (rowsOf(tensor) !== rows || columnsOf(tensor) !== columns) this.refuseShape(tensor, `${rows} × ${columns}`);
  }

  refuseShape(tensor: StoredTensor, wanted: string): never {
    return this.plan.reader.refuse(
      "INVALID_FILE",
      tensor.name,
      `shape must be ${wanted} by the config (got ${tensor.shape.join(" × ")})`,
    );
  }

  stem(layer: number, role: keyof LayerNames): string {
    const name = this.names.layers[role];
    if (name === undefined)
      return this.plan.reader.refuse(
        "UNSUPPORTED_MODEL",
        role,
        "has no tensor name for this architecture in files of this format",
      );
    return this.names.layer.replace("{n}", String(layer)) + name;
  }

  find(name: string): StoredTensor | undefined {
    const found = this.files.tensors.get(this.text.nameOf(name));
    if (found !== undefined) this.used.add(found.name);
    return found;
  }

  tensor(name: string): StoredTensor {
    const found = this.find(name);
    if (found === undefined)
      return this.plan.reader.refuse(
        "INVALID_FILE",
        this.text.nameOf(name),
        "tensor is missing; the file is damaged, or is one shard of several",
      );
    return found;
  }

  /** Stacked experts of newer files, and norms of Falcon-H1 in GGUF, have names without `.weight`. */
  findWeight(stem: string): StoredTensor | undefined {
    return this.find(`${stem}.weight`) ?? this.find(stem);
  }

  weightTensor(stem: string): StoredTensor {
    return this.findWeight(stem) ?? this.tensor(`${stem}.weight`);
  }

  bias(stem: string, role: MatrixRole): StoredTensor | undefined {
    const needed = this.plan.architecture.biases?.(this.plan.reader).includes(role) ?? false;
    const bias = needed ? this.tensor(`${stem}.bias`) : this.find(`${stem}.bias`);
    if (bias !== undefined && slotOfVector(`${role}_bias` as VectorRole) < 0) {
      const { reader } = this.plan;
      reader.refuse(
        "UNSUPPORTED_MODEL",
        bias.name,
        `this package doesn't support ${reader.architecture} models with it`,
      );
    }
    return bias;
  }

  normBias(stem: string): StoredTensor | undefined {
    const { norm, hasNormBiases } = this.plan.architecture;
    const has = norm === "layer" && (hasNormBiases?.(this.plan.reader) ?? true);
    return has ? this.tensor(`${stem}.bias`) : undefined;
  }

  get normAdded(): number {
    return this.plan.architecture.normsLessOne && !this.plan.reader.isGguf ? 1 : 0;
  }
}
/** @internal */
export function slotOfMatrix(role: MatrixRole): number {
  return LAYER_MATRICES.indexOf(role);
}

/** @internal */
export function slotOfVector(role: VectorRole): number {
  return LAYER_VECTORS.indexOf(role);
}
