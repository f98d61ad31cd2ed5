// A model in a sentence.
import type { WorkerModel } from "ropewalk/worker";
import { bytesText } from "../page/units.js";

export function factsOf({ info, chatTemplate }: WorkerModel): string {
  const [parameters, trained] = [info.parameters, info.trainedLength].map((number) => number.toLocaleString("en"));
  const formats = Object.keys(info.formats).slice(0, 3).join(", ");
  const made = Object.keys(info.loadedFormats).filter((format) => !(format in info.formats));
  const rounded = made.length === 0 ? "" : `, rounded to ${made.join(", ")}`;
  const { dimensions } = info.embedding;
  const vectors = info.ranks ? " It scores pairs of texts." : ` It embeds texts in ${dimensions} dimensions.`;
  const template =
    chatTemplate === undefined ? " It has no chat template, so it continues the text that you write." : "";
  return `${info.architecture} · ${parameters} parameters in ${formats}${rounded} · ${bytesText(info.memory.weights)} in memory · trained on ${trained} tokens.${info.generates ? template : vectors}`;
}
