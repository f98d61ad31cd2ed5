// Maps the tensors of a model's files to the weights of the core.
import type { ModelFiles, StoredTensor } from "../files/model_files.js";
import { MAX_PIECES } from "./limits.js";
import type { ModelPlan } from "./model_plan.js";
import {
  asColumn,
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
  type NormRole,
  type TensorNames,
  type VectorRole,
  type WholeName,
} from "./tensor_names.js";
import { textModelNames, type TextModelNames } from "./multimodal_names.js";

/** Layer index of weights outside the layers: embedding, final norm and head. */
const NO_LAYER = -1;
// In the order of the core's ModelMatrix and ModelVector.
const MODEL_MATRICES = [
  "embedding",
  "head",
  "per_layer_embedding",
  "per_layer_projection",
  "streams_in",
  "streams_out",
] as const;
const MODEL_VECTORS = ["final_norm", "final_norm_bias", "head_bias", "per_layer_projection_norm"] as const;

/**
 * Tensors that some files contain but the core doesn't need: tables and masks that it computes, and RoPE factors, which
 * ropeConfig() reads.
 */
const COMPUTED =
  /(rotary_emb\.inv_freq|\.(attention|attn)\.(masked_)?bias|attn_rot_embd\.weight)$|^rope_(freqs|factors_long|factors_short)\.weight$/;

/**
 * The source of every weight of a model: which bytes of which tensors.
 *
 * @throws {@link RopewalkError} INVALID_FILE (a tensor is missing, or its shape contradicts the config),
 * UNSUPPORTED_MODEL (a tensor that this package doesn't use; ignoring it would give wrong results).
 * @internal
 */
export function mapWeights(files: ModelFiles, plan: ModelPlan): WeightMapping[] {
  const mapper = new WeightMapper(files, plan);
  mapper.addModel();
  mapper.addPerLayer();
  for (let layer = 0; layer < plan.config.layers; layer++) mapper.addLayer(layer);
  mapper.checkAllUsed();
  return mapper.mappings;
}

type LayerSizes = Partial<Record<NormRole, number>>;

class WeightMapper {
  readonly mappings: WeightMapping[] = [];
  readonly #plan: ModelPlan;
  readonly #files: ModelFiles;
  readonly #names: TensorNames;
  readonly #text: TextModelNames;
  readonly #used = new Set<string>();
  #pieces = 0;

  constructor(files: ModelFiles, plan: ModelPlan) {
    this.#files = files;
    this.#plan = plan;
    const { names, ggufNames } = plan.architecture;
    this.#names = plan.reader.isGguf ? { ...GGUF_NAMES, layers: { ...GGUF_NAMES.layers, ...ggufNames } } : names;
    this.#text = textModelNames(files, `${this.#names.embedding}.weight`);
  }

  addModel(): void {
    const { embedding, final_norm, head } = this.#names;
    const { vocabulary_size, hidden_size } = this.#plan.config;
    this.#matrix(NO_LAYER, MODEL_MATRICES.indexOf("embedding"), 0, vocabulary_size, hidden_size, [
      wholeTensor(this.#tensor(`${embedding}.weight`)),
    ]);
    // a model without a head uses its embedding
    const needsHead = this.#plan.reader.source["tie_word_embeddings"] === false;
    const headWeight = needsHead ? this.#tensor(`${head}.weight`) : this.#find(`${head}.weight`);
    if (headWeight !== undefined)
      this.#matrix(NO_LAYER, MODEL_MATRICES.indexOf("head"), 0, vocabulary_size, hidden_size, [
        wholeTensor(headWeight),
      ]);
    this.#vector(
      NO_LAYER,
      MODEL_VECTORS.indexOf("final_norm"),
      hidden_size,
      [this.#tensor(`${final_norm}.weight`)],
      this.#normAdded,
    );
    const bias = this.#normBias(final_norm);
    if (bias !== undefined) this.#vector(NO_LAYER, MODEL_VECTORS.indexOf("final_norm_bias"), hidden_size, [bias]);
    const headBias = this.#find(`${head}.bias`);
    if (headBias !== undefined) this.#vector(NO_LAYER, MODEL_VECTORS.indexOf("head_bias"), vocabulary_size, [headBias]);
  }

  /** Weights of the whole model that belong to per-layer embeddings and streams. */
  addPerLayer(): void {
    const { layers, hidden_size, per_layer_size, per_layer_vocabulary, streams } = this.#plan.config;
    if (per_layer_size === 0) return;
    const add = (
      role: (typeof MODEL_MATRICES)[number],
      index: number,
      rows: number,
      columns: number,
      part: TensorRows,
    ) => this.#matrix(NO_LAYER, MODEL_MATRICES.indexOf(role), index, rows, columns, [part]);
    const whole = (role: "per_layer_embedding" | "per_layer_projection" | "per_layer_projection_norm"): StoredTensor =>
      this.#tensor(`${this.#names[role]}.weight`);
    const all = layers * per_layer_size;
    add("per_layer_embedding", 0, per_layer_vocabulary, all, wholeTensor(whole("per_layer_embedding")));
    add("per_layer_projection", 0, all, hidden_size, wholeTensor(whole("per_layer_projection")));
    const norm = MODEL_VECTORS.indexOf("per_layer_projection_norm");
    this.#vector(NO_LAYER, norm, per_layer_size, [whole("per_layer_projection_norm")]);
    for (const role of ["streams_in", "streams_out"] as const) {
      for (let index = 0; index < streams - 1; index++) {
        const name = this.#names[role] ?? "";
        const tensor = this.#tensor(`${name.replace("{s}", String(index))}.weight`);
        const first = name.includes("{s}") ? 0 : index * hidden_size;
        add(role, index, hidden_size, hidden_size, { tensor, first, count: hidden_size });
      }
    }
  }

  addLayer(layer: number): void {
    const isShared = this.#plan.shapes[layer]!.keys_of >= 0;
    for (const norm of this.#plan.architecture.norms(this.#plan.reader)) {
      if (!(isShared && norm === "key_norm")) this.#addNorm(layer, norm);
    }
    if (isShared) this.#skipKeys(layer);
    if (this.#plan.config.latent_size > 0) this.#addLatentAttention(layer);
    else this.#addAttention(layer);
    this.#addPerLayerOf(layer);
    this.#addWhole(layer, "sinks", this.#plan.config.heads, this.#plan.architecture.hasSinks === true);
    if (this.#plan.layers[layer]!.hasExperts) this.#addExperts(layer);
    else this.#addFeedForward(layer);
  }

  /** Rejects files with unmapped tensors. An unknown bias or norm must not be ignored silently. */
  checkAllUsed(): void {
    for (const name of this.#files.tensors.keys()) {
      if (this.#used.has(name) || COMPUTED.test(name) || this.#text.isOther(name)) continue;
      const { reader } = this.#plan;
      reader.refuse(
        "UNSUPPORTED_MODEL",
        name,
        `unexpected tensor: this package doesn't support ${reader.architecture} models with it`,
      );
    }
  }

  #addNorm(layer: number, role: NormRole): void {
    const { heads, hidden_size } = this.#plan.config;
    const { kv_heads, head_dim, feed_forward_size } = this.#plan.shapes[layer]!;
    const kind = this.#plan.architecture.queryKeyNorm?.(this.#plan.reader);
    const count = role === "query_norm" ? heads : kv_heads;
    const isHeadNorm = role === "query_norm" || role === "key_norm";
    const ofHeads = kind === "head" || kind === "rotated" ? head_dim : count * head_dim;
    const ofInside: LayerSizes = {
      attention_sub_norm: heads * head_dim,
      feed_forward_sub_norm: feed_forward_size,
      latent_norm: this.#plan.config.latent_size,
      query_latent_norm: this.#plan.config.latent_query,
    };
    const size = isHeadNorm ? ofHeads : (ofInside[role] ?? hidden_size);
    const stem = this.#stem(layer, role);
    const stems = stem.includes("{h}")
      ? Array.from({ length: count }, (_, head) => stem.replace("{h}", String(head)))
      : [stem];
    this.#vector(
      layer,
      slotOfVector(role),
      size,
      stems.map((name) => this.#tensor(`${name}.weight`)),
      this.#normAdded,
    );
    const bias = isHeadNorm ? undefined : this.#normBias(stem);
    if (bias !== undefined) this.#vector(layer, slotOfVector(`${role}_bias` as VectorRole), size, [bias]);
  }

  #addAttention(layer: number): void {
    const { heads, hidden_size } = this.#plan.config;
    const { kv_heads, head_dim } = this.#plan.shapes[layer]!;
    const sizes = { query: heads * head_dim, key: kv_heads * head_dim, value: kv_heads * head_dim };
    const parts = Object.keys(sizes) as (keyof typeof sizes)[];
    const fused = this.#names.layers.query_key_value && this.#stem(layer, "query_key_value");
    if (fused && this.#find(`${fused}.weight`) !== undefined) {
      this.#addFused(
        layer,
        fused,
        parts.map((role) => [role, sizes[role]]),
        this.#plan.architecture.fusedBy !== undefined && !this.#plan.reader.isGguf,
      );
    } else {
      const { keys_of, values_are_keys } = this.#plan.shapes[layer]!;
      const stored = parts.filter(
        (role) => role === "query" || (keys_of < 0 && !(role === "value" && values_are_keys)),
      );
      for (const role of stored) this.#addMatrix(layer, role, sizes[role], hidden_size);
    }
    this.#addMatrix(layer, "output", hidden_size, heads * head_dim);
  }

  /** Some files have keys and values of layers that read those of another. */
  #skipKeys(layer: number): void {
    for (const role of ["key", "value", "key_norm"] as const) this.#find(`${this.#stem(layer, role)}.weight`);
  }

  /** Keys and values of heads as linear maps of the latent. A part of the map is transposed, unless the file has it so. */
  #addLatentAttention(layer: number): void {
    const { heads, hidden_size, latent_size, latent_rotated, latent_plain, latent_value, latent_query } =
      this.#plan.config;
    const queries = heads * (latent_plain + latent_rotated);
    if (latent_query > 0) {
      this.#addMatrix(layer, "query_latent", latent_query, hidden_size);
      const query = wholeTensor(this.#tensor(`${this.#stem(layer, "query_up")}.weight`));
      this.#matrix(layer, slotOfMatrix("query"), 0, queries, latent_query, [query]);
    } else this.#addMatrix(layer, "query", queries, hidden_size);
    this.#addMatrix(layer, "latent", latent_size + latent_rotated, hidden_size);
    this.#addMatrix(layer, "output", hidden_size, heads * latent_value);
    const both = this.#find(`${this.#stem(layer, "key_value_up")}.weight`);
    const keys = both ?? this.#tensor(`${this.#stem(layer, "key_up")}.weight`);
    const values = both ?? this.#tensor(`${this.#stem(layer, "value_up")}.weight`);
    const rows = both === undefined ? latent_value : latent_plain + latent_value;
    this.#checkShape(values, heads * rows, latent_size);
    if (both === undefined) this.#checkShape(keys, heads * latent_size, latent_plain);
    for (let head = 0; head < heads; head++) {
      const transposed = { first: 0, step: 1, count: latent_size };
      const key =
        both === undefined
          ? { tensor: keys, first: head * latent_size, count: latent_size }
          : { tensor: keys, first: head * rows, count: latent_plain, transposed };
      const value = { tensor: values, first: head * rows + rows - latent_value, count: latent_value };
      this.#matrix(layer, slotOfMatrix("key_up"), head, latent_size, latent_plain, [key]);
      this.#matrix(layer, slotOfMatrix("value_up"), head, latent_value, latent_size, [value]);
    }
  }

  #addPerLayerOf(layer: number): void {
    const { hidden_size, per_layer_size, streams, laurel_size } = this.#plan.config;
    this.#addWhole(layer, "layer_scale", 1, false);
    if (per_layer_size > 0) {
      this.#addMatrix(layer, "per_layer_gate", per_layer_size, hidden_size);
      this.#addMatrix(layer, "per_layer_output", hidden_size, per_layer_size);
    }
    if (laurel_size > 0) {
      this.#addMatrix(layer, "laurel_down", laurel_size, hidden_size);
      this.#addMatrix(layer, "laurel_up", hidden_size, laurel_size);
    }
    if (streams === 0) return;
    this.#addMatrix(layer, "stream_router", streams, hidden_size);
    this.#addMatrix(layer, "stream_prediction", streams * streams, streams);
    this.#addMatrix(layer, "stream_correction", streams, streams);
    const scales = this.#plan.reader.isGguf || this.#plan.reader.boolean(["altup_correct_scale", ""], true);
    if (scales) this.#addWhole(layer, "stream_scale", hidden_size, true);
    else this.#find(this.#stem(layer, "stream_scale"));
  }

  #addFeedForward(layer: number): void {
    const { hidden_size, is_gated } = this.#plan.config;
    const { feed_forward_size } = this.#plan.shapes[layer]!;
    const fused = this.#names.layers.gate_up && this.#stem(layer, "gate_up");
    const stored = fused && is_gated ? this.#find(`${fused}.weight`) : undefined;
    if (fused && stored !== undefined && rowsOf(stored) === 2 * feed_forward_size) {
      this.#addFused(layer, fused, [
        ["gate", feed_forward_size],
        ["up", feed_forward_size],
      ]);
    } else {
      for (const role of is_gated ? (["gate", "up"] as const) : (["up"] as const))
        this.#addMatrix(layer, role, feed_forward_size, hidden_size);
    }
    this.#addMatrix(layer, "down", hidden_size, feed_forward_size);
    if (this.#names.layers.xielu !== undefined) this.#addXielu(layer, this.#stem(layer, "xielu"));
  }

  /** The parameters of an activation, which are tensors of one element, or lists in the metadata of GGUF. */
  #addXielu(layer: number, stem: string): void {
    for (const name of ["alpha_p", "alpha_n", "beta", "eps"] as const) {
      const slot = slotOfVector(`xielu_${name}`);
      const { reader } = this.#plan;
      if (!reader.isGguf) {
        this.#vector(layer, slot, 1, [this.#tensor(`${stem}.${name}`)]);
        continue;
      }
      const key = `xielu.${name}`; // without the name of the architecture
      const all = reader.source[key];
      const value = Array.isArray(all) ? (all[layer] as unknown) : all;
      if (!Number.isFinite(value)) reader.refuse("INVALID_FILE", key, "must have a finite number for each layer");
      const place = { layer, slot, expert: 0, isVector: true, rows: 1, columns: 1, added: 0 };
      const stored = { format: "f32", bytes: 4 } as const;
      this.mappings.push({ ...place, ...stored, loaded: stored, slices: [], values: [value as number] });
    }
  }

  #addExperts(layer: number): void {
    const { expert_size, shared_expert_size, hidden_size, experts } = this.#plan.config;
    const router = this.#tensor(`${this.#stem(layer, "router")}.weight`);
    this.#matrix(layer, slotOfMatrix("router"), 0, experts, hidden_size, [wholeTensor(router)]);
    const bias = this.#names.layers.router_bias && this.#find(this.#stem(layer, "router_bias"));
    if (bias) this.#vector(layer, slotOfVector("router_bias"), experts, [bias]);
    this.#addRouterLogitBias(layer, experts);
    if (this.#plan.architecture.expertLayout === undefined || this.#plan.reader.isGguf) {
      for (let expert = 0; expert < experts; expert++) this.#addExpert(layer, "expert", expert, experts, expert_size);
    } else this.#addTransposedExperts(layer, this.#plan.architecture.expertLayout === "alternating");
    this.#addExpertBiases(layer);
    if (shared_expert_size === 0) return;
    this.#addExpert(layer, "shared", experts, 1, shared_expert_size);
    if (!this.#plan.experts?.hasSharedExpertGate) return;
    const gate = this.#tensor(`${this.#stem(layer, "shared_expert_gate")}.weight`);
    this.#vector(layer, slotOfVector("shared_expert_gate"), hidden_size, [gate]);
  }

  /** One of `count` experts. Their tensors may be separate or stacked, and gate and up separate or one after the other. */
  #addExpert(layer: number, kind: "expert" | "shared", expert: number, count: number, size: number): void {
    const { hidden_size } = this.#plan.config;
    const index = kind === "expert" ? expert : 0;
    const fused = this.#names.layers[`${kind}_gate_up`] && this.#stem(layer, `${kind}_gate_up`);
    const isFused = fused && this.#find(`${fused.replace("{e}", String(index))}.weight`) !== undefined;
    for (const role of this.#plan.config.is_gated ? (["gate", "up", "down"] as const) : (["up", "down"] as const)) {
      const isHalf = isFused && role !== "down";
      const stem = isHalf ? fused : this.#stem(layer, `${kind}_${role}`);
      const [rows, columns] = role === "down" ? [hidden_size, size] : [size, hidden_size];
      const stored = isHalf ? 2 * rows : rows;
      const isStacked = count > 1 && !stem.includes("{e}");
      const tensor = this.#tensor(`${stem.replace("{e}", String(index))}.weight`);
      this.#checkShape(tensor, (isStacked ? count : 1) * stored, columns);
      const first = (isStacked ? index * stored : 0) + (isHalf && role === "up" ? rows : 0);
      this.#matrix(layer, slotOfMatrix(role), expert, rows, columns, [{ tensor, first, count: rows }]);
    }
  }

  /** Experts that are stored as [columns][rows], with gate and up in one tensor. */
  #addTransposedExperts(layer: number, alternates: boolean): void {
    const { experts, expert_size, hidden_size } = this.#plan.config;
    const gateUp = this.#tensor(this.#stem(layer, "expert_gate_up"));
    const down = this.#tensor(this.#stem(layer, "expert_down"));
    this.#checkShape(gateUp, experts * hidden_size, 2 * expert_size);
    this.#checkShape(down, experts * expert_size, hidden_size);
    for (let expert = 0; expert < experts; expert++) {
      (["gate", "up"] as const).forEach((role, index) => {
        const transposed = alternates
          ? { first: index, step: 2, count: expert_size }
          : { first: index * expert_size, step: 1, count: expert_size };
        const part = { tensor: gateUp, first: expert * hidden_size, count: hidden_size, transposed };
        this.#matrix(layer, slotOfMatrix(role), expert, expert_size, hidden_size, [part]);
      });
      const transposed = { first: 0, step: 1, count: hidden_size };
      const part = { tensor: down, first: expert * expert_size, count: expert_size, transposed };
      this.#matrix(layer, slotOfMatrix("down"), expert, hidden_size, expert_size, [part]);
    }
  }

  #addRouterLogitBias(layer: number, experts: number): void {
    if (this.#plan.architecture.expertLayout !== "alternating") return;
    const bias = this.#tensor(`${this.#stem(layer, "router")}.bias`);
    this.#vector(layer, slotOfVector("router_logit_bias"), experts, [bias]);
  }

  /** Biases of all experts: a vector for each role. */
  #addExpertBiases(layer: number): void {
    const { experts, expert_size, hidden_size } = this.#plan.config;
    if (this.#plan.architecture.expertLayout !== "alternating") return;
    const { isGguf } = this.#plan.reader;
    (["gate", "up"] as const).forEach((role, offset) => {
      const bias = this.#tensor(this.#stem(layer, isGguf ? `expert_${role}_bias` : "expert_gate_up_bias"));
      const size = experts * expert_size;
      if (rowsOf(bias) * columnsOf(bias) !== (isGguf ? size : 2 * size)) this.#refuseShape(bias, `${size} elements`);
      const flat: StoredTensor = { ...bias, shape: [rowsOf(bias) * columnsOf(bias), 1] };
      const rows = wholeTensor(flat);
      this.#addVector(
        layer,
        slotOfVector(`expert_${role}_bias`),
        size,
        [isGguf ? rows : { ...rows, every: { offset, step: 2 } }],
        0,
      );
    });
    this.#addWhole(layer, "expert_down_bias", experts * hidden_size, true);
  }

  /** A vector that isn't a norm, by its whole name. */
  #addWhole(layer: number, role: WholeName & VectorRole, size: number, isNeeded: boolean): void {
    if (this.#names.layers[role] === undefined) return;
    const name = this.#stem(layer, role);
    const found = isNeeded ? this.#tensor(name) : this.#find(name);
    if (found !== undefined) this.#vector(layer, slotOfVector(role), size, [found]);
  }

  #addMatrix(layer: number, role: MatrixRole, rows: number, columns: number): void {
    const stem = this.#stem(layer, role);
    this.#matrix(layer, slotOfMatrix(role), 0, rows, columns, [wholeTensor(this.#tensor(`${stem}.weight`))]);
    const bias = this.#bias(stem, role);
    if (bias !== undefined) this.#vector(layer, slotOfVector(`${role}_bias` as VectorRole), rows, [bias]);
  }

  /** Splits a fused tensor and its bias into several matrices, stored one after the other or interleaved by key head. */
  #addFused(layer: number, stem: string, parts: readonly (readonly [MatrixRole, number])[], byHead = false): void {
    const tensor = this.#tensor(`${stem}.weight`);
    const bias = this.#bias(stem, parts[0]![0]);
    const total = parts.reduce((sum, [, rows]) => sum + rows, 0);
    const columns = this.#plan.config.hidden_size;
    this.#checkShape(tensor, total, columns);
    if (bias !== undefined) this.#checkShape(bias, 1, total);
    let first = 0;
    parts.forEach(([role, rows], index) => {
      const split = (from: StoredTensor): TensorRows[] =>
        byHead ? this.#rowsByGroup(from, index) : [{ tensor: from, first, count: rows }];
      this.#matrix(layer, slotOfMatrix(role), 0, rows, columns, split(tensor));
      if (bias !== undefined)
        this.#addVector(layer, slotOfVector(`${role}_bias` as VectorRole), rows, split(asColumn(bias)), 0);
      first += rows;
    });
  }

  /** Rows of q, k or v (`part` 0, 1, 2) in a tensor that has the queries, the key and the value of each key head. */
  #rowsByGroup(tensor: StoredTensor, part: number): TensorRows[] {
    const { heads, kv_heads, head_dim } = this.#plan.config;
    const queries = heads / kv_heads;
    const skipped = part === 0 ? 0 : queries + part - 1;
    return Array.from({ length: kv_heads }, (_, group) => ({
      tensor,
      first: (group * (queries + 2) + skipped) * head_dim,
      count: (part === 0 ? queries : 1) * head_dim,
    }));
  }

  #matrix(
    layer: number,
    slot: number,
    expert: number,
    rows: number,
    columns: number,
    parts: readonly TensorRows[],
  ): void {
    if (parts.length === 1 && parts[0]!.count === rowsOf(parts[0]!.tensor))
      this.#checkShape(parts[0]!.tensor, rows, columns);
    this.#add({ layer, slot, expert, isVector: false, rows, columns, added: 0 }, parts);
  }

  #vector(layer: number, slot: number, size: number, tensors: readonly StoredTensor[], added = 0): void {
    const count = tensors.reduce((sum, tensor) => sum + rowsOf(tensor) * columnsOf(tensor), 0);
    if (count !== size) this.#refuseShape(tensors[0]!, `${size} elements`);
    this.#addVector(layer, slot, size, tensors.map(wholeTensor), added);
  }

  #addVector(layer: number, slot: number, size: number, parts: readonly TensorRows[], added: number): void {
    this.#add({ layer, slot, expert: 0, isVector: true, rows: 1, columns: size, added }, parts);
  }

  #add(place: WeightPlace, parts: readonly TensorRows[]): void {
    const { reader } = this.#plan;
    this.#pieces += parts.length;
    if (this.#pieces > MAX_PIECES)
      reader.refuse("UNSUPPORTED_MODEL", "tensors", `the weights consist of more than ${MAX_PIECES} pieces`);
    this.mappings.push(
      assembleWeight(place, parts, ({ name }, message) => reader.refuse("INVALID_FILE", name, message)),
    );
  }

  #checkShape(tensor: StoredTensor, rows: number, columns: number): void {
    if (rowsOf(tensor) !== rows || columnsOf(tensor) !== columns) this.#refuseShape(tensor, `${rows} × ${columns}`);
  }

  #refuseShape(tensor: StoredTensor, wanted: string): never {
    return this.#plan.reader.refuse(
      "INVALID_FILE",
      tensor.name,
      `shape must be ${wanted} by the config (got ${tensor.shape.join(" × ")})`,
    );
  }

  #stem(layer: number, role: keyof LayerNames): string {
    const name = this.#names.layers[role];
    if (name === undefined)
      return this.#plan.reader.refuse(
        "UNSUPPORTED_MODEL",
        role,
        "has no tensor name for this architecture in files of this format",
      );
    return this.#names.layer.replace("{n}", String(layer)) + name;
  }

  #find(name: string): StoredTensor | undefined {
    const found = this.#files.tensors.get(this.#text.nameOf(name));
    if (found !== undefined) this.#used.add(found.name);
    return found;
  }

  #tensor(name: string): StoredTensor {
    const found = this.#find(name);
    if (found === undefined)
      return this.#plan.reader.refuse(
        "INVALID_FILE",
        this.#text.nameOf(name),
        "tensor is missing; the file is damaged, or is one shard of several",
      );
    return found;
  }

  #bias(stem: string, role: MatrixRole): StoredTensor | undefined {
    const needed = this.#plan.architecture.biases?.(this.#plan.reader).includes(role) ?? false;
    return needed ? this.#tensor(`${stem}.bias`) : this.#find(`${stem}.bias`);
  }

  #normBias(stem: string): StoredTensor | undefined {
    const { norm, hasNormBiases = true } = this.#plan.architecture;
    return norm === "layer" && hasNormBiases ? this.#tensor(`${stem}.bias`) : undefined;
  }

  get #normAdded(): number {
    return this.#plan.architecture.normsLessOne && !this.#plan.reader.isGguf ? 1 : 0;
  }
}

function slotOfMatrix(role: MatrixRole): number {
  return LAYER_MATRICES.indexOf(role);
}

function slotOfVector(role: VectorRole): number {
  return LAYER_VECTORS.indexOf(role);
}
