// Memory of keys and values, and of weights.
import type { Diagnosis } from "ropewalk/doctor";
import { withText } from "../page/elements.js";
import { bytesText } from "../page/units.js";
import { count, table } from "./parts.js";

/** Memory at the length of the diagnosis: of the weights in each format, alone and with keys and values. */
export function memoryPart({ memory, weights, length }: Diagnosis): HTMLElement[] {
  if (memory === null && weights === null) return [];
  const cache = memory?.lengths.find((row) => row.length === length)?.bytes ?? 0;
  const states = memory?.stateBytes ?? 0;
  const ofTokens =
    memory === null
      ? []
      : [
          `Keys and values of ${count(length)} tokens take ${bytesText(cache)} in f16.`,
          ...(states > 0 ? [`The states of recurrent layers take ${bytesText(states)}.`] : []),
        ];
  const ofWeights =
    weights === null
      ? ["The file doesn't show how many weights there are."]
      : [`Weights are an estimate: ${count(weights.parameters)} parameters × bits.`];
  const rows = weights?.formats.map(({ name, bytes }) => [
    name,
    bytesText(bytes),
    ...(memory === null ? [] : [bytesText(bytes + cache + states)]),
  ]);
  const head = ["weights in", "weights", ...(memory === null ? [] : ["weights, keys and values"])];
  return [
    withText("h3", `Memory at ${count(length)} tokens`),
    ...(rows === undefined ? [] : [table(head, rows)]),
    Object.assign(withText("p", [...ofTokens, ...ofWeights].join(" ")), { className: "note" }),
  ];
}

/** Memory of keys and values by length. */
export function memoryByLength({ memory, layers, length, isRequested }: Diagnosis): HTMLElement[] {
  if (memory === null) return [];
  const { bytesPerToken, stateBytes, sessionStateBytes, lengths } = memory;
  const windows = [...new Set(layers.map(({ window }) => window ?? 0))].filter((window) => window > 0);
  const rows = lengths.map((row) => [
    `${count(row.length)}${isRequested && row.length === length ? " (yours)" : ""}`,
    bytesText(row.bytes),
  ]);
  const text = `Keys and values take ${bytesText(bytesPerToken)} in f16 for each token, besides the weights.`;
  const most = `Layers that see only a window or a chunk keep at most its tokens: ${windows.map(count).join(" or ")}.`;
  const states = `The states of recurrent layers take ${bytesText(stateBytes)} in f32, at any length. A session of Ropewalk keeps copies to rewind to, ${bytesText(sessionStateBytes)} in all.`;
  return [
    withText("h3", "Memory of keys and values by length"),
    withText("p", text),
    table(["length in tokens", "keys and values in f16"], rows),
    ...(windows.length > 0 ? [withText("p", most)] : []),
    ...(stateBytes > 0 ? [withText("p", states)] : []),
  ];
}
