// Elements that all parts of a report are made of.
import { withText } from "../page/elements.js";

/** A number of tokens: all digits. */
export const count = (value: number): string => value.toLocaleString("en");

export function element(
  tag: "div" | "li" | "article" | "header",
  className: string,
  children: readonly Node[],
): HTMLElement {
  const created = document.createElement(tag);
  created.className = className;
  created.append(...children);
  return created;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): HTMLElement {
  const created = document.createElement("table");
  const headRow = created.createTHead().insertRow();
  for (const name of head) headRow.append(Object.assign(withText("th", name), { scope: "col" }));
  const body = created.createTBody();
  for (const [first = "", ...cells] of rows) {
    const row = body.insertRow();
    row.append(Object.assign(withText("th", first), { scope: "row" }), ...cells.map((cell) => withText("td", cell)));
  }
  const scroller = element("div", "scroll", [created]);
  scroller.tabIndex = 0; // scrolls by keyboard
  return scroller;
}
