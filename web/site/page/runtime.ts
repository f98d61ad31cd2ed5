// The Ropewalk runtime of the page.
import { load, type Ropewalk } from "ropewalk";

/** Loads the runtime once, with one thread: the page must stay free to draw. Models run in Workers. */
export function runtime(): Promise<Ropewalk> {
  return load({ threads: 1 });
}
