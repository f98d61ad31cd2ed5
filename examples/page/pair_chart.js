// How much of each pair's frequency the scaling keeps: one bar per pair, and a table.
import { axes, plotArea, svg } from "./svg.js";

const SMALLEST_BAR = 2; // pixels, so that a fully interpolated pair stays visible
const number = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "never");
/** The share is NaN if the plan scales nothing. */
const shareOf = ({ kept_share }) => (Number.isNaN(kept_share) ? 1 : Math.min(1, Math.max(0, kept_share)));

export function drawPairs(drawing, pairs) {
  const area = plotArea(drawing, 200, { left: 42, right: 12, top: 30, bottom: 44 });
  const step = (area.right - area.left) / pairs.length;
  const x = (pair) => area.left + pair * step;
  const y = (share) => area.bottom - share * (area.bottom - area.top);

  const every = Math.ceil(pairs.length / 8);
  const xTicks = pairs.filter(({ pair }) => pair % every === 0).map(({ pair }) => [x(pair + 0.5), String(pair)]);
  const yTicks = [0, 0.5, 1].map((share) => [y(share), share.toFixed(1)]);
  const bars = pairs.map((pair) => {
    const height = Math.max(SMALLEST_BAR, area.bottom - y(shareOf(pair)));
    const bar = {
      class: pair.treatment,
      x: x(pair.pair) + step * 0.1,
      width: step * 0.8,
      y: area.bottom - height,
      height,
    };
    const title = `pair ${pair.pair}: ${pair.treatment}, ${number(pair.wavelength)} positions per rotation`;
    return svg("rect", bar, svg("title", {}, title));
  });
  drawing.replaceChildren(axes(area, xTicks, yTicks, "pair, fastest first", "share kept"), ...bars);
}

export function fillTable(body, pairs) {
  body.replaceChildren(
    ...pairs.map((pair) => {
      const row = document.createElement("tr");
      const cells = [
        pair.pair,
        number(pair.wavelength),
        number(pair.rotations),
        shareOf(pair).toFixed(3),
        pair.treatment,
      ];
      for (const cell of cells) row.insertCell().textContent = cell;
      return row;
    }),
  );
}
