// Which Emscripten is new enough.

import { capture } from "./run.mjs";

/** From this version on, the factory of an ES module build always returns a promise. What else the build uses is older. */
export const minimumVersion = "4.0.12";

export function isNewEnough(version) {
  const numbers = (text) => text.split(".").map(Number);
  const [major, minor, patch] = numbers(version);
  const [leastMajor, leastMinor, leastPatch] = numbers(minimumVersion);
  if (major !== leastMajor) return major > leastMajor;
  if (minor !== leastMinor) return minor > leastMinor;
  return patch >= leastPatch;
}

/** The version that `emcc --version` states, or null when it does not run. */
export async function versionOf(emcc, env = process.env) {
  const text = await capture(emcc, ["--version"], { env }).catch(() => "");
  return /^emcc .*?(\d+\.\d+\.\d+)/m.exec(text)?.[1] ?? null;
}
