// Heat maps of right answers by depth and length, one panel for each method, as SVG for light and dark pages.
import { CARD, lightAndDark, svgCard } from "../light_and_dark.mjs";
import { methods } from "./methods.mjs";
import { byDepth, present } from "./summary.mjs";
import { tasks } from "./tasks.mjs";
import { DEPTHS } from "./tasks/needles.mjs";

const palette = lightAndDark(CARD);
const { color } = palette;
const [CELL_WIDTH, CELL_HEIGHT] = [36, 20];
const [LEFT, TOP, GAP] = [52, 84, 24];
/** Least width of a panel: its label's. */
const LABEL = 150;
const PER_ROW = 4;

/** From red over yellow to green, as the field draws it. The number in each cell says the same. */
const STOPS = [
  [215, 84, 72],
  [244, 211, 110],
  [96, 178, 112],
];

function shade(share) {
  const at = share * (STOPS.length - 1);
  const low = Math.min(Math.floor(at), STOPS.length - 2);
  const mixed = STOPS[low].map((from, i) => Math.round(from + (at - low) * (STOPS[low + 1][i] - from)));
  return `rgb(${mixed.join(",")})`;
}

const text = (x, y, content, more = "") => `<text x="${x}" y="${y}" fill="${color.text}" ${more}>${content}</text>`;

/**
 * @param cells - of one model, with default weights and an f16 cache.
 * @param task - a task that is measured by depth.
 * @param title - the model's.
 * @returns SVG text; undefined if nothing was measured.
 */
export function drawHeatMap(cells, task, { title, trained }) {
  const of = cells.filter((cell) => cell.task === task);
  if (of.length === 0) return undefined;
  const names = present(of, "method", Object.keys(methods));
  const multiples = present(of, "multiple");
  const [panelWidth, panelHeight] = [Math.max(LABEL, multiples.length * CELL_WIDTH), DEPTHS.length * CELL_HEIGHT];
  const perRow = Math.min(PER_ROW, names.length);
  const width = Math.max(700, LEFT + perRow * (panelWidth + GAP));
  const height = TOP + Math.ceil(names.length / perRow) * (panelHeight + 62);
  const panels = names.map((method, i) => {
    const [x, y] = [LEFT + (i % perRow) * (panelWidth + GAP), TOP + Math.floor(i / perRow) * (panelHeight + 62)];
    const columns = multiples.map((multiple, column) => {
      // at its trained length a scaling by 1 is none
      const shares = byDepth(of, { method, multiple }) ?? byDepth(of, { method: "none", multiple });
      const left = x + column * CELL_WIDTH;
      const squares = shares.map((share, row) => {
        const top = y + row * CELL_HEIGHT;
        const square = `<rect x="${left}" y="${top}" width="${CELL_WIDTH - 1}" height="${CELL_HEIGHT - 1}" fill="${shade(share)}"/>`;
        return `${square}<text x="${left + CELL_WIDTH / 2}" y="${top + 14}" font-size="11" fill="#161b22">${Math.round(100 * share)}</text>`;
      });
      return squares.join("") + text(left + CELL_WIDTH / 2, y + panelHeight + 15, `${multiple}×`, 'font-size="11"');
    });
    const rows =
      i % perRow > 0
        ? []
        : DEPTHS.map((depth, row) =>
            text(x - 6, y + row * CELL_HEIGHT + 14, `${100 * depth} %`, 'font-size="11" text-anchor="end"'),
          );
    return [text(x, y - 8, methods[method].label, 'text-anchor="start" font-weight="600"'), ...rows, ...columns].join(
      "",
    );
  });
  const name = `${tasks[task].label[0].toUpperCase()}${tasks[task].label.slice(1)}: ${title}`;
  const head = [
    text(16, 28, name, 'text-anchor="start" font-size="16" font-weight="600"'),
    `<text x="16" y="48" text-anchor="start" fill="${color.faint}">right answers in %, by depth of the fact (down) and length (across; 1× is ${trained} tokens)</text>`,
  ];
  const about =
    "One panel for each method: share of right answers by the depth of the fact and the length of the text.";
  return svgCard({ width, height, title: name, about }, [...head, ...panels].join("\n"), palette);
}
