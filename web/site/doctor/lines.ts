// The lines to paste, in tabs by system. Those of servers share the first tab, so that both are in sight.
import type { Diagnosis, RecipeBlock } from "ropewalk/doctor";
import { withText } from "../page/elements.js";
import { count, element } from "./parts.js";

/** The systems of each tab. */
const TABS: readonly (readonly RecipeBlock["system"][])[] = [
  ["llama.cpp", "vLLM"],
  ["transformers"],
  ["SGLang", "MLX"],
  ["Ropewalk"],
];

/** The tab that the reader chose: it stays for the next report. */
let chosen = 0;

/** The recipe of a report. */
export function linesPart({ recipe, length }: Diagnosis): HTMLElement[] {
  if (recipe === null) return [];
  const groups = TABS.map((systems) => ({
    title: systems.filter((system) => recipe.blocks.some((block) => block.system === system)).join(" and "),
    blocks: recipe.blocks
      .filter(({ system }) => systems.includes(system))
      .sort((a, b) => systems.indexOf(a.system) - systems.indexOf(b.system)),
  })).filter(({ blocks }) => blocks.length > 0);
  return [
    withText("h3", `Run it at ${count(length)} tokens`),
    Object.assign(withText("p", `Scaling: ${recipe.summary}.`), { className: "note" }),
    ...tabs(groups.map(({ title, blocks }) => [title, blocks.map(blockElement)])),
    ...(recipe.note ? [withText("p", recipe.note)] : []),
  ];
}

/** A list of tabs and their panels. Arrow keys, Home and End go from tab to tab. */
function tabs(groups: readonly (readonly [title: string, content: readonly Node[]])[]): HTMLElement[] {
  const buttons = groups.map(([title], index) => {
    const button = Object.assign(withText("button", title), { type: "button", id: `tab-${index}` });
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", `panel-${index}`);
    button.addEventListener("click", () => choose(index));
    return button;
  });
  const panels = groups.map(([, content], index) => {
    const panel = element("div", "", content);
    panel.id = `panel-${index}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", `tab-${index}`);
    return panel;
  });
  const choose = (index: number): void => {
    chosen = index;
    buttons.forEach((button, at) => {
      button.setAttribute("aria-selected", String(at === index));
      button.tabIndex = at === index ? 0 : -1;
      panels[at]!.hidden = at !== index;
    });
  };
  const list = element("div", "tabs", buttons);
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Lines to paste, by system");
  list.addEventListener("keydown", (event) => {
    const last = buttons.length - 1;
    const next = {
      ArrowRight: chosen === last ? 0 : chosen + 1,
      ArrowLeft: chosen === 0 ? last : chosen - 1,
      Home: 0,
      End: last,
    };
    const index = next[event.key as keyof typeof next] as number | undefined;
    if (index === undefined) return;
    event.preventDefault();
    choose(index);
    buttons[index]!.focus();
  });
  choose(Math.min(chosen, groups.length - 1));
  return [list, ...panels];
}

function blockElement({ title, text, note, checked }: RecipeBlock): HTMLElement {
  const copy = withText("button", "Copy");
  copy.type = "button";
  copy.setAttribute("aria-label", `Copy the lines for ${title}`);
  copy.addEventListener("click", () => {
    navigator.clipboard.writeText(text).then(
      () => (copy.textContent = "Copied"),
      () => (copy.textContent = "Select and copy it by hand"),
    );
    setTimeout(() => (copy.textContent = "Copy"), 2500);
  });
  const lines = document.createElement("pre");
  lines.tabIndex = 0; // scrolls by keyboard
  lines.append(withText("code", text));
  const result = withText("p", checked.text);
  result.className = checked.same ? "checked" : "checked differs";
  const remark = withText("p", note);
  remark.className = "note";
  return element("article", "block", [element("header", "", [withText("h4", title), copy]), lines, result, remark]);
}
