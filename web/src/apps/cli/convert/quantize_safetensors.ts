// Plans a quantized GGUF file from a folder with safetensors.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import type { ModelFiles } from "../../../runtime/files/model_files.js";
import { type WeightFormatName } from "../../../core/quantize/weight_formats.js";
import { mapWeights } from "../../../runtime/model/weights/map_weights.js";
import { type ModelPlan, planOf } from "../../../runtime/model/plan/model_plan.js";
import type { QuantizeFormat } from "../../../core/quantize/quantize_formats.js";
import type { Ropewalk } from "../../../index.node.js";
import { tokenizerFromFiles } from "../../../runtime/text/tokenizer.js";
import {
  GGUF_NAMES,
  LAYER_MATRICES,
  LAYER_VECTORS,
  type LayerNames,
} from "../../../runtime/model/architectures/parts/tensor_names.js";
import type { WeightMapping } from "../../../runtime/model/weights/weight_mapping.js";
import { type GgufValue, metadataEntry } from "./gguf_header.js";
import type { GgufPlan, PlannedTensor, TensorPart } from "./gguf_plan.js";
import { formatInGguf, quantizationEntries } from "./quantize_gguf.js";
import { ropeMetadata } from "./rope_metadata.js";
import { componentWarnings } from "./tokenizer_components.js";
import { tokenizerMetadata } from "./tokenizer_metadata.js";
import { checkWritten } from "./written_model.js";

/** The architecture in GGUF by model_type. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  llama: "llama",
  mistral: "llama",
  qwen2: "qwen2",
  qwen3: "qwen3",
  qwen3_moe: "qwen3moe",
};

/**
 * Plans a GGUF file with the names, metadata and order of rows that llama.cpp's converter writes.
 * @throws {@link RopewalkError} UNSUPPORTED_MODEL: something that changes results and that GGUF has no key for
 */
export async function planSafetensors(
  rw: Ropewalk,
  files: ModelFiles,
  to: QuantizeFormat,
): Promise<{ plan: GgufPlan; warnings: string[] }> {
  const type = String(files.config?.["model_type"]);
  const architecture = Object.hasOwn(ARCHITECTURES, type) ? ARCHITECTURES[type]! : undefined;
  if (architecture === undefined)
    fail(
      "UNSUPPORTED_MODEL",
      "config.json: model_type",
      `${type} can't be written as GGUF, only ${Object.keys(ARCHITECTURES).join(", ")}`,
      advise.other("convert it with llama.cpp's convert_hf_to_gguf.py, and quantize the GGUF file"),
    );
  if (files.tokenizer === undefined)
    fail("UNSUPPORTED_MODEL", "tokenizer.json", "is missing; a GGUF file needs the tokenizer");
  const tokenizer = await tokenizerFromFiles(files.tokenizer, files.tokenizerConfig, files.generationConfig);
  const model = planOf(files, {}, undefined);
  const mappings = mapWeights(files, model);
  const { experts } = model.config;
  const grouped = new Map<string, WeightMapping[]>(); // a tensor of GGUF stores all experts
  for (const mapping of mappings) {
    const name = nameOf(mapping, model);
    grouped.set(name, [...(grouped.get(name) ?? []), mapping]);
  }
  const hasHead = grouped.has("output.weight");
  const tensors = [...grouped].map(([name, members]): PlannedTensor => {
    const [first] = members as [WeightMapping, ...WeightMapping[]];
    const shape = shapeOf(first, members.length);
    const stored = storedFormat(first, name);
    return {
      name,
      shape,
      format: formatInGguf(to, name, shape, stored, { hasHead, experts }),
      columns: first.isVector ? 1 : first.columns,
      parts: members.flatMap((member, index) => partsOf(member, index * member.rows)),
      ...(architecture === "llama" && pairsOf(first, model)),
    };
  });
  const rope = ropeMetadata(architecture, model);
  const changed = quantizationEntries(to);
  const metadata = [
    ...modelMetadata(architecture, files, model),
    ...rope.entries,
    ...tokenizerMetadata(files, tokenizer, model.config.vocabulary_size),
  ];
  const entries = [...metadata.map(([key, value]) => metadataEntry(key, value)), ...changed.values()];
  const plan = { entries, tensors: [...tensors, ...rope.tensors], alignment: 32 };
  const differences = await checkWritten(rw, plan, files, model, tokenizer);
  return { plan, warnings: [...rope.warnings, ...componentWarnings(files.tokenizer), ...differences] };
}

function nameOf({ layer, slot, isVector }: WeightMapping, { layers }: ModelPlan): string {
  const { embedding, head, final_norm } = GGUF_NAMES;
  if (layer < 0 && isVector) return [`${final_norm}.weight`, `${final_norm}.bias`, `${head}.bias`][slot]!;
  if (layer < 0) return `${[embedding, head][slot]!}.weight`;
  const role = isVector ? LAYER_VECTORS[slot]! : LAYER_MATRICES[slot]!;
  const matrix = role.replace(/_bias$/, "");
  const isOfExpert = layers[layer]!.hasExperts && ["gate", "up", "down"].includes(role);
  const stem = GGUF_NAMES.layers[(isOfExpert ? `expert_${role}` : matrix) as keyof LayerNames]!;
  return `${GGUF_NAMES.layer.replace("{n}", String(layer))}${stem}.${matrix === role ? "weight" : "bias"}`;
}

function shapeOf({ isVector, rows, columns }: WeightMapping, members: number): number[] {
  if (isVector) return [columns];
  return members > 1 ? [members, rows, columns] : [rows, columns];
}

/** Vectors and routers are f32 in GGUF. */
function storedFormat({ isVector, format }: WeightMapping, name: string): WeightFormatName {
  return isVector || name.includes("ffn_gate_inp") ? "f32" : format;
}

function partsOf(mapping: WeightMapping, firstRow: number): TensorPart[] {
  const rows = mapping.isVector ? mapping.columns : mapping.rows;
  const rowBytes = mapping.bytes / rows;
  return mapping.slices.map(({ tensor, from, bytes, to }) => ({
    tensor,
    from,
    bytes,
    firstRow: firstRow + to / rowBytes,
  }));
}

/** The rows of q and k of llama models are in adjacent pairs in GGUF. In safetensors, the first half of a head comes before the second. */
function pairsOf(mapping: WeightMapping, { config }: ModelPlan): Pick<PlannedTensor, "rowOf"> {
  const role = mapping.layer < 0 ? "" : (mapping.isVector ? LAYER_VECTORS : LAYER_MATRICES)[mapping.slot]!;
  if (!["query", "key", "query_bias", "key_bias"].includes(role)) return {};
  const half = config.head_dim / 2;
  return {
    rowOf: (row) => {
      const inHead = row % config.head_dim;
      return row - inHead + 2 * (inHead % half) + Math.floor(inHead / half);
    },
  };
}

function modelMetadata(architecture: string, files: ModelFiles, plan: ModelPlan): [string, GgufValue][] {
  const { config, trainedLength, reader } = plan;
  const dense = reader.integer([["intermediate_size"], "feed_forward_length"], config.feed_forward_size);
  const numbers: Record<string, number> = {
    block_count: config.layers,
    context_length: trainedLength,
    embedding_length: config.hidden_size,
    feed_forward_length: dense,
    "attention.head_count": config.heads,
    "attention.head_count_kv": config.kv_heads,
    "attention.key_length": config.head_dim,
    "attention.value_length": config.head_dim,
    vocab_size: config.vocabulary_size,
    ...(config.experts > 0 && {
      expert_count: config.experts,
      expert_used_count: config.routing.used,
      expert_feed_forward_length: config.expert_size,
    }),
  };
  const name = files.config?.["_name_or_path"];
  return [
    ["general.architecture", { type: "string", value: architecture }],
    ["general.type", { type: "string", value: "model" }],
    ["general.name", { type: "string", value: typeof name === "string" && name !== "" ? name : files.name }],
    ...Object.entries(numbers).map(([key, value]): [string, GgufValue] => [
      `${architecture}.${key}`,
      { type: "u32", value },
    ]),
    [`${architecture}.attention.layer_norm_rms_epsilon`, { type: "f32", value: config.norm.epsilon }],
  ];
}
