// Places the names of a chart's lines where they touch nothing else.

/** A line of a chart, in pixels. */
export interface Line {
  readonly name: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

/** Half the height of a name, pixels of one of its letters, and how far its middle is from its line. */
const [HALF, LETTER, AWAY] = [8, 7, 13];
/** A name that is as far from other lines as from its own is well placed. */
const ENOUGH = AWAY - HALF;

/** The point of the line that has the name, and pixels from it to the middle of the name. */
interface Place {
  readonly index: number;
  readonly dx: number;
  readonly dy: number;
}

/**
 * Chooses a place for the name of each line.
 *
 * @param across - x of vertical lines, which names don't cross
 */
export function placeNames(lines: readonly Line[], across: readonly number[], width: number): Place[] {
  const drawn = lines.flatMap(({ points }) => points);
  const taken: { x: number; y: number; half: number }[] = [];
  return lines.map(({ name, points }) => {
    const half = (name.length * LETTER) / 2;
    /** Pixels between the name and what is nearest to it; below zero they touch. */
    const freeAt = (x: number, y: number): number =>
      Math.min(
        x - half,
        width - half - x,
        ...across.map((line) => Math.abs(line - x) - half),
        ...drawn.map((point) => Math.max(Math.abs(point.x - x) - half, Math.abs(point.y - y) - HALF)),
        ...taken.map((other) => Math.max(Math.abs(other.x - x) - half - other.half, Math.abs(other.y - y) - 2 * HALF)),
      );
    const places = points.flatMap(({ x, y }, index) =>
      [-AWAY, AWAY].flatMap((dy) =>
        [0, half, -half].map((dx) => {
          const free = Math.min(ENOUGH, freeAt(x + dx, y + dy));
          return { index, dx, dy, x: x + dx, y: y + dy, free };
        }),
      ),
    );
    const best = places.reduce((most, place) => (place.free > most.free ? place : most));
    taken.push({ x: best.x, y: best.y, half });
    return { index: best.index, dx: best.dx, dy: best.dy };
  });
}
