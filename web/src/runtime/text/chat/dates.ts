// The variables with the date that llama.cpp's server gives a chat template.
import { strftime } from "../template/strftime.js";

/** `datetime` as "Nov 05 2026" and `date_string` as "05 Nov 2026", in the local time zone. */
export function dateVariables(now: Date): { datetime: string; date_string: string } {
  return { datetime: strftime(now, "%b %d %Y"), date_string: strftime(now, "%d %b %Y") };
}
