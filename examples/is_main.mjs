import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Whether Node was asked to run this module, by its own path or by a symbolic link. */
export function isMain(moduleUrl) {
  const [, started] = process.argv;
  return started !== undefined && realpathSync(started) === realpathSync(fileURLToPath(moduleUrl));
}
