/// <reference lib="esnext.disposable" preserve="true" />
/**
 * `Symbol.dispose`, or a substitute in engines without explicit resource management.
 */
export const disposeSymbol: typeof Symbol.dispose =
  (Symbol as { dispose?: typeof Symbol.dispose }).dispose ?? (Symbol.for("Symbol.dispose") as typeof Symbol.dispose);

/** `Symbol.asyncDispose`, or a substitute. */
export const asyncDisposeSymbol: typeof Symbol.asyncDispose =
  (Symbol as { asyncDispose?: typeof Symbol.asyncDispose }).asyncDispose ??
  (Symbol.for("Symbol.asyncDispose") as typeof Symbol.asyncDispose);
