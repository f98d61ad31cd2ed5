import { codeIn, finiteNumber, wholeNumber } from "../base/checks.js";
import { RopewalkError } from "../base/errors.js";
import type { Heap } from "../memory/heap.js";
import { floatsOf, listOf, type NumberArray, type Operand } from "../memory/operand.js";
import type { Tensor } from "../memory/tensor.js";
import type { WasmAttention } from "../memory/wasm_module.js";

/** Adds the sines and cosines of Vaswani et al. 2017 (arXiv:1706.03762) to every head's q and k, at any position. */
export interface SinusoidalScheme {
  scheme: "sinusoidal";
  /** Base of the frequencies, above 1 and at most 1e30 (10000). */
  base?: number;
}

/** Adds a row of a table for each position to every head's q and k, as BERT and GPT-2 add it to their input. */
export interface LearnedScheme {
  scheme: "learned";
  /** [rows, head_dim], f32: a row for each position from 0 on. */
  table: Tensor | Float32Array;
}

/** Adds −slope · distance to scores: Press et al. 2021 (arXiv:2108.12409). */
export interface AlibiScheme {
  scheme: "alibi";
  /** [query heads] slopes, finite (`rw.alibiSlopes()`). */
  slopes?: NumberArray;
}

/** Adds a learned bias for each bucket of distances to scores: Raffel et al. 2019 (arXiv:1910.10683). */
export interface T5Scheme {
  scheme: "t5";
  /** [buckets, query heads], f32, finite. */
  table: Tensor | Float32Array;
  /** Distance in tokens from which on all share the last bucket (128). */
  maxDistance?: number;
  /** Whether half of the buckets are for keys after the query (where attention is not causal). */
  bidirectional?: boolean;
}

/** Ways other than RoPE to tell attention where tokens stand. */
export type PositionScheme = SinusoidalScheme | LearnedScheme | AlibiScheme | T5Scheme;

const SCHEMES = ["sinusoidal", "learned", "alibi", "t5"] as const;

/** What the core is told of positions, but for the addresses of table and slopes. @internal */
export interface Encoding {
  fields: Pick<WasmAttention, "scheme" | "base" | "table_rows" | "buckets" | "max_distance" | "bidirectional">;
  table?: Operand | undefined;
  slopes?: Operand | undefined;
}

/** Nothing is told. @internal */
export const NO_ENCODING: Encoding = {
  fields: { scheme: 0, base: 10000, table_rows: 0, buckets: 0, max_distance: 0, bidirectional: false },
};

/** A rope turns q and k. @internal */
export const ROPE_ENCODING: Encoding = { fields: { ...NO_ENCODING.fields, scheme: 1 } };

/** Reads the option `position` where it is no rope. @internal */
export function readScheme(heap: Heap, position: unknown, heads: number, head_dim: number, causal: boolean): Encoding {
  if (position === "none") return NO_ENCODING;
  if (typeof position !== "object" || position === null || !("scheme" in position)) {
    const got = typeof position === "object" ? JSON.stringify(position) : String(position);
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "position",
      `must be "none", a rope made by rw.rope(), or an object with a scheme (got ${got})`,
    );
  }
  const given = position as PositionScheme;
  const fields = { ...NO_ENCODING.fields, scheme: 2 + codeIn(SCHEMES, given.scheme, "position.scheme") };
  switch (given.scheme) {
    case "sinusoidal":
      return { fields: { ...fields, base: finiteNumber(given.base ?? 10000, "position.base") } };
    case "learned": {
      const table = tableOf(heap, given.table, head_dim);
      return { fields: { ...fields, table_rows: table.length / head_dim }, table };
    }
    case "alibi":
      return { fields, slopes: listOf(given.slopes, heads, "position.slopes") };
    case "t5": {
      const table = tableOf(heap, given.table, heads);
      const max_distance = wholeNumber(given.maxDistance ?? 128, 1, 2 ** 30, "position.maxDistance");
      return {
        fields: {
          ...fields,
          buckets: table.length / heads,
          max_distance,
          bidirectional: given.bidirectional ?? !causal,
        },
        table,
      };
    }
  }
}

function tableOf(heap: Heap, value: unknown, columns: number): Operand {
  const table = floatsOf(heap, value, "position.table");
  if (table.length % columns !== 0) {
    throw new RopewalkError(
      "INVALID_SHAPE",
      "position.table",
      `must have a multiple of ${columns} elements (got ${table.length})`,
    );
  }
  return table;
}
