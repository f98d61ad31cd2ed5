// Position encodings other than RoPE: sinusoidal, learned, ALiBi, T5.
import * as advise from "../base/advice.js";
import { show } from "../base/show.js";
import { codeIn, finiteNumber, trueOrFalse, wholeNumber } from "../base/checks.js";
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { isRope } from "./rope_argument.js";
import type { Heap } from "../memory/heap.js";
import { floatsOf, listOf, type NumberArray, type Operand } from "../memory/operand.js";
import type { Tensor } from "../memory/tensor.js";
import type { AttentionFields } from "../memory/call_fields.js";

const AS_ROPE = /* @__PURE__ */ advise.code("pass a rope as the option `rope`");

/** Sinusoidal positions (Vaswani et al. 2017, arXiv:1706.03762), added to q and k of every head. */
export interface SinusoidalScheme {
  scheme: "sinusoidal";
  /** Base of the frequencies, above 1 and at most 1e30. Default: 10000. */
  base?: number;
}

/** Learned positions: a table row for each position, added to q and k of every head. (BERT and GPT-2 add it to their input.) */
export interface LearnedScheme {
  scheme: "learned";
  /** [rows, head_dim], f32. Row p is for position p. */
  table: Tensor | Float32Array;
}

/** ALiBi: adds −slope · distance to scores (Press et al. 2021, arXiv:2108.12409). */
export interface AlibiScheme {
  scheme: "alibi";
  /** [query heads] finite slopes. Default: `rw.alibiSlopes()`. */
  slopes?: NumberArray;
}

/** T5: adds a learned bias for each bucket of distances to scores (Raffel et al. 2019, arXiv:1910.10683). */
export interface T5Scheme {
  scheme: "t5";
  /** [buckets, query heads], f32, finite. */
  table: Tensor | Float32Array;
  /** Distances from this many tokens up share the last bucket. Default: 128. */
  maxDistance?: number;
  /** Whether half of the buckets are for keys after the query. Default: true if attention is not causal. */
  bidirectional?: boolean;
}

/** Position encodings other than RoPE. */
export type PositionScheme = SinusoidalScheme | LearnedScheme | AlibiScheme | T5Scheme;

const SCHEMES = ["sinusoidal", "learned", "alibi", "t5"] as const;

/** A position encoding for wasm; table and slopes are staged for the call. @internal */
export interface Encoding {
  fields: Pick<AttentionFields, "scheme" | "base" | "table_rows" | "buckets" | "max_distance" | "bidirectional">;
  table?: Operand | undefined;
  slopes?: Operand | undefined;
}

/** No position encoding. @internal */
export const NO_ENCODING: Encoding = {
  fields: { scheme: 0, base: 10000, table_rows: 0, buckets: 0, max_distance: 0, bidirectional: false },
};

/** A rope rotates q and k. @internal */
export const ROPE_ENCODING: Encoding = { fields: { ...NO_ENCODING.fields, scheme: 1 } };

const SINUSOIDAL = optionNames<SinusoidalScheme>("the sinusoidal scheme", { scheme: true, base: true });
const LEARNED = optionNames<LearnedScheme>("the learned scheme", { scheme: true, table: true });
const ALIBI = optionNames<AlibiScheme>("the alibi scheme", { scheme: true, slopes: true });
const T5 = optionNames<T5Scheme>("the t5 scheme", {
  scheme: true,
  table: true,
  maxDistance: true,
  bidirectional: true,
});

/** Checks and converts the option `position`. @internal */
export function readScheme(
  heap: Heap,
  position: unknown = "none",
  heads: number,
  head_dim: number,
  causal: boolean,
): Encoding {
  if (position === "none") return NO_ENCODING;
  if (isRope(position)) {
    fail("INVALID_ARGUMENT", "position", "must be a scheme other than RoPE", AS_ROPE);
  }
  if (typeof position !== "object" || position === null || !("scheme" in position)) {
    const expected = 'must be "none" or an object with a `scheme`';
    fail("INVALID_ARGUMENT", "position", `${expected} (got ${show(position)})`, AS_ROPE);
  }
  const given = position as Readonly<PositionScheme>;
  const { scheme } = given;
  const fields = { ...NO_ENCODING.fields, scheme: 2 + codeIn(SCHEMES, scheme, "position.scheme") };
  switch (scheme) {
    case "sinusoidal": {
      const { base = 10000 } = checkOptions(given as SinusoidalScheme, SINUSOIDAL, "position");
      return { fields: { ...fields, base: finiteNumber(base, "position.base") } };
    }
    case "learned": {
      const table = tableOf(heap, checkOptions(given as LearnedScheme, LEARNED, "position").table, head_dim);
      return { fields: { ...fields, table_rows: rowsOf(table, head_dim) }, table };
    }
    case "alibi":
      return {
        fields,
        slopes: listOf(checkOptions(given as AlibiScheme, ALIBI, "position").slopes, heads, "position.slopes"),
      };
    case "t5": {
      const options = checkOptions(given as T5Scheme, T5, "position");
      const { table: givenTable, maxDistance = 128, bidirectional = !causal } = options;
      const table = tableOf(heap, givenTable, heads);
      const max_distance = wholeNumber(maxDistance, 1, 2 ** 30, "position.maxDistance");
      const isBidirectional = trueOrFalse(bidirectional, "position.bidirectional");
      return {
        fields: { ...fields, buckets: rowsOf(table, heads), max_distance, bidirectional: isBidirectional },
        table,
      };
    }
  }
}

function tableOf(heap: Heap, value: unknown, columns: number): Operand {
  const table = floatsOf(heap, value, "position.table");
  if (rowsOf(table, columns) * columns !== table.length) {
    fail("INVALID_SHAPE", "position.table", `must have a multiple of ${columns} elements (got ${table.length})`);
  }
  return table;
}

function rowsOf({ length }: Operand, columns: number): number {
  return columns === 0 ? 0 : Math.floor(length / columns);
}
