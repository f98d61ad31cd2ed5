/// <reference lib="esnext.disposable" preserve="true" />
/**
 * `Symbol.dispose`, or the symbol that engines before explicit resource management are given in its place.
 * @internal
 */
export const disposeSymbol: typeof Symbol.dispose =
  (Symbol as { dispose?: typeof Symbol.dispose }).dispose ?? (Symbol.for("Symbol.dispose") as typeof Symbol.dispose);
