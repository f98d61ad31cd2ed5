// Python's changes of case. JavaScript has no title case and no case folding.

/** The title case of a character: like upper case, but for digraphs, Georgian and Greek with a iota below. */
function titleOf(character: string): string {
  const code = character.codePointAt(0)!;
  if (code >= 0x10d0 && code <= 0x10ff) return character;
  for (const [first, title] of [
    [0x1c4, "ǅ"],
    [0x1c7, "ǈ"],
    [0x1ca, "ǋ"],
    [0x1f1, "ǲ"],
  ] as const)
    if (code >= first && code < first + 3) return title;
  if (code >= 0x1f80 && code < 0x1fb0) return String.fromCodePoint(code | 8);
  for (const title of [0x1fbc, 0x1fcc, 0x1ffc])
    if (code === title || code === title - 9) return String.fromCodePoint(title);
  const upper = character.toUpperCase();
  const [first = ""] = upper;
  if (upper.length === first.length) return upper;
  if (code >= 0x1fb2 && code <= 0x1ff7 && upper.endsWith("Ι")) return `${upper.slice(0, -1)}\u0345`;
  return /\p{Cased}/u.test(first) ? first + upper.slice(first.length).toLowerCase() : upper;
}

export function capitalize(text: string): string {
  const [first = ""] = text;
  // the rest is changed beside the first character, which decides whether a sigma is at the end of a word
  return titleOf(first) + text.toLowerCase().slice(first.toLowerCase().length);
}

/** Python's str.title(): a character after one with a case is in lower case. */
export function titled(text: string): string {
  let written = "";
  let isInside = false;
  for (let at = 0; at < text.length;) {
    const character = String.fromCodePoint(text.codePointAt(at)!);
    if (!isInside) written += titleOf(character);
    else if (character === "Σ") written += sigmaAt(text, at);
    else written += character.toLowerCase();
    isInside = /\p{Cased}/u.test(character);
    at += character.length;
  }
  return written;
}

/** A capital sigma in lower case: another one ends a word. */
function sigmaAt(text: string, at: number): string {
  const isInside = /\p{Cased}\p{Case_Ignorable}*$/u.test(text.slice(Math.max(0, at - 100), at));
  const goesOn = /^\p{Case_Ignorable}*\p{Cased}/u.test(text.slice(at + 1, at + 100));
  return isInside && !goesOn ? "ς" : "σ";
}

/** Python's str.casefold(). */
export function caseFolded(text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase();
  return Array.from(text, (character) => {
    if (character === "ı") return character;
    if (character === "ẞ") return "ss";
    if (/[\u13a0-\u13fd\uab70-\uabbf]/.test(character)) return character.toUpperCase();
    return Array.from(character.toUpperCase(), (upper) => upper.toLowerCase()).join("");
  }).join("");
}

export function withCasesSwapped(text: string): string {
  return text.replace(/\p{Uppercase}|\p{Lowercase}/gu, (character, at: number) => {
    if (character === "Σ") return sigmaAt(text, at);
    return /\p{Uppercase}/u.test(character) ? character.toLowerCase() : character.toUpperCase();
  });
}

const hasCase = /[\p{Lowercase}\p{Uppercase}\p{Lt}]/u;

export const isUpper = (text: string): boolean => hasCase.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text);
export const isLower = (text: string): boolean => hasCase.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text);

/** Whether upper case follows only what has no case, and lower case only what has one. */
export function isTitle(text: string): boolean {
  let isInside = false;
  let hasTitle = false;
  for (const character of text) {
    if (/[\p{Uppercase}\p{Lt}]/u.test(character)) {
      if (isInside) return false;
      isInside = hasTitle = true;
    } else if (/\p{Lowercase}/u.test(character)) {
      if (!isInside) return false;
      hasTitle = true;
    } else isInside = false;
  }
  return hasTitle;
}
