// Shows why: what was found, the model's RoPE, its memory by length, and what each system does.
import type { Diagnosis, Finding, LayerGroup, SystemReport } from "ropewalk/doctor";
import { shown, withText } from "../page/elements.js";
import { memoryByLength } from "./memory.js";
import { count, element, table } from "./parts.js";

/** Pages of the guide by their file, `docs/….md`. Written by the build. */
declare const GUIDE_PAGES: Readonly<Record<string, string>>;

/** The parts of a report after its answer, in the order in which a reader needs them. */
export function reportParts(diagnosis: Diagnosis): HTMLElement[] {
  const { findings, layers, systems, verdict } = diagnosis;
  const isWhy = ({ severity, code }: Finding): boolean =>
    verdict.status !== "fits" && (severity === "error" || code === "past-trained-length");
  const notes = findings.filter(({ severity }) => severity === "note");
  const warnings = findings.filter((found) => found.severity !== "note" && !isWhy(found));
  return [
    ...findingPart("Why", findings.filter(isWhy)),
    ...findingPart("Before you run it", warnings),
    ...findingPart("Good to know", notes),
    ...(layers.length > 0
      ? [withText("h3", "The RoPE of its layers"), layerTable(layers, diagnosis.support.isEncoder)]
      : []),
    ...otherLayers(diagnosis).map((text) => withText("p", text)),
    ...memoryByLength(diagnosis),
    ...(systems.length > 0 ? [withText("h3", "What each system does with the file"), systemTable(systems)] : []),
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

const IGNORED =
  "Where the frequencies are the same, the ignored keys change nothing with the values that this file has.";

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
    of("number of layers", ({ layers }) => (layers.length === 0 ? "all" : String(layers.length))),
    of("tokens that a layer sees", ({ window }) =>
      window === null
        ? "not in the file"
        : window === 0
          ? "all tokens"
          : `${count(isEncoder ? 2 * window - 1 : window)} tokens`,
    ),
    of("pairs of elements", ({ pairing }) => pairing),
    of("base of the frequencies", ({ base }) => shown(base)),
    of("rotated elements of a head", ({ rotary_dim, head_dim }) => `${rotary_dim} of ${head_dim}`),
    of("scaling", ({ rope_type, factor }) =>
      rope_type === "default" ? "none" : `${rope_type}, factor ${shown(factor)}`,
    ),
    of("length it is made for", ({ served }) => (served === null ? "not in the file" : `${count(served)} tokens`)),
    ...(groups.some((group) => scaledFrom(group) !== undefined)
      ? [of("length before the scaling", (group) => scaledFrom(group) ?? "–")]
      : []),
    of("factor of cos and sin", ({ attention_factor }) => shown(attention_factor)),
    of("what becomes of the pairs", ({ pairs }) =>
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

function systemTable(systems: readonly SystemReport[]): HTMLElement {
  const rows = systems.map((report) => [
    `${report.system} ${report.version}`,
    report.compat === "hf" ? "the reference" : report.same ? "the same" : differenceText(report),
    report.maxLength === null ? "no limit" : `${count(report.maxLength)} tokens`,
    report.reads.join(", ") || "–",
    report.ignores.join(", ") || "–",
  ]);
  return table(["system", "its frequencies", "longest text", "keys it reads", "keys it ignores"], rows);
}

function differenceText({ layers }: SystemReport): string {
  const layer = layers.find(({ same }) => !same);
  if (layer === undefined) return "doesn't know it";
  const { largestDifference: largest, attention_factor } = layer;
  const pair = largest === null ? "" : `pair ${largest.pair} is ${shown(largest.ratio, 3)} times as fast; `;
  return `differs: ${pair}attention factor ${shown(attention_factor)}`;
}
