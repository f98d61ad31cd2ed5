import type { DType, ElementArray } from "../memory/elements.js";
import { RopewalkError } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import { type Loan, toRead, toWrite } from "../memory/lend.js";
import {
  checkTarget,
  floatsOf,
  type Names,
  openOperand,
  type Opened,
  type Operand,
  overlap,
  type Reading,
} from "../memory/operand.js";
import type { Layout } from "../memory/shape.js";
import { Tensor } from "../memory/tensor.js";

/** How queries, keys and values are to be read. */
export interface QkvOptions {
  /** Order of the dimensions of q, k, v and the result. */
  layout: Layout;
  /** Extents of q in that order; a Tensor has its own. */
  shape?: readonly number[];
  /** Extents of k and v (q's); Tensors have their own. */
  kvShape?: readonly number[];
}

/** Checks queries of f32, and looks where they lie. @internal */
export function openQueries(heap: Heap, q: unknown, { layout, shape }: Reading, head_dim?: number): Opened {
  floatsOf(heap, q, "q");
  return openOperand(heap, q as Tensor | Float32Array, { layout, shape }, head_dim, "q");
}

/** Checks keys and values, alike in shape and element type, and looks where they lie. @internal */
export function openKeyValues(
  heap: Heap,
  k: Tensor | ElementArray,
  v: Tensor | ElementArray,
  reading: Reading,
  head_dim: number,
  names?: Names,
) {
  const keys = openOperand(heap, k, reading, head_dim, "k", names);
  const values = openOperand(
    heap,
    v,
    { layout: reading.layout, shape: keys.shape, dtype: keys.dtype },
    head_dim,
    "v",
    names,
  );
  return { keys, values };
}

/** Checks queries, keys and values of as many batch rows and one head_dim, and looks where they lie. @internal */
export function openQkv(
  heap: Heap,
  q: unknown,
  k: Tensor | ElementArray,
  v: Tensor | ElementArray,
  options: QkvOptions,
  dtype?: DType,
) {
  const queries = openQueries(heap, q, options);
  const { batches, head_dim } = queries.extents;
  const shape = options.kvShape ?? (k instanceof Tensor ? undefined : queries.shape);
  const { keys, values } = openKeyValues(heap, k, v, { layout: options.layout, shape, dtype }, head_dim, {
    shape: "kvShape",
    dtype: "kvDtype",
  });
  if (keys.extents.batches !== batches) {
    throw new RopewalkError(
      "INVALID_SHAPE",
      "kvShape",
      `must have q's ${batches} batch rows (got ${keys.extents.batches})`,
    );
  }
  return { queries, keys, values };
}

/** Queries, and where the answers to them go, which may be the queries' own place. @internal */
export interface QueryLoans {
  q: Loan;
  out: Loan;
}

/**
 * Makes `call` answer the queries `q` into `out`, which may be q itself, or into something new of q's kind, which is disposed of where `call`
 * throws. `others` are what else is read, and may not be written over.
 * @internal
 */
export function answer<Out>(
  heap: Heap,
  q: unknown,
  queries: Opened,
  out: Out | undefined,
  others: readonly (Operand | undefined)[],
  call: (loans: QueryLoans) => void,
): Out {
  const fresh = out === undefined && q instanceof Tensor ? new Tensor(heap, queries.shape, "f32") : undefined;
  const result = out === undefined ? (fresh ?? new Float32Array(queries.length)) : out;
  try {
    const target = result === q ? queries : floatsOf(heap, result, "out");
    checkTarget(queries, target, "q");
    for (const operand of others) {
      if (operand !== undefined && overlap(operand, target))
        throw new RopewalkError("INVALID_ARGUMENT", "out", "must not overlap what is read beside q");
    }
    if (target === queries) {
      const both = toWrite(queries, true);
      call({ q: both, out: both });
    } else {
      call({ q: toRead(queries), out: toWrite(target, false) });
    }
    return result as Out;
  } catch (error) {
    fresh?.dispose();
    throw error;
  }
}
