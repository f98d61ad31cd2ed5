// Types of the modules of examples/arena that the page uses.
declare module "*/arena/methods.mjs" {
  import type { ModelOptions, RopeOverrides } from "ropewalk";
  export const methods: Readonly<
    Record<string, { readonly label: string; readonly shift?: boolean; readonly weights?: string }>
  >;
  export const caches: Readonly<Record<string, ModelOptions["kv"]>>;
  export function ropeOf(method: string, setup: { multiple: number; trained: number; tuned?: number }): RopeOverrides;
}

declare module "*/arena/languages.mjs" {
  export const story: object;
}

declare module "*/arena/tasks.mjs" {
  export const tasks: Readonly<Record<string, { readonly label: string; readonly judged?: boolean }>>;
}

declare module "*/arena/measure.mjs" {
  /** A cell of the tables; the one that is measured has a result. */
  export interface Cell {
    readonly model: string;
    readonly weights: string;
    readonly cache: string;
    readonly method: string;
    readonly multiple: number;
    readonly task: string;
    readonly seed: number;
    readonly result: CellResult;
  }
  export interface CellResult {
    readonly loss?: number;
    readonly keyLoss?: number | null;
    readonly asked?: readonly number[];
    readonly right?: readonly number[];
    readonly keys?: readonly (readonly number[])[];
  }
  export function measureCell(
    rw: import("ropewalk/worker").WorkerRopewalk,
    entry: object,
    cell: Omit<Cell, "result">,
    options: { keys?: CellResult["keys"] },
  ): Promise<Cell>;
}
