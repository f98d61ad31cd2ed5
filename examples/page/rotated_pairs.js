// Draws some pairs of one head before and after a rotation, as arrows.
import { svg } from "./svg.js";

const SHOWN = 8;
const RADIUS = 38;

/** Indices of the elements of pair j in a head, before and after a rotation. */
function elementsOf({ pairing, rotary_dim, rotary_offset }, j) {
  const half = [rotary_offset + j, rotary_offset + j + rotary_dim / 2];
  const adjacent = [rotary_offset + 2 * j, rotary_offset + 2 * j + 1];
  return { before: pairing === "half" ? half : adjacent, after: pairing === "interleaved" ? adjacent : half };
}

/** Rotates a head whose pairs are all (1, 0) to a position. Returns `[x, y]` of each pair. */
function rotatedPairs({ rope, seqLen }, position) {
  const plan = rope.plan(seqLen);
  const pairs = Array.from(plan.inv_freq, (_, j) => elementsOf(plan, j));
  const head = new Float32Array(plan.head_dim);
  for (const { before } of pairs) head[before[0]] = 1;
  rope.rotate(head, { layout: "thd", shape: [1, 1, plan.head_dim], positions: position, seqLen });
  return pairs.map(({ after }) => after.map((index) => head[index]));
}

/** Draws pairs from the fastest to the slowest for `curves` of `{ name, rope, seqLen }`. `wavelengths` are the scaled ones. */
export function drawRotation(list, curves, wavelengths, position) {
  const rotated = curves.map((curve) => ({ name: curve.name, pairs: rotatedPairs(curve, position) }));
  const shown = Array.from({ length: SHOWN }, (_, i) => Math.round((i * (wavelengths.length - 1)) / (SHOWN - 1)));
  list.replaceChildren(
    ...shown.map((j) => {
      const arrows = rotated.map(({ name, pairs }) => arrow(name, pairs[j]));
      const numbers = rotated
        .at(-1)
        .pairs[j].map((value) => value.toFixed(3))
        .join(", ");
      const drawing = svg(
        "svg",
        { viewBox: "-54 -54 108 108", role: "img", "aria-label": `pair ${j} becomes (${numbers})` },
        svg("circle", { r: RADIUS }),
        svg("line", { class: "before", x2: RADIUS }),
        ...arrows,
      );
      return figure(
        drawing,
        `pair ${j}`,
        `(${numbers})`,
        `λ = ${wavelengths[j].toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 })}`,
      );
    }),
  );
}

/** Positive y is up and rotation is counterclockwise, as in mathematics. */
function arrow(name, [x, y]) {
  const degrees = (-Math.atan2(y, x) * 180) / Math.PI;
  const length = Math.hypot(x, y) * RADIUS;
  return svg("path", {
    class: `arrow ${name}`,
    transform: `rotate(${degrees.toFixed(2)})`,
    d: `M0 0H${length}m-7 -4 7 4 -7 4`,
  });
}

function figure(drawing, ...lines) {
  const element = document.createElement("figure");
  const caption = document.createElement("figcaption");
  for (const line of lines) caption.append(Object.assign(document.createElement("span"), { textContent: line }));
  element.append(drawing, caption);
  return element;
}
