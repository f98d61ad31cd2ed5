// Maps the tensors of a model's files to the weights of the core.
import type { ModelFiles, StoredTensor } from "../../files/model_files.js";
import { addDense, addPositions } from "./map_encoder.js";
import {
  addExpertBiases,
  addLatentAttention,
  addPerLayer,
  addPerLayerOf,
  addRouterLogitBias,
  addStackedExperts,
  skipKeys,
} from "./map_apart.js";
import { addGatedQueries, addRecurrent } from "./map_recurrent.js";
import type { ModelPlan } from "../plan/model_plan.js";
import { asColumn, rowsOf, type TensorRows, type WeightMapping, wholeTensor } from "./weight_mapping.js";
import { MODEL_MATRICES, MODEL_VECTORS, NO_LAYER, slotOfMatrix, slotOfVector, WeightMapper } from "./weight_mapper.js";
import { ATTENTION_GATES } from "../architectures/parts/architecture.js";
import type { MatrixRole, NormRole, VectorRole } from "../architectures/parts/tensor_names.js";

/**
 * Tensors of layers that predict further tokens, under names of their own (`mtp.layers.0`, `model.mtp_block.0`). Released
 * files have them without a key, and no class of transformers 5.24 reads them.
 */
const PREDICTION = /^(model\.(language_model\.)?|language_model\.(model\.)?)?mtp(_\w+)?\./;

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
  const mapper = new ModelMapper(files, plan);
  mapper.addModel();
  addPositions(mapper);
  addDense(mapper);
  addPerLayer(mapper);
  for (let layer = 0; layer < plan.config.layers; layer++) mapper.addLayer(layer);
  mapper.checkAllUsed();
  return mapper.mappings;
}

type LayerSizes = Partial<Record<NormRole, number>>;

class ModelMapper extends WeightMapper {
  addModel(): void {
    const { embedding, embedding_norm, final_norm, head } = this.names;
    const { vocabulary_size, hidden_size } = this.plan.config;
    this.matrix(NO_LAYER, MODEL_MATRICES.indexOf("embedding"), 0, vocabulary_size, hidden_size, [
      wholeTensor(this.tensor(`${embedding}.weight`)),
    ]);
    if (this.plan.architecture.names.embedding_norm !== undefined && embedding_norm !== undefined)
      this.addModelNorm("embedding_norm", embedding_norm, hidden_size);
    if (!this.plan.config.is_causal) {
      if (!this.plan.config.normalizes_residual) this.addModelNorm("final_norm", final_norm, hidden_size);
      if (head !== "") for (const part of ["weight", "bias"]) this.find(`${head}.${part}`); // of a decoder that only embeds
      return;
    }
    // a model without a head uses its embedding
    const needsHead = this.plan.reader.source["tie_word_embeddings"] === false && this.plan.noText === undefined;
    const headWeight = needsHead ? this.tensor(`${head}.weight`) : this.find(`${head}.weight`);
    if (headWeight !== undefined)
      this.matrix(NO_LAYER, MODEL_MATRICES.indexOf("head"), 0, vocabulary_size, hidden_size, [wholeTensor(headWeight)]);
    this.addModelNorm("final_norm", final_norm, hidden_size);
    const headBias = this.find(`${head}.bias`);
    if (headBias !== undefined) this.vector(NO_LAYER, MODEL_VECTORS.indexOf("head_bias"), vocabulary_size, [headBias]);
  }

  addLayer(layer: number): void {
    const isShared = this.plan.shapes[layer]!.keys_of >= 0;
    const { recurrence, has_feed_forward, has_attention } = this.plan.shapes[layer]!;
    for (const norm of this.plan.architecture.norms(this.plan.reader, layer)) {
      const isOfHeads = norm === "query_norm" || norm === "key_norm";
      if (!(isShared && norm === "key_norm") && (has_attention || !isOfHeads)) this.#addNorm(layer, norm);
    }
    if (isShared) skipKeys(this, layer);
    if (recurrence !== "none") addRecurrent(this, layer);
    if (has_attention) {
      if (this.plan.config.latent.latent > 0) addLatentAttention(this, layer);
      else this.#addAttention(layer);
    }
    addPerLayerOf(this, layer);
    this.addWhole(layer, "sinks", this.plan.config.heads, this.plan.architecture.hasSinks === true);
    if (!has_feed_forward) return;
    if (this.plan.layers[layer]!.hasExperts) this.#addExperts(layer);
    else this.#addFeedForward(layer);
  }

  /** Rejects files with unmapped tensors. An unknown bias or norm must not be ignored silently. */
  checkAllUsed(): void {
    for (const { name } of this.files.tensors.values()) {
      if (this.used.has(name) || COMPUTED.test(name) || this.text.isOther(name) || this.#isOfPrediction(name)) continue;
      const { reader } = this.plan;
      reader.refuse(
        "UNSUPPORTED_MODEL",
        name,
        `unexpected tensor: this package doesn't support ${reader.architecture} models with it`,
      );
    }
  }

  /** Layers that predict further tokens come after the others, if the config counts them, or have names of their own. */
  #isOfPrediction(name: string): boolean {
    const { config, predictionLayers } = this.plan;
    if (PREDICTION.test(name)) return true;
    return Array.from({ length: predictionLayers }, (_, index) =>
      this.text.nameOf(this.names.layer.replace("{n}", String(config.layers + index))),
    ).some((prefix) => name.startsWith(prefix));
  }

  #addNorm(layer: number, role: NormRole): void {
    const { heads, hidden_size } = this.plan.config;
    const { kv_heads, head_dim, feed_forward_size } = this.plan.shapes[layer]!;
    const kind = this.plan.architecture.queryKeyNorm?.(this.plan.reader);
    const count = role === "query_norm" ? heads : kv_heads;
    const isHeadNorm = role === "query_norm" || role === "key_norm";
    const ofHeads = kind === "head" || kind === "rotated" ? head_dim : count * head_dim;
    const ofInside: LayerSizes = {
      attention_sub_norm: heads * head_dim,
      feed_forward_sub_norm: feed_forward_size,
      latent_norm: this.plan.config.latent.latent,
      query_latent_norm: this.plan.config.latent.query,
    };
    const size = isHeadNorm ? ofHeads : (ofInside[role] ?? hidden_size);
    const stem = this.stem(layer, role);
    const stems = stem.includes("{h}")
      ? Array.from({ length: count }, (_, head) => stem.replace("{h}", String(head)))
      : [stem];
    this.vector(
      layer,
      slotOfVector(role),
      size,
      stems.map((name) => this.weightTensor(name)),
      this.normAdded,
    );
    const bias = isHeadNorm ? undefined : this.normBias(stem);
    if (bias !== undefined) this.vector(layer, slotOfVector(`${role}_bias` as VectorRole), size, [bias]);
  }

  #addAttention(layer: number): void {
    const { heads, hidden_size } = this.plan.config;
    const { kv_heads, head_dim } = this.plan.shapes[layer]!;
    const sizes = { query: heads * head_dim, key: kv_heads * head_dim, value: kv_heads * head_dim };
    const parts = Object.keys(sizes) as (keyof typeof sizes)[];
    const gate = ATTENTION_GATES[this.plan.config.attention_gate];
    const fused = this.names.layers.query_key_value && this.stem(layer, "query_key_value");
    if (fused && this.find(`${fused}.weight`) !== undefined) {
      this.#addFused(
        layer,
        fused,
        parts.map((role) => [role, sizes[role]]),
        this.plan.architecture.fusedBy !== undefined && !this.plan.reader.isGguf,
      );
    } else {
      const { keys_of, values_are_keys } = this.plan.shapes[layer]!;
      const stored = parts.filter(
        (role) => role === "query" || (keys_of < 0 && !(role === "value" && values_are_keys)),
      );
      for (const role of stored) {
        if (role === "query" && gate === "elements") addGatedQueries(this, layer);
        else this.addMatrix(layer, role, sizes[role], hidden_size);
      }
    }
    if (gate === "heads") this.addMatrix(layer, "attention_gate", heads, hidden_size);
    this.addMatrix(layer, "output", hidden_size, heads * head_dim);
  }

  #addFeedForward(layer: number): void {
    const { hidden_size, is_gated } = this.plan.config;
    const { feed_forward_size } = this.plan.shapes[layer]!;
    const order = this.names.layers.up_gate === undefined ? "gate_up" : "up_gate";
    const fused = this.names.layers[order] && this.stem(layer, order);
    const stored = fused && is_gated ? this.find(`${fused}.weight`) : undefined;
    if (fused && stored !== undefined && rowsOf(stored) === 2 * feed_forward_size) {
      const parts = order === "gate_up" ? (["gate", "up"] as const) : (["up", "gate"] as const);
      this.#addFused(
        layer,
        fused,
        parts.map((role) => [role, feed_forward_size]),
      );
    } else {
      for (const role of is_gated ? (["gate", "up"] as const) : (["up"] as const))
        this.addMatrix(layer, role, feed_forward_size, hidden_size);
    }
    this.addMatrix(layer, "down", hidden_size, feed_forward_size);
    if (this.names.layers.xielu !== undefined) this.#addXielu(layer, this.stem(layer, "xielu"));
  }

  /** The parameters of an activation, which are tensors of one element, or lists in the metadata of GGUF. */
  #addXielu(layer: number, stem: string): void {
    for (const name of ["alpha_p", "alpha_n", "beta", "eps"] as const) {
      const slot = slotOfVector(`xielu_${name}`);
      const { reader } = this.plan;
      if (!reader.isGguf) {
        this.vector(layer, slot, 1, [this.tensor(`${stem}.${name}`)]);
        continue;
      }
      const key = `xielu.${name}`; // without the name of the architecture
      const all = reader.source[key];
      const value = Array.isArray(all) ? (all[layer] as unknown) : all;
      if (!Number.isFinite(value)) reader.refuse("INVALID_FILE", key, "must have a finite number for each layer");
      const place = { layer, slot, expert: 0, isVector: true, rows: 1, columns: 1, added: 0 };
      const stored = { format: "f32", bytes: 4 } as const;
      this.mappings.push({ ...place, ...stored, loaded: stored, slices: [], parts: [], values: [value as number] });
    }
  }

  #addExperts(layer: number): void {
    const { expert_size, shared_expert_size, hidden_size, experts } = this.plan.config;
    const router = this.tensor(`${this.stem(layer, "router")}.weight`);
    this.matrix(layer, slotOfMatrix("router"), 0, experts, hidden_size, [wholeTensor(router)]);
    const bias = this.names.layers.router_bias && this.find(this.stem(layer, "router_bias"));
    if (bias) this.vector(layer, slotOfVector("router_bias"), experts, [bias]);
    this.addWhole(layer, "router_norm", hidden_size, true);
    this.addWhole(layer, "expert_scales", experts, true);
    addRouterLogitBias(this, layer, experts);
    if (this.plan.architecture.expertLayout === undefined || this.plan.reader.isGguf) {
      for (let expert = 0; expert < experts; expert++) this.#addExpert(layer, "expert", expert, experts, expert_size);
    } else addStackedExperts(this, layer, this.plan.architecture.expertLayout);
    addExpertBiases(this, layer);
    if (shared_expert_size === 0) return;
    this.#addExpert(layer, "shared", experts, 1, shared_expert_size);
    if (!this.plan.experts?.hasSharedExpertGate) return;
    const gate = this.tensor(`${this.stem(layer, "shared_expert_gate")}.weight`);
    this.vector(layer, slotOfVector("shared_expert_gate"), hidden_size, [gate]);
  }

  /** One of `count` experts. Their tensors may be separate or stacked, and gate and up separate or one after the other. */
  #addExpert(layer: number, kind: "expert" | "shared", expert: number, count: number, size: number): void {
    const { hidden_size } = this.plan.config;
    const index = kind === "expert" ? expert : 0;
    const fused = this.names.layers[`${kind}_gate_up`] === undefined ? undefined : this.stem(layer, `${kind}_gate_up`);
    const isFused = fused !== undefined && this.findWeight(fused.replace("{e}", String(index))) !== undefined;
    for (const role of this.plan.config.is_gated ? (["gate", "up", "down"] as const) : (["up", "down"] as const)) {
      const isHalf = isFused && role !== "down";
      const stem = isHalf ? fused : this.#expertStem(layer, kind, role, isFused && !fused.includes("{e}"));
      const [rows, columns] = role === "down" ? [hidden_size, size] : [size, hidden_size];
      const stored = isHalf ? 2 * rows : rows;
      const isStacked = count > 1 && !stem.includes("{e}");
      const tensor = this.weightTensor(stem.replace("{e}", String(index)));
      this.checkShape(tensor, (isStacked ? count : 1) * stored, columns);
      const first = (isStacked ? index * stored : 0) + (isHalf && role === "up" ? rows : 0);
      this.matrix(layer, slotOfMatrix(role), expert, rows, columns, [{ tensor, first, count: rows }]);
    }
  }

  /** The name of an expert's tensor. Where gate and up of all experts are stacked, so is down. */
  #expertStem(layer: number, kind: "expert" | "shared", role: "gate" | "up" | "down", isStacked: boolean): string {
    const stem = this.stem(layer, `${kind}_${role}`);
    return isStacked ? stem.replace(".{e}", "") : stem;
  }

  /** Splits a fused tensor and its bias into several matrices, stored one after the other or interleaved by key head. */
  #addFused(layer: number, stem: string, parts: readonly (readonly [MatrixRole, number])[], byHead = false): void {
    const tensor = this.tensor(`${stem}.weight`);
    const bias = this.bias(stem, parts[0]![0]);
    const total = parts.reduce((sum, [, rows]) => sum + rows, 0);
    const columns = this.plan.config.hidden_size;
    this.checkLinear(tensor, total, columns);
    if (bias !== undefined) this.checkShape(bias, 1, total);
    let first = 0;
    parts.forEach(([role, rows], index) => {
      const split = (from: StoredTensor, inOrder: TensorRows): TensorRows[] =>
        byHead ? this.#rowsByGroup(from, index) : [inOrder];
      this.matrix(layer, slotOfMatrix(role), 0, rows, columns, split(tensor, this.linearRows(tensor, first, rows)));
      if (bias !== undefined) {
        const column = asColumn(bias);
        const slot = slotOfVector(`${role}_bias` as VectorRole);
        this.addVector(layer, slot, rows, split(column, { tensor: column, first, count: rows }), 0);
      }
      first += rows;
    });
  }

  /** Rows of q, k or v (`part` 0, 1, 2) in a tensor that has the queries, the key and the value of each key head. */
  #rowsByGroup(tensor: StoredTensor, part: number): TensorRows[] {
    const { heads, kv_heads, head_dim } = this.plan.config;
    const queries = heads / kv_heads;
    const skipped = part === 0 ? 0 : queries + part - 1;
    return Array.from({ length: kv_heads }, (_, group) => ({
      tensor,
      first: (group * (queries + 2) + skipped) * head_dim,
      count: (part === 0 ? queries : 1) * head_dim,
    }));
  }
}
