// Loads an adapter: opens its files, finds the weights that it changes, and copies its terms into the core.
import * as advise from "../../../core/base/advice.js";
import { crc32 } from "../../../core/base/crc32.js";
import { fail } from "../../../core/base/errors.js";
import { type AdapterFiles, openAdapter } from "../../files/adapter_files.js";
import { fieldOf } from "../../files/errors.js";
import type { ModelSource, StoredTensor } from "../../files/model_files.js";
import type { FilePlatform } from "../../files/platform.js";
import { WEIGHT_FORMATS } from "../../../core/quantize/weight_formats.js";
import type { Heap } from "../../../core/memory/heap.js";
import { Owned } from "../../../core/memory/owned.js";
import type { ModelCore } from "../run/model_core.js";
import type { LoadAdapterOptions } from "../run/options.js";
import type { WeightMapping } from "../weights/weight_mapping.js";
import { Adapter, type AdapterInfo } from "../run/adapter.js";
import { readGgufAdapter } from "./gguf.js";
import { invalid, type LowRank } from "./low_rank.js";
import { findTargets, type Matrix, type Target, type Term, termsOf } from "./map_terms.js";
import { readPeft } from "./peft.js";

/** The model that an adapter is for. @internal */
export interface AdapterHost {
  readonly core: ModelCore;
  readonly files: FilePlatform;
  /** The weights of the model. */
  readonly mappings: readonly WeightMapping[];
  /** Called with the bytes that adapters take more, or less. */
  readonly count: (bytes: number) => void;
}

/**
 * Loads an adapter. If it fails, at any step, all memory is free again.
 * @throws {@link RopewalkError} INVALID_FILE, UNSUPPORTED_MODEL, NETWORK, INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED;
 * the signal's reason after an abort
 * @internal
 */
export async function loadAdapter(
  { core, files: platform, mappings, count }: AdapterHost,
  source: ModelSource,
  { onProgress, ...options }: LoadAdapterOptions,
): Promise<Adapter> {
  const files = await openAdapter(platform, source, options);
  const lowRanks = files.kind === "gguf" ? readGgufAdapter(files) : readPeft(files);
  checkArchitecture(files, core);
  const targets = findTargets(files, lowRanks, core.plan, mappings);
  const { signal } = options;
  const tensors = lowRanks.flatMap(({ a, b, bias }) => (bias === undefined ? [a, b] : [a, b, bias]));
  const stored = new Map(tensors.map((tensor) => [tensor, new Uint8Array(tensor.bytes)]));
  await files.read(tensors, (tensor, offset, chunk) => stored.get(tensor)!.set(chunk, offset), {
    ...(signal !== undefined && { signal }),
    ...(onProgress !== undefined && { onProgress }),
  });
  signal?.throwIfAborted();
  core.checkAlive();
  const matrix = (tensor: StoredTensor): Matrix => toFloats(core.heap, files, tensor, stored.get(tensor)!);
  const terms = targets.flatMap((target) => {
    const { a, b, bias } = target.lowRank;
    return termsOf(target, matrix(a), matrix(b), bias && matrix(bias).values);
  });
  const address = place(core, files, terms);
  const info = infoOf(files, lowRanks, targets, terms);
  count(info.bytes);
  const owned = new Owned(core.heap, address, "adapter", destroyAdapter, "model.loadAdapter()");
  return new Adapter(core, owned, fingerprintOf(terms), info, () => count(-info.bytes));
}

/** As in llama.cpp, an adapter in GGUF says which architecture it is for. */
function checkArchitecture(files: AdapterFiles, { plan: { reader } }: ModelCore): void {
  const architecture = files.metadata["general.architecture"];
  if (files.kind === "gguf" && reader.isGguf && architecture !== reader.architecture)
    invalid(
      files,
      "general.architecture",
      `must be ${reader.architecture}, as that of the model (got ${String(architecture)})`,
    );
}

function toFloats(heap: Heap, files: AdapterFiles, tensor: StoredTensor, stored: Uint8Array): Matrix {
  const { name, shape, format } = tensor;
  const [rows, columns] = shape.length === 2 ? (shape as [number, number]) : [1, shape[0] ?? 1];
  const size = rows * columns;
  const values = heap.borrow(stored.length + 64 + 4 * size, (from) => {
    const to = Math.ceil((from + stored.length) / 64) * 64;
    heap.bytes(from, stored.length).set(stored);
    const [source, target] = [WEIGHT_FORMATS.indexOf(format), WEIGHT_FORMATS.indexOf("f32")];
    const status = heap.module.quantize_rows(source, from, rows, columns, target, to);
    if (heap.fieldOf(status) === "tensors")
      invalid(files, name, "has infinite or NaN elements", advise.other("download it again"));
    heap.check(status);
    return heap.floats(to, size).slice();
  });
  return { rows, columns, values };
}

/** Copies terms into a new adapter of the core, and returns its address. */
function place({ heap, address: model }: ModelCore, files: AdapterFiles, terms: readonly Term[]): number {
  const { module } = heap;
  const adapter = module.adapter_create(terms.length);
  if (adapter === 0)
    fail(
      "OUT_OF_MEMORY",
      "",
      "out of memory for an adapter",
      advise.dispose({ of: ["tensors", "sessions", "models"] }),
    );
  try {
    for (const { place: at, firstRow, a, b, bias, scale } of terms) {
      const parts = [a.values, b.values, bias ?? new Float32Array(0)];
      const sizes = parts.map(({ length }) => length);
      heap.borrow(4 * sizes.reduce((sum, size) => sum + size), (first) => {
        let next = first;
        const [down, up, last] = parts.map((values) => {
          const here = next;
          heap.floats(here, values.length).set(values);
          next += values.byteLength;
          return here;
        }) as [number, number, number];
        const { layer, slot, expert } = at;
        const rank = a.rows;
        const added = bias === undefined ? 0 : last;
        const status = module.adapter_add(
          ...([adapter, model, layer, slot, expert, firstRow, b.rows, rank, down, up, added, scale] as const),
        );
        heap.check(status, undefined, fieldOf(files.name, "tensors"));
      });
    }
    return adapter;
  } catch (error) {
    module.adapter_destroy(adapter);
    throw error;
  }
}

function infoOf(
  files: AdapterFiles,
  lowRanks: readonly LowRank[],
  targets: readonly Target[],
  terms: readonly Term[],
): AdapterInfo {
  const sizeOf = (...shapes: (readonly number[] | undefined)[]): number =>
    shapes.reduce((sum, shape) => sum + (shape?.reduce((product, extent) => product * extent, 1) ?? 0), 0);
  return {
    name: files.name,
    ...(files.hub !== undefined && { hub: files.hub }),
    kind: files.kind,
    rank: Math.max(...lowRanks.map(({ rank }) => rank)),
    targets: [...new Set(targets.map(({ tensor }) => tensor.name))],
    parameters: lowRanks.reduce((sum, { a, b, bias }) => sum + sizeOf(a.shape, b.shape, bias?.shape), 0),
    bytes: terms.reduce(
      (sum, { a, b, bias }) => sum + 4 * (a.values.length + b.values.length + (bias?.length ?? 0)),
      0,
    ),
  };
}

/** The CRC-32 of all terms. */
function fingerprintOf(terms: readonly Term[]): string {
  let sum = 0;
  for (const { place: at, a, b, bias, scale } of terms) {
    const words = Float64Array.of(at.layer, at.slot, at.expert, scale);
    for (const part of [words, a.values, b.values, bias])
      if (part !== undefined) sum = crc32(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), sum);
  }
  return sum.toString(16).padStart(8, "0");
}

function destroyAdapter(heap: Heap, address: number): void {
  heap.module.adapter_destroy(address);
}
