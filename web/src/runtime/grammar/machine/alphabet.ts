// Classes of characters that some sets don't tell apart, so that a machine has an edge for each class instead of each character.
import { ANY_CHARACTER, mergeRanges, type Range } from "../expression.js";
import { spend } from "../work.js";
import { TooLarge } from "./limits.js";

/** The most classes times sets. */
const MAX_ENTRIES = 5_000_000;

/** The classes of the characters of some sets. */
export interface Alphabet {
  /** The characters of each class. */
  readonly classes: readonly (readonly Range[])[];
  /** The classes of each set. */
  readonly ofSets: readonly (readonly number[])[];
}

/** @throws TooLarge */
export function alphabetOf(sets: readonly (readonly Range[])[]): Alphabet {
  const edges = sets.flatMap((ranges, id) => ranges.flatMap(([first, last]) => [{ at: first, id }, { at: last + 1, id }])); // prettier-ignore
  for (const [first, last] of ANY_CHARACTER) edges.push({ at: first, id: -1 }, { at: last + 1, id: -1 });
  edges.sort((a, b) => a.at - b.at);
  const inside = new Set<number>();
  const found = new Map<string, { ranges: Range[]; sets: number[] }>();
  let entries = 0;
  edges.forEach(({ at, id }, i) => {
    if (!inside.delete(id)) inside.add(id);
    const end = edges[i + 1]?.at ?? at;
    if (end === at || !inside.has(-1)) return;
    const within = [...inside].filter((one) => one >= 0).sort((a, b) => a - b);
    entries += 1 + within.length;
    spend(5 + 2 * within.length);
    if (entries > MAX_ENTRIES) throw new TooLarge();
    const known = found.get(within.join()) ?? { ranges: [], sets: within };
    known.ranges.push([at, end - 1]);
    found.set(within.join(), known);
  });
  const ofSets: number[][] = sets.map(() => []);
  [...found.values()].forEach((one, i) => one.sets.forEach((id) => ofSets[id]!.push(i)));
  return { classes: Array.from(found.values(), ({ ranges }) => mergeRanges(ranges)), ofSets };
}
