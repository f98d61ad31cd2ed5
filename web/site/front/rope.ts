// Draws two strands that twist around each other, as SVG paths. The wider they are apart, the looser the rope.

/** The paths of a rope, in the order in which they are painted. */
export interface RopePaths {
  readonly first: string;
  readonly second: string;
  /** Where the second strand lies over the first: painted wider, in the color of the ground, below the second. */
  readonly secondOver: string;
  /** Where the first strand lies over the second: painted wider in the color of the ground, then again in its own. */
  readonly firstOver: string;
}

/** Control points of a cubic Bézier curve that follows a half period of a cosine, as a share of its width. */
const EASE = 0.3642;

/**
 * The strands of a rope from x = 0 to `width`, around y = 0.
 *
 * @param period - length of a full twist, in pixels
 * @param amplitudeAt - distance of the strands from the middle at x, in pixels
 */
export function ropePaths(width: number, period: number, amplitudeAt: (x: number) => number): RopePaths {
  const halves = Math.max(2, 2 * Math.round(width / period));
  const half = width / halves;
  const paths = { first: "", second: "", firstOver: "", secondOver: "" };
  for (let i = 0; i < halves; i++) {
    const isDown = i % 2 === 0;
    const piece = (sign: number, isStart: boolean): string => {
      const [x0, x1] = [i * half, (i + 1) * half];
      const [y0, y1] = [sign * amplitudeAt(x0), -sign * amplitudeAt(x1)];
      const [c0, c1] = [x0 + EASE * half, x1 - EASE * half];
      const curve = `C${round(c0)} ${round(y0)} ${round(c1)} ${round(y1)} ${round(x1)} ${round(y1)}`;
      return isStart ? `M${round(x0)} ${round(y0)}${curve}` : curve;
    };
    const sign = isDown ? 1 : -1;
    paths.first += piece(sign, i === 0);
    paths.second += piece(-sign, i === 0);
    if (isDown) paths.firstOver += piece(sign, true);
    else paths.secondOver += piece(-sign, true);
  }
  return paths;
}

/** The texts of the small model don't get tighter than this loss. */
const TIGHTEST = 0.6;

/**
 * How far the strands are from the middle at a loss, in pixels.
 * @param period - as in {@link ropePaths}
 * @param loose - pixels for each unit of the loss
 */
export function amplitudeOf(loss: number, period: number, loose: number): number {
  return (period / 26) * 3.6 + Math.max(0, loss - TIGHTEST) * loose;
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}
