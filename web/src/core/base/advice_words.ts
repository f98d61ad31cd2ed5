// The words of a front end for what errors advise.
import type * as advise from "./advice.js";
import type { Advice, Advised, AdviceValues } from "./advice.js";
import { changed, type RopewalkError } from "./errors.js";

/**
 * The sentences of a front end: each kind of advice has a row, or the table doesn't compile. A row that is a function of advice.ts has the words
 * of the API. Undefined: it can't be done there, so it isn't said.
 * @internal
 */
export type AdviceWords = {
  readonly [Key in keyof AdviceValues]: (values: AdviceValues[Key]) => string | Advised | undefined;
};

/** The API has a row for each kind too, or this doesn't compile. @internal */
export type ApiWords = Pick<typeof advise, keyof AdviceValues>;

/** What takes the place of each call that advice may name; undefined if a front end has nothing for it. @internal */
export type CallWords = Readonly<Record<AdviceValues["call"]["calls"][number], string | undefined>>;

/** The row `call` of a front end: what takes the place of the calls, each once. @internal */
export const callsIn =
  (words: CallWords): AdviceWords["call"] =>
  ({ calls }) => {
    const known = new Set(calls.flatMap((call) => words[call] ?? []));
    return known.size === 0 ? undefined : `use ${[...known].join(" or ")}`;
  };

/** What a front end says for an advice; "" if nothing of it can be done there. @internal */
export function adviceIn(table: AdviceWords, advice: Advice | undefined): string {
  const said: string[] = [];
  for (let next = advice; next !== undefined; next = next.or) {
    const words = (table[next.do] as (values: Advice) => string | Advised | undefined)(next);
    if (words !== undefined) said.push(typeof words === "string" ? words : words.words);
  }
  return said.length < 2 ? said.join() : `${said.slice(0, -1).join(", ")}, or ${said.at(-1)!}`;
}

/** An error in the words of a front end. @internal */
export function inWordsOf(table: AdviceWords, error: RopewalkError): RopewalkError {
  const words = adviceIn(table, error.advice);
  return words === error.words ? error : changed(error, { words, cause: error });
}
