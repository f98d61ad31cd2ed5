// Gives the patterns of a library's tokenizer their limits.
import { withFixedClasses } from "../unicode/classes.js";
import { LimitedPattern } from "./limited_pattern.js";
import type { Steps } from "./matcher.js";

/** Steps that encoding a text may take: about half a second, and as much again for each megabyte. Real patterns take about 10 a character. */
const STEPS = 8_000_000;
const STEPS_PER_CHARACTER = 50;

/** Characters for each of a text that replacements may make. Normalization forms make up to 18. */
const GROWTH = 20;
const SPARE_CHARACTERS = 1000;

/** What encoding a text may use. */
export function stepsFor(characters: number): Steps {
  return { left: STEPS + STEPS_PER_CHARACTER * characters, longest: SPARE_CHARACTERS + GROWTH * characters };
}

/**
 * Replaces each regular expression that a component of tokenizer.json was given, in it and in the components inside it. Those of the
 * library itself take linear time, and only get the classes of one version of Unicode.
 * @throws UnknownSyntax
 */
export function limitPatterns<T>(component: T, steps: Steps): T {
  const open: unknown[] = [component];
  const seen = new Set<unknown>();
  for (let next = open.pop(); open.length > 0 || next !== undefined; next = open.pop()) {
    if ((typeof next !== "object" && typeof next !== "function") || next === null || seen.has(next)) continue;
    seen.add(next);
    const { config, pattern } = next as { config?: { type?: unknown; pattern?: unknown }; pattern?: unknown };
    if (pattern instanceof RegExp) {
      const isGiven = config?.pattern !== undefined;
      (next as { pattern: unknown }).pattern = isGiven
        ? new LimitedPattern(pattern.source, steps)
        : new RegExp(withFixedClasses(ownPattern(config?.type, pattern.source)), pattern.flags);
    }
    for (const inside of Array.isArray(next) ? next : Object.values(next)) if (inside !== undefined) open.push(inside);
  }
  return component;
}

/** A pattern of the library itself. The Rust library's Digits splits off all numbers, not only decimal digits. */
function ownPattern(type: unknown, source: string): string {
  return type === "Digits" ? source.replaceAll("\\d", "\\p{N}") : source;
}
