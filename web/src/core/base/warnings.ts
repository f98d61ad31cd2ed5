// Warnings with data, for programs.
import type { Advice, Advised } from "./advice.js";

/** The data of a warning that advises something. Others are only a message. */
export interface Warning {
  /** `CONTEXT_TOO_LONG`: the context is longer than the RoPE supports. `COARSE_CACHE`: keys and values have 4 bits. */
  readonly code: "CONTEXT_TOO_LONG" | "COARSE_CACHE";
  /** What is wrong, without what to do. */
  readonly problem: string;
  /** What to do, for programs. */
  readonly advice: Advice;
}

/** Gets warnings: what each says, and the data of those that advise something. */
export type WarningListener = (message: string, warning?: Warning) => void;

/** Passes a warning on, with its advice in the words of the API. @internal */
export function warnWith(
  onWarning: WarningListener,
  warning: Omit<Warning, "advice">,
  { advice, words }: Advised,
): void {
  onWarning(`${warning.problem}; ${words}`, { ...warning, advice });
}
