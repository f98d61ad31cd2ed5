import { text as textOf } from "node:stream/consumers";

/** The text of an argument: itself, or all of stdin for `-`. */
export function promptOf(argument: string): Promise<string> {
  return argument === "-" ? textOf(process.stdin) : Promise.resolve(argument);
}
