// Checks queries, keys, values and outputs of attention, and locates them in memory.
import * as advise from "../base/advice.js";
import type { DType, ElementArray } from "../memory/elements.js";
import { fail } from "../base/errors.js";
import type { Given } from "../base/options.js";
import { show } from "../base/show.js";
import type { Heap } from "../memory/heap.js";
import { type StagedOperand, stagedInput, stagedOutput, withStaged } from "../memory/staging.js";
import {
  checkTarget,
  floatsOf,
  openOperand,
  type Operand,
  type OperandOptions,
  type OptionNames,
  overlap,
  type ShapedOperand,
} from "../memory/operand.js";
import type { Layout } from "../memory/shape.js";
import { Tensor, tensorMemory } from "../memory/tensor.js";

/** Layout and shapes of queries, keys and values. */
export interface QkvOptions {
  /** Order of the dimensions of q, k, v and the result. */
  layout: Layout;
  /** Shape of q, in the order of `layout`. Required unless q is a Tensor. */
  shape?: readonly number[];
  /** Shape of k and v. Not needed for Tensors. Default: the shape of q. */
  kvShape?: readonly number[];
}

/** The names of {@link QkvOptions}, for option checks. @internal */
export const QKV_OPTIONS = { layout: true, shape: true, kvShape: true } as const;

/** Throws INVALID_ARGUMENT if a call has its options in the place of v: v was forgotten. @internal */
export function checkHasValues(v: unknown, options: unknown, call: string): void {
  const isObject = typeof v === "object" && v !== null && !ArrayBuffer.isView(v) && tensorMemory(v) === undefined;
  if (options === undefined && isObject)
    fail(
      "INVALID_ARGUMENT",
      "v",
      `is missing (got ${show(v)} in its place)`,
      advise.code(`call ${call}(q, k, v, options)`),
    );
}

/** Checks f32 queries, and locates their elements. @internal */
export function openQueries(
  heap: Heap,
  q: unknown,
  { layout, shape }: OperandOptions,
  head_dim?: number,
): ShapedOperand {
  floatsOf(heap, q, "q");
  return openOperand(heap, q, { layout, shape }, head_dim, "q");
}

/** Checks keys and values, which must have the same shape and element type, and locates their elements. @internal */
export function openKeyValues(
  heap: Heap,
  k: Tensor | ElementArray,
  v: Tensor | ElementArray,
  options: OperandOptions,
  head_dim: number,
  names?: OptionNames,
) {
  const keys = openOperand(heap, k, options, head_dim, "k", names);
  const values = openOperand(
    heap,
    v,
    { layout: options.layout, shape: keys.shape, dtype: keys.dtype },
    head_dim,
    "v",
    names,
  );
  return { keys, values };
}

/** Checks queries, keys and values, which must have the same batch rows and head_dim, and locates their elements. @internal */
export function openQkv(
  heap: Heap,
  q: unknown,
  k: Tensor | ElementArray,
  v: Tensor | ElementArray,
  options: Given<QkvOptions>,
  dtype?: DType,
) {
  const queries = openQueries(heap, q, options);
  const { batches, head_dim } = queries.extents;
  const shape = options.kvShape ?? (tensorMemory(k) !== undefined ? undefined : queries.shape);
  const { keys, values } = openKeyValues(heap, k, v, { layout: options.layout, shape, dtype }, head_dim, {
    shape: "kvShape",
    dtype: "kvDtype",
  });
  if (keys.extents.batches !== batches) {
    fail("INVALID_SHAPE", "kvShape", `must have ${batches} batch rows, as q has (got ${keys.extents.batches})`);
  }
  return { queries, keys, values };
}

/** Writes an output of zeros. @internal */
export function writeZeros(heap: Heap, out: StagedOperand): void {
  withStaged(heap, [out], () => heap.floats(out.at, out.operand.length).fill(0));
}

/** Queries and the output of attention. Both are the same object if the output overwrites the queries. @internal */
export interface StagedQueries {
  q: StagedOperand;
  out: StagedOperand;
}

/**
 * Runs `call` with the queries `q` and the output `out`, and returns the output. `out` may be q itself; without it the output is a new array or
 * Tensor of q's type. A new Tensor is disposed of if `call` throws. `others` are further inputs, which the output must not overlap.
 * @internal
 */
export function withOutput<Out>(
  heap: Heap,
  q: unknown,
  queries: ShapedOperand,
  out: Out | undefined,
  others: readonly (Operand | undefined)[],
  call: (staged: StagedQueries) => void,
): Out {
  const fresh =
    out === undefined && tensorMemory(q) !== undefined ? Tensor.create(heap, queries.shape, "f32") : undefined;
  const result = out === undefined ? (fresh ?? new Float32Array(queries.length)) : out;
  try {
    const target = result === q ? queries : floatsOf(heap, result, "out");
    checkTarget(queries, target, "q");
    for (const operand of others) {
      if (operand !== undefined && overlap(operand, target))
        fail("INVALID_ARGUMENT", "out", "must not overlap keys, values or tables");
    }
    if (target === queries) {
      const both = stagedOutput(queries, true);
      call({ q: both, out: both });
    } else {
      call({ q: stagedInput(queries), out: stagedOutput(target, false) });
    }
    return result as Out;
  } catch (error) {
    fresh?.dispose();
    throw error;
  }
}
