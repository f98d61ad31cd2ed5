// Plans a quantized copy of a GGUF file.
import { type ByteSource, MissingFile } from "../../../runtime/files/byte_source.js";
import { readHeader } from "../../../runtime/files/header_reader.js";
import { parseRawMetadata } from "../../../runtime/files/gguf/header.js";
import { type ModelFiles, openFiles, type StoredTensor } from "../../../runtime/files/model_files.js";
import { nodeFilePlatform } from "../../../runtime/files/platform.node.js";
import type { WeightFormatName } from "../../../core/quantize/weight_formats.js";
import { type MatrixUse, quantizedFormat } from "../../../runtime/model/weights/quantize.js";
import type { QuantizeFormat } from "../../../core/quantize/quantize_formats.js";
import { hubOptions } from "../hub_options.js";
import { metadataEntry } from "./gguf_header.js";
import type { GgufPlan } from "./gguf_plan.js";

/** Tensors that llama.cpp never quantizes, although they have two dimensions (llama-quant.cpp, tensor_allows_quantization). */
const NEVER_QUANTIZED =
  /_norm\.weight|ffn_gate_inp\.weight|ffn_gate_tid2eid|altup|laurel|per_layer_model_proj|position_embd|token_types|ssm_conv1d|shortconv\.conv|indexer\.[kq]_proj|time_mix_(first|[wag][012]|decay_w[12]|lerp_fused)\.|attn_rel_b|patch_embd/;

/** Number of a file type by the format of most tensors (LLAMA_FTYPE). Q4_K_S is the nearest to Q4_K alone. */
const FILE_TYPES: Readonly<Record<QuantizeFormat, number>> = { q8_0: 7, q4_0: 2, q4_k: 14 };

/** Version of the formats (GGML_QNT_VERSION). */
const QUANTIZATION_VERSION = 2;

/** The entries that tell what a file is quantized to, by key. */
export function quantizationEntries(to: QuantizeFormat): Map<string, Uint8Array> {
  const entries = { "general.quantization_version": QUANTIZATION_VERSION, "general.file_type": FILE_TYPES[to] };
  return new Map(
    Object.entries(entries).map(([key, value]) => [key, metadataEntry(key, { type: "u32", value })] as const),
  );
}

/** The format of a tensor by its name in GGUF, as llama-quantize chooses it. */
export function formatInGguf(
  to: QuantizeFormat,
  name: string,
  shape: readonly number[],
  stored: WeightFormatName,
  { hasHead, experts }: { hasHead: boolean; experts: number },
): WeightFormatName {
  const firstLong = shape.findIndex((length) => length > 1);
  const isMatrix = firstLong >= 0 && firstLong < shape.length - 1;
  if (!isMatrix || !name.endsWith("weight") || NEVER_QUANTIZED.test(name)) return stored;
  return quantizedFormat(to, stored, shape.at(-1)!, useOf(name, hasHead), experts);
}

function useOf(name: string, hasHead: boolean): MatrixUse {
  if (name === "output.weight" || (name === "token_embd.weight" && !hasHead)) return "head";
  return /attn_(k|v|qkv|kv_b)\.weight$/.test(name) ? "key_or_value" : "other";
}

/** Plans a copy of a GGUF model, which may be in several files, as one file. Metadata that isn't about formats or files is copied as it is. */
export async function planGguf(files: ModelFiles, path: string, to: QuantizeFormat): Promise<GgufPlan> {
  const raw = await readHeader(await firstFile(path, files), parseRawMetadata);
  const changed = quantizationEntries(to);
  const kept = [...raw].filter(([key]) => !changed.has(key) && !key.startsWith("split."));
  const experts = Number(files.metadata[`${String(files.metadata["general.architecture"])}.expert_count`] ?? 0);
  const model = { hasHead: files.tensors.has("output.weight"), experts };
  const tensors = [...files.tensors.values()].sort((a, b) => a.file - b.file || a.offset - b.offset);
  return {
    entries: [...kept.map(([, entry]) => entry), ...changed.values()],
    alignment: Number(files.metadata["general.alignment"] ?? 32),
    tensors: tensors.map((tensor) => ({
      name: tensor.name,
      shape: tensor.shape,
      format: formatInGguf(to, tensor.name, tensor.shape, tensor.format, model),
      columns: tensor.shape.at(-1) ?? 1,
      parts: [wholePart(tensor)],
    })),
  };
}

function wholePart(tensor: StoredTensor): GgufPlan["tensors"][number]["parts"][number] {
  return { tensor, from: 0, bytes: tensor.bytes, firstRow: 0 };
}

/** The file with the metadata: the first one of a split model. */
async function firstFile(path: string, { name }: ModelFiles): Promise<ByteSource> {
  const set = await openFiles(nodeFilePlatform, path, await hubOptions());
  const first = name.replace(/-\d{5}(-of-\d{5}\.gguf)$/, "-00001$1");
  const file = await set.open(set.requested === undefined || first !== name ? first : set.requested);
  if (file instanceof MissingFile) throw new Error(`${first} ${file.reason}`); // openModel() has read it
  return file;
}
