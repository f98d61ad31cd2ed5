/// <reference lib="esnext.disposable" preserve="true" />
/**
 * `Symbol.asyncDispose`, or the symbol that engines before explicit resource management are given in its place.
 * @internal
 */
export const asyncDisposeSymbol: typeof Symbol.asyncDispose =
  (Symbol as { asyncDispose?: typeof Symbol.asyncDispose }).asyncDispose ??
  (Symbol.for("Symbol.asyncDispose") as typeof Symbol.asyncDispose);
