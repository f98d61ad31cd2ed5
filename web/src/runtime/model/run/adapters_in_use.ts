// The adapters that a session uses, read from options.
import * as advise from "../../../core/base/advice.js";
import { finiteNumber } from "../../../core/base/checks.js";
import { fail } from "../../../core/base/errors.js";
import { checkOptions, type OptionNames, optionNames } from "../../../core/base/options.js";
import { show } from "../../../core/base/show.js";
import { Adapter, type AdapterInfo, type AdapterModel } from "./adapter.js";

/** An adapter that `loadAdapter()` returned, of a model here or in a Worker. */
export interface LoadedAdapter {
  readonly info: AdapterInfo;
  /** Frees its memory. */
  dispose(): unknown;
}

/** An adapter and its scale. */
export interface ScaledAdapter<Loaded extends LoadedAdapter = LoadedAdapter> {
  adapter: Loaded;
  /** A factor of what it adds. Default: 1. */
  scale?: number;
}

/** Adapters to use together: what they add is summed. */
export type AdapterOptions = readonly (LoadedAdapter | ScaledAdapter)[];

/** @internal */
export interface AdaptersInUse {
  readonly list: readonly Readonly<Required<ScaledAdapter<Adapter>>>[];
  /** Fingerprints of the adapters and their scales. */
  readonly fingerprints: readonly string[];
}

/** @internal */
export const NO_ADAPTERS: AdaptersInUse = Object.freeze({ list: Object.freeze([]), fingerprints: [] });

/** The fingerprint of a model with adapters. @internal */
export const withAdapters = (model: string, { fingerprints }: AdaptersInUse): string =>
  [model, ...fingerprints].join("+");

/** Throws DISPOSED if one of them is disposed. @internal */
export function checkAdaptersAlive({ list }: AdaptersInUse): void {
  for (const { adapter } of list) adapter.checkAlive();
}

/** @internal */
export function areSameAdapters(a: AdaptersInUse, b: AdaptersInUse): boolean {
  if (a === b) return true;
  const isSame = ({ adapter, scale }: ScaledAdapter, i: number): boolean =>
    adapter === b.list[i]!.adapter && scale === b.list[i]!.scale;
  return a.list.length === b.list.length && a.list.every(isSame);
}

const MAX_ADAPTERS = 64;
const SCALED: OptionNames = optionNames<ScaledAdapter>("adapters", { adapter: true, scale: true });

/** Throws INVALID_ARGUMENT, UNKNOWN_KEY, DISPOSED. @internal */
export function readAdapters(given: AdapterOptions | undefined, model: AdapterModel): AdaptersInUse {
  if (given === undefined) return NO_ADAPTERS;
  if (!Array.isArray(given) || given.length > MAX_ADAPTERS)
    fail("INVALID_ARGUMENT", "adapters", `must be a list of at most ${MAX_ADAPTERS} adapters (got ${show(given)})`);
  const list = Array.from(given as AdapterOptions, (item, i) => {
    const field = `adapters[${i}]`;
    const { adapter, scale = 1 } =
      item instanceof Adapter ? { adapter: item } : checkOptions(item as ScaledAdapter, SCALED, field);
    if (!(adapter instanceof Adapter))
      fail("INVALID_ARGUMENT", field, `must be a loaded adapter (got ${show(adapter)})`);
    if (adapter.model !== model)
      fail("INVALID_ARGUMENT", field, "was loaded with another model", advise.code("load it with this one"));
    adapter.checkAlive();
    return Object.freeze({ adapter, scale: finiteNumber(scale, `${field}.scale`) });
  });
  const repeated = list.findIndex(({ adapter }, i) => list.findIndex((other) => other.adapter === adapter) < i);
  if (repeated >= 0)
    fail(
      "INVALID_ARGUMENT",
      `adapters[${repeated}]`,
      "is in the list twice",
      advise.other("pass it once, with the sum of the scales"),
    );
  if (list.length === 0) return NO_ADAPTERS;
  const fingerprints = list.map(({ adapter, scale }) => `${adapter.fingerprint}*${scale}`);
  return { list: Object.freeze(list), fingerprints };
}
