// A panel of the Lab: a section of the page with a form and figures. Its state is its form, which is kept in the address.
import type { Ropewalk } from "ropewalk";
import { readAddress, writeAddress } from "../page/address.js";
import { find } from "../page/elements.js";
import { runtime } from "../page/runtime.js";

/** The parts of a panel that its module works with. */
export interface PanelParts {
  readonly section: HTMLElement;
  readonly form: HTMLFormElement;
  readonly rw: Ropewalk;
  /** Draws the panel again in the next frame. Call it after a change that no control reports, for example a loaded file. */
  readonly redraw: () => void;
}

/** What a panel's module exports as `mount`. Called once. Returns the function that draws the panel from its form. */
export type Mount = (parts: PanelParts) => (() => void | Promise<void>) | Promise<() => void | Promise<void>>;

/** Lets the page react before more work: the first drawing takes long on a phone. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Starts a panel. Errors are shown in the panel, and the next change of a control tries again. */
export async function startPanel(section: HTMLElement, loadModule: () => Promise<{ mount: Mount }>): Promise<void> {
  const form = find<HTMLFormElement>("form.controls", section);
  const problem = Object.assign(document.createElement("p"), { className: "problem", hidden: true });
  problem.setAttribute("role", "alert");
  form.after(problem);

  let draw: (() => void | Promise<void>) | undefined;
  let isWaiting = false;
  const redraw = (): void => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      void attempt(async () => draw?.());
    });
  };
  const attempt = async (action: () => void | Promise<void>): Promise<void> => {
    try {
      await action();
      problem.hidden = true;
    } catch (error) {
      problem.textContent = (error as Error).message;
      problem.hidden = false;
    }
  };

  await attempt(async () => {
    const [{ mount }, rw] = await Promise.all([loadModule(), runtime()]);
    await nextTask();
    readAddress(section.id, form);
    draw = await mount({ section, form, rw, redraw });
    await nextTask();
    await draw();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  // controls next to a figure are outside of the form's element, and belong to it by their attribute
  section.addEventListener("input", ({ target }) => {
    if (target !== form && (target as HTMLInputElement).form !== form) return;
    writeAddress(section.id, form);
    redraw();
  });
  section.addEventListener("toggle", redraw, { capture: true }); // figures in closed details have no width
  let width = section.clientWidth;
  window.addEventListener("resize", () => {
    if (width === section.clientWidth) return; // a phone's address bar changes the height alone
    width = section.clientWidth;
    redraw();
  });
  section.dataset.state = draw === undefined ? "failed" : "ready";
}
