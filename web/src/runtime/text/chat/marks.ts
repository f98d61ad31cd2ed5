// Words that are put into messages to see whether a template writes them.

/** Before a text, after a text, instead of the arguments of a call, or instead of a field. */
type Kind = "a" | "b" | "c" | "f";

/** Another word for each kind and index. It has letters only, and none of its inner letters is z or q, so that the words can't overlap. */
export const markOf = (kind: Kind, index: number): string =>
  `zq${kind}${String(index).replace(/\d/g, (digit) => "ghijklmnop"[Number(digit)]!)}zq`;

/** The marks in a prompt, where they may be in upper case; undefined if there is no prompt, because the template failed. */
export const marksIn = (prompt: string | undefined): ReadonlySet<string> | undefined =>
  prompt === undefined ? undefined : new Set(prompt.toLowerCase().match(/zq[abcf][g-p]+zq/g));
