import { finiteNumber, wholeNumber } from "../base/checks.js";
import type { Heap } from "../memory/heap.js";
import { lend, type Loan, toRead } from "../memory/lend.js";
import { listOf, type NumberArray, type Operand } from "../memory/operand.js";
import type { Encoding } from "./position_scheme.js";
import type { Extents } from "../memory/shape.js";
import type { WasmAttention } from "../memory/wasm_module.js";

/** How the core is told that there is no window. */
const NO_WINDOW = 2 ** 31 - 1;

/** What attention does with its scores, wherever keys and values lie. They act in this order. */
export interface ScoreOptions {
  /** Multiplies q · k (the plan's `softmax_scale` with RoPE, else 1/√head_dim). A finite number. */
  scale?: number;
  /** [T] factors of the queries at each token, finite, as `rope.queryTemperature()` gives them (all 1). */
  temperature?: NumberArray | null;
  /** A score s becomes softCap · tanh(s / softCap); from 0.001 to 1e6 (none). */
  softCap?: number | null;
  /**
   * Whether a query sees no token after its own (true). Queries are the newest tokens: of T queries over N keys, query t is token N − T + t,
   * so T is at most N. Where not causal, T may be anything.
   */
  causal?: boolean;
  /** Number of tokens that a query sees, up to its own, which is one of them; where not causal, those less than `window` away. From 1 (all). */
  window?: number | null;
  /** First tokens of the sequence that stay in sight whatever the window (0): StreamingLLM's, arXiv:2309.17453. */
  sinkTokens?: number;
  /** [query heads] logits that take part in the softmax and have no value, finite (none): gpt-oss's. */
  sinks?: NumberArray | null;
}

/** Options of attention as the core takes them, and the lists whose addresses they wait for. @internal */
export interface Scores {
  options: WasmAttention;
  lists: [name: "sinks" | "temperatures" | "table" | "slopes", list: Loan][];
}

/** Reads what a caller says of scores; `scale` is what multiplies them otherwise. @internal */
export function readScores(
  options: ScoreOptions,
  { heads, tokens }: Extents,
  scale: number,
  encoding: Encoding,
  rope = 0,
): Scores {
  const { causal = true, window, sinkTokens = 0, softCap } = options;
  const lists: Scores["lists"] = [];
  const add = (name: Scores["lists"][number][0], list: Operand | undefined): void => {
    if (list !== undefined) lists.push([name, toRead(list)]);
  };
  add("sinks", listOf(options.sinks, heads, "sinks"));
  add("temperatures", listOf(options.temperature, tokens, "temperature"));
  add("table", encoding.table);
  add("slopes", encoding.slopes);
  const { scheme, base, table_rows, buckets, max_distance, bidirectional } = encoding.fields; // spread, they would take as long as the call
  return {
    options: {
      scheme,
      base,
      table_rows,
      buckets,
      max_distance,
      bidirectional,
      rope,
      causal,
      scale: options.scale === undefined ? scale : finiteNumber(options.scale, "scale"),
      window: window === undefined || window === null ? NO_WINDOW : wholeNumber(window, 1, NO_WINDOW, "window"),
      sink_tokens: wholeNumber(sinkTokens, 0, NO_WINDOW, "sinkTokens"),
      soft_cap: softCap === undefined || softCap === null ? 0 : finiteNumber(softCap, "softCap"),
      sinks: 0,
      temperatures: 0,
      table: 0,
      slopes: 0,
    },
    lists,
  };
}

/** Makes one call with operands and the options' lists in wasm memory. @internal */
export function lendScores(
  heap: Heap,
  { options, lists }: Scores,
  loans: readonly (Loan | undefined)[],
  call: (options: WasmAttention) => number,
): void {
  lend(heap, lists.length === 0 ? loans : [...loans, ...lists.map(([, list]) => list)], () => {
    for (const [name, list] of lists) options[name] = list.at;
    heap.check(call(options));
  });
}
