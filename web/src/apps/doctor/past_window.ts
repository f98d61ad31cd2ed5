// What methods past the trained window are worth without training, for a finding that says so.
import { shown } from "./facts.js";
import { MEASURED } from "./past_window_measured.js";

const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** What was measured at the nearest length from a multiple of the trained one up, in a sentence. */
export function measuredText(multiple: number): string {
  const { multiple: times, none, yarn, rerope } = MEASURED.find((row) => row.multiple >= multiple) ?? MEASURED.at(-1)!;
  return `A small model that wasn't trained for it, in texts of ${shown(times)} times its trained length, found ${percent(none)} of the facts without a scaling, ${percent(yarn)} under yarn and ${percent(rerope)} under the position map rerope.`;
}
