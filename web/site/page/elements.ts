// Creates and finds elements.

/** The one element for a selector. @throws Error if the page has none */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- as querySelector<T>()
export function find<T extends Element = HTMLElement>(selector: string, within: ParentNode = document): T {
  const element = within.querySelector<T>(selector);
  if (element === null) throw new Error(`the page has no ${selector}`);
  return element;
}

/** Creates an element with text. */
export function withText<K extends keyof HTMLElementTagNameMap>(tag: K, text: string): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

/** A number for readers, with at most so many significant digits: 131,072, 0.0123. */
export function shown(value: number, digits = 6): string {
  return Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
}
