// The report of a diagnosis for a terminal.
import type { CacheMemory, Diagnosis, Finding, LayerGroup, RecipeBlock, SystemReport } from "../../../doctor.node.js";
import { formatBytes } from "../format.js";
import { ranges } from "../ranges.js";
import type { Format, Terminal } from "../terminal.js";

const COLORS: Readonly<Record<Finding["severity"], Format>> = { error: "red", warning: "yellow", note: "cyan" };

/** All parts of the report, in the order in which a reader needs them. */
export function reportText(terminal: Terminal, diagnosis: Diagnosis): string {
  const { name, family, verdict, support, findings, layers, systems, recipe } = diagnosis;
  const bold = (text: string): string => terminal.style("bold", text);
  const parts = [
    `${bold(name)}${family === null ? "" : `: ${family}`}\n${bold(verdict.text)}\n${wrapped(support.text, 96).join("\n")}`,
    findings.length > 0 && `${bold("Findings")}\n${findings.map((found) => findingText(terminal, found)).join("\n")}`,
    layers.length > 0 &&
      `${bold("RoPE")}\n${layers.map((group) => groupText(group, support.isEncoder)).join("\n")}${withoutRopeText(diagnosis)}`,
    diagnosis.memory && `${bold("Memory of keys and values in f16")}\n${memoryText(terminal, diagnosis)}`,
    diagnosis.weights &&
      `${bold(`Memory of the weights: ${count(diagnosis.weights.parameters)} parameters, an estimate`)}\n${weightsText(terminal, diagnosis)}`,
    systems.length > 0 && `${bold("Systems")}\n${systemsText(terminal, systems)}`,
    recipe &&
      `${bold(`Run it at ${count(diagnosis.length)} tokens`)}: ${recipe.summary}\n\n${recipe.blocks.map((block) => blockText(terminal, block)).join("\n\n")}${recipe.note && `\n\n  ${recipe.note}`}`,
  ];
  return parts.filter((part) => typeof part === "string").join("\n\n");
}

const count = (value: number): string => Math.round(value).toLocaleString("en");
const short = (value: number): string => Number(value.toPrecision(6)).toString();

function findingText(terminal: Terminal, { code, severity, field, text, source }: Finding): string {
  const heading = `  ${terminal.style(COLORS[severity], severity)} ${code}${field === "" ? "" : `, ${field}`}`;
  return [heading, ...wrapped(text, 96), source].join("\n    ");
}

/** Windows of encoders reach to both sides. */
function groupText(group: LayerGroup, isTwoSided: boolean): string {
  const { kind, layers, window, pairing, base, head_dim, rotary_dim, rope_type, factor, pairs } = group;
  const names = [
    kind,
    layers.length > 0 && `layers ${ranges(layers)}`,
    window !== null &&
      window > 0 &&
      (isTwoSided ? `sees tokens up to ${count(window - 1)} away` : `sees at most ${count(window)} tokens`),
  ].filter((part) => typeof part === "string");
  const counts = Object.entries(pairs).filter(([, number]) => number > 0);
  return [
    `  ${names.length === 0 ? "all layers" : names.join(", ")}`,
    `    ${rope_type}, base ${count(Number(base.toPrecision(6)))}, ${pairing} pairs, ${rotary_dim} of ${head_dim} elements rotated`,
    `    ${lengthsText(group)}, factor ${short(factor)}, attention factor ${short(group.attention_factor)}`,
    `    pairs: ${counts.map(([name, number]) => `${number} ${name}`).join(", ")}`,
  ].join("\n");
}

function lengthsText({ trained, served }: LayerGroup): string {
  if (served === null) return "length unknown";
  const from = trained === null || trained >= served ? "" : `, scaled from ${count(trained)}`;
  return `made for ${count(served)} tokens${from}`;
}

function withoutRopeText({ layersWithoutRope, recurrentLayers }: Diagnosis): string {
  const attending = layersWithoutRope.filter((layer) => !recurrentLayers.includes(layer));
  const instead = recurrentLayers.filter((layer) => layersWithoutRope.includes(layer));
  const beside = recurrentLayers.filter((layer) => !layersWithoutRope.includes(layer));
  const lines = [
    attending.length > 0 && `\n  attention without RoPE: layers ${ranges(attending)}`,
    instead.length > 0 && `\n  recurrent, so without RoPE: layers ${ranges(instead)}`,
    beside.length > 0 && `\n  recurrent beside attention: layers ${ranges(beside)}`,
  ];
  return lines.filter((line) => typeof line === "string").join("");
}

function memoryText(terminal: Terminal, { memory, length, isRequested }: Diagnosis): string {
  if (memory?.bytesPerToken === 0) return `  none; ${statesText(memory)}`;
  const rows = memory?.lengths.map((row) => [
    `  ${count(row.length)} tokens${isRequested && row.length === length ? " ←" : ""}`,
    formatBytes(row.bytes),
  ]);
  const states = memory === null || memory.stateBytes === 0 ? "" : `\n  and ${statesText(memory)}`;
  return terminal.table(rows ?? [], { align: "lr" }) + states;
}

/** By format, alone and with the keys and values of the length. */
function weightsText(terminal: Terminal, { weights, memory, length }: Diagnosis): string {
  const cache = memory?.lengths.find((row) => row.length === length)?.bytes;
  const rows = weights?.formats.map(({ name, bytes }) => [
    `  ${name}`,
    formatBytes(bytes),
    ...(cache === undefined ? [] : [formatBytes(bytes + cache + (memory?.stateBytes ?? 0))]),
  ]);
  const head = ["  format", "weights", ...(cache === undefined ? [] : [`with ${count(length)} tokens`])];
  return terminal.table(rows ?? [], { head, align: "lrr" });
}

function statesText({ stateBytes, sessionStateBytes }: CacheMemory): string {
  return `${formatBytes(stateBytes)} for the states of recurrent layers at any length, in f32 (Ropewalk: ${formatBytes(sessionStateBytes)}, with copies to rewind to)`;
}

function systemsText(terminal: Terminal, systems: readonly SystemReport[]): string {
  const rows = systems.map(({ system, version, compat, same, maxLength }) => [
    `  ${system} ${version}`,
    !same ? "differs" : compat === "hf" ? "reference" : "the same",
    maxLength === null ? "no limit" : count(maxLength),
  ]);
  const table = terminal.table(rows, { head: ["  system", "its frequencies", "longest text"], align: "llr" });
  const keys = systems.flatMap(({ system, same, reads, ignores }) =>
    reads.length === 0
      ? []
      : wrapped(
          `${system} reads ${reads.join(", ")}${ignores.length === 0 ? "" : `; it ignores ${ignores.join(", ")}${same ? ", which changes nothing here" : ""}`}`,
          96,
        ),
  );
  const reasons = systems.flatMap(({ reasons }) => reasons.flatMap((reason) => wrapped(reason, 96)));
  return [table, ...[...keys, ...reasons].map((line) => `  ${line}`)].join("\n");
}

function blockText(terminal: Terminal, { title, text, note, checked }: RecipeBlock): string {
  const lines = text.split("\n").map((line) => `    ${line}`);
  const result = terminal.style(checked.same ? "green" : "yellow", checked.text);
  return [`  ${title} (${result})`, ...lines, ...wrapped(note, 96).map((line) => `  ${line}`)].join("\n");
}

/** Lines of at most so many characters, broken at spaces. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
