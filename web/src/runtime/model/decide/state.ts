// The state of a call: how it is read, and whether a prompt with it fits.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import { textOf } from "./decision_text.js";

/** @throws INVALID_ARGUMENT @internal */
export function readState(given: unknown): string {
  const text = textOf(given, "state");
  if (text.trim() === "") fail("INVALID_ARGUMENT", "state", "must not be empty");
  return text;
}

/** Checks the tokens of a prompt, whose question has the name `question`. @throws CACHE_FULL @internal */
export function checkLength(length: number, contextLength: number, question: string): void {
  if (length <= contextLength) return;
  fail(
    "CACHE_FULL",
    "state",
    `makes a prompt of ${length} tokens with questions.${question}, but the context length is ${contextLength}`,
    advise.either(advise.other("shorten it"), advise.raise({ option: "contextLength" })),
  );
}
