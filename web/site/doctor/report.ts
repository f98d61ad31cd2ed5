// Shows a diagnosis: the lines to copy first, then what was found and why.
import type { CacheMemory, Diagnosis, Finding, LayerGroup, RecipeBlock, SystemReport } from "ropewalk/doctor";
import { shown, withText } from "../page/elements.js";
import { bytesText } from "../page/units.js";

/** Pages of the guide by their file, `docs/….md`. Written by the build. */
declare const GUIDE_PAGES: Readonly<Record<string, string>>;

/** The parts of a report, in the order in which a reader needs them. */
export function reportParts(diagnosis: Diagnosis): HTMLElement[] {
  const { recipe, findings, layers, memory, systems, length, verdict } = diagnosis;
  const isWhy = ({ severity, code }: Finding): boolean =>
    verdict.status !== "fits" && (severity === "error" || code === "past-trained-length");
  const notes = findings.filter(({ severity }) => severity === "note");
  const warnings = findings.filter((found) => found.severity !== "note" && !isWhy(found));
  return [
    ...findingPart("Why", findings.filter(isWhy)),
    ...findingPart("Before you run it", warnings),
    ...(recipe ? [withText("h3", `Run it at ${count(length)} tokens: ${recipe.summary}`)] : []),
    ...(recipe?.blocks.map(blockElement) ?? []),
    ...(recipe?.note ? [withText("p", recipe.note)] : []),
    ...findingPart("Good to know", notes),
    ...(layers.length > 0 ? [withText("h3", "Its RoPE"), layerTable(layers, diagnosis.support.isEncoder)] : []),
    ...otherLayers(diagnosis).map((text) => withText("p", text)),
    ...(memory
      ? [
          withText("h3", "Memory of its KV cache"),
          ...memoryParts(memory, layers, diagnosis.isRequested ? length : undefined),
        ]
      : []),
    ...(systems.length > 0 ? [withText("h3", "What each system does with it"), systemTable(systems)] : []),
    ...(systems.some(({ same, ignores }) => same && ignores.length > 0) ? [withText("p", IGNORED)] : []),
    ...systems.flatMap(({ reasons }) => reasons.map((reason) => withText("p", reason))),
  ];
}

/** What the layers are that the table of RoPEs doesn't have. */
function otherLayers({ layersWithoutRope, recurrentLayers }: Diagnosis): string[] {
  const recurrent = recurrentLayers.filter((layer) => layersWithoutRope.includes(layer)).length;
  const attending = layersWithoutRope.length - recurrent;
  const both = recurrentLayers.length - recurrent;
  return [
    ...(attending > 0 ? [`${manyLayers(attending)} no RoPE.`] : []),
    ...(recurrent > 0
      ? [`${manyLayers(recurrent)} no attention, so no RoPE and no keys: recurrent layers keep a state.`]
      : []),
    ...(both > 0 ? [`${both} of these layers are recurrent too: beside attention, they keep a state.`] : []),
  ];
}

const manyLayers = (number: number): string => `${number} more ${number === 1 ? "layer has" : "layers have"}`;

const IGNORED = "Where the numbers are the same, the ignored keys change nothing with the values that this file has.";

/** A number of tokens: all digits. */
const count = (value: number): string => value.toLocaleString("en");

function element(tag: "div" | "li" | "article" | "header", className: string, children: readonly Node[]): HTMLElement {
  const created = document.createElement(tag);
  created.className = className;
  created.append(...children);
  return created;
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

function findingPart(title: string, findings: readonly Finding[]): HTMLElement[] {
  if (findings.length === 0) return [];
  const list = document.createElement("ul");
  list.className = "findings";
  list.append(...findings.map(findingItem));
  return [withText("h3", title), list];
}

function findingItem({ code, severity, field, text, source }: Finding): HTMLElement {
  const heading = withText("p", "");
  heading.append(withText("strong", severity), ` ${code}`);
  if (field !== "") heading.append(": ", withText("code", field));
  const [file, hash = ""] = source.split("#");
  const page = GUIDE_PAGES[file!];
  const link = withText("a", page === undefined ? "Source" : "More in the guide");
  link.href = page === undefined ? source : `../guide/documents/${page}${hash === "" ? "" : `#${hash}`}`;
  const where = withText("p", "");
  where.className = "note";
  where.append(link);
  return element("li", severity, [heading, withText("p", text), where]);
}

/** Windows of encoders reach to both sides. */
function layerTable(groups: readonly LayerGroup[], isEncoder: boolean): HTMLElement {
  const of = (name: string, value: (group: LayerGroup) => string): string[] => [name, ...groups.map(value)];
  const rows = [
    of("layers", ({ layers }) => (layers.length === 0 ? "all" : String(layers.length))),
    of("sees", ({ window }) =>
      window === null
        ? "not in the file"
        : window === 0
          ? "all tokens"
          : `${count(isEncoder ? 2 * window - 1 : window)} tokens`,
    ),
    of("pairing", ({ pairing }) => pairing),
    of("base", ({ base }) => shown(base)),
    of("rotated elements", ({ rotary_dim, head_dim }) => `${rotary_dim} of ${head_dim}`),
    of("scaling", ({ rope_type, factor }) =>
      rope_type === "default" ? "none" : `${rope_type}, factor ${shown(factor)}`,
    ),
    of("made for", ({ served }) => (served === null ? "not in the file" : `${count(served)} tokens`)),
    ...(groups.some((group) => scaledFrom(group) !== undefined)
      ? [of("scaled from", (group) => scaledFrom(group) ?? "–")]
      : []),
    of("attention factor", ({ attention_factor }) => shown(attention_factor)),
    of("pairs", ({ pairs }) =>
      Object.entries(pairs)
        .filter(([, count]) => count > 0)
        .map(([name, count]) => `${count} ${name}`)
        .join(", "),
    ),
  ];
  return table(
    [
      "",
      ...groups.map(
        ({ kind, window }) =>
          kind ?? (groups.length === 1 ? "all layers" : window ? "with a window" : "without a window"),
      ),
    ],
    rows,
  );
}

function scaledFrom({ trained, served }: LayerGroup): string | undefined {
  return trained === null || served === null || trained >= served ? undefined : `${count(trained)} tokens`;
}

/** `length` is the requested one. */
function memoryParts(
  { bytesPerToken, stateBytes, sessionStateBytes, lengths }: CacheMemory,
  groups: readonly LayerGroup[],
  length: number | undefined,
): HTMLElement[] {
  const windows = [...new Set(groups.map(({ window }) => window ?? 0))].filter((window) => window > 0);
  const rows = lengths.map((row) => [
    `${count(row.length)}${row.length === length ? " (yours)" : ""}`,
    bytesText(row.bytes),
  ]);
  const text = `The cache takes ${bytesText(bytesPerToken)} in f16 for each token, besides the weights.`;
  const most = `Layers that see only a window or a chunk keep at most its tokens: ${windows.map(count).join(" or ")}.`;
  const states = `The states of recurrent layers take ${bytesText(stateBytes)} in f32, at any length. A session of Ropewalk keeps copies to rewind to, ${bytesText(sessionStateBytes)} in all.`;
  return [
    withText("p", text),
    table(["tokens", "memory"], rows),
    ...(windows.length > 0 ? [withText("p", most)] : []),
    ...(stateBytes > 0 ? [withText("p", states)] : []),
  ];
}

function systemTable(systems: readonly SystemReport[]): HTMLElement {
  const rows = systems.map((report) => [
    `${report.system} ${report.version}`,
    report.compat === "hf" ? "the reference" : report.same ? "the same" : differenceText(report),
    report.maxLength === null ? "no limit" : `${count(report.maxLength)} tokens`,
    report.reads.join(", ") || "–",
    report.ignores.join(", ") || "–",
  ]);
  return table(["system", "numbers", "serves", "reads", "ignores"], rows);
}

function differenceText({ layers }: SystemReport): string {
  const layer = layers.find(({ same }) => !same);
  if (layer === undefined) return "doesn't know it";
  const { largestDifference: largest, attention_factor } = layer;
  const pair = largest === null ? "" : `pair ${largest.pair} is ${shown(largest.ratio, 3)} times as fast; `;
  return `differs: ${pair}attention factor ${shown(attention_factor)}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): HTMLElement {
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
