// The models that were downloaded before and are kept on this device.
import type { CachedModel, Ropewalk } from "ropewalk";
import { find, withText } from "../page/elements.js";
import { bytesText } from "../page/units.js";

/** Lists them. `open` is called with the address of the one to open. */
export async function showKept(rw: Ropewalk, open: (address: string) => void): Promise<void> {
  const models = await rw.cachedModels();
  const again = (): Promise<void> => showKept(rw, open);
  find("#kept").hidden = models.length === 0;
  find("#kept tbody").replaceChildren(...models.map((model) => rowOf(rw, model, open, again)));
}

function rowOf(
  rw: Ropewalk,
  { source, bytes, size }: CachedModel,
  open: (address: string) => void,
  again: () => Promise<void>,
): HTMLTableRowElement {
  const row = document.createElement("tr");
  const name = decodeURIComponent(new URL(source).pathname.split("/").filter(Boolean).at(-1) ?? source);
  const title = Object.assign(withText("th", name), { scope: "row", title: source });
  const part = bytes < size ? `${bytesText(bytes)} of ${bytesText(size)}` : bytesText(bytes);
  const button = (text: string, action: () => void): HTMLButtonElement =>
    Object.assign(withText("button", text), { type: "button", onclick: action, ariaLabel: `${text} ${name}` });
  const actions = document.createElement("td");
  const remove = button("Remove", () => {
    remove.disabled = true;
    rw.deleteCachedModel(source).then(again, (error: unknown) => {
      remove.disabled = false;
      actions.append(Object.assign(withText("p", (error as Error).message), { className: "problem" }));
    });
  });
  actions.append(
    button(bytes < size ? "Resume" : "Open", () => open(source)),
    " ",
    remove,
  );
  row.append(title, withText("td", part), actions);
  return row;
}
