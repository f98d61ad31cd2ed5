// Matches text that may not be complete yet.

/** The text has another form. */
export const NO = -1;
/** The text may have the form once more of it is there. */
export const WAIT = -2;

/** The end of `wanted` if it is here, NO or WAIT. */
export function literal(text: string, at: number, wanted: string): number {
  if (text.startsWith(wanted, at)) return at + wanted.length;
  return wanted.startsWith(text.slice(at)) ? WAIT : NO;
}

/** The most characters of an attribute. */
const MAX_ATTRIBUTE = 60;

/** The end of a tag if it is here, NO or WAIT, and what stands for `*` in it, which has no quotes. */
export function tagAt(text: string, at: number, tag: string): { readonly end: number; readonly attribute: string } {
  const [before, after] = tag.split("*") as [string, string | undefined];
  const begin = literal(text, at, before);
  if (begin < 0 || after === undefined) return { end: begin, attribute: "" };
  const quote = text.indexOf('"', begin);
  const length = (quote < 0 ? text.length : quote) - begin;
  if (quote < 0 || length > MAX_ATTRIBUTE) return { end: length > MAX_ATTRIBUTE ? NO : WAIT, attribute: "" };
  return { end: literal(text, quote, after), attribute: text.slice(begin, quote) };
}

/** Where white space ends. */
export function afterSpace(text: string, at: number): number {
  let end = at;
  while (end < text.length && /\s/.test(text[end]!)) end += 1;
  return end;
}

/** The first of `names`, longest first, that is here, with its end; NO or WAIT. */
export function nameAt(text: string, at: number, names: readonly string[]): { name: string; end: number } {
  for (const name of names) {
    const end = literal(text, at, name);
    if (end !== NO) return { name, end };
  }
  return { name: "", end: NO };
}
