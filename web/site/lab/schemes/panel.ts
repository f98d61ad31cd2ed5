// Panel 8: which tokens a query attends to under each position scheme, with windows and sinks, and what that takes in memory.
import { drawChart, Plot } from "../../page/chart.js";
import { changeTo, choiceIn, controlOf, numberIn, showOutputs } from "../../page/controls.js";
import { scaleOf } from "../../page/drag.js";
import { find, shown, withText } from "../../page/elements.js";
import { percentText } from "../../page/units.js";
import type { Mount } from "../panel.js";
import { memoryChart } from "./memory.js";
import { type Scheme, SCHEMES, TOKENS, weigher } from "./weights.js";
import "./panel.css";

interface Weights {
  scheme: Scheme;
  /** [query][key] */
  weights: Float32Array;
}

const percent = (share: number): string => percentText(share, 3);

/** @see lab/schemes/panel.html */
export const mount: Mount = ({ section, form, rw, redraw }) => {
  const weigh = weigher(rw);
  const drawMemory = memoryChart(rw);
  const map = find("#schemes-map", section);
  dragQuery(map, form);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  return () => {
    const [query, window, sinkTokens] = ["query", "window", "sinks"].map((name) => numberIn(form, name)) as [
      number,
      number,
      number,
    ];
    const length = Math.round(2 ** numberIn(form, "length"));
    const all: Weights[] = SCHEMES.map((scheme) => ({
      scheme,
      weights: weigh(scheme, choiceIn(form, "tokens"), window, sinkTokens),
    }));
    showOutputs(form, {
      query: String(query),
      window: window < TOKENS ? `${window} tokens` : "all tokens",
      sinks: String(sinkTokens),
    });
    find("output[data-of=length]", section).textContent = shown(length, 8);
    const chosen = all.find(({ scheme }) => scheme.id === choiceIn(form, "scheme"))!;
    find("#schemes-about", section).textContent = chosen.scheme.about;
    drawMap(map, chosen, query);
    drawRows(find("#schemes-rows", section), all, query, chosen);
    fillTable(find("tbody", section), all, query);
    drawMemory(find("#schemes-memory", section), length);
  };
};

const rowOf = ({ weights }: Weights, query: number): Float32Array =>
  weights.subarray(query * TOKENS, (query + 1) * TOKENS);

/** Facts about one query: how many keys it sees, its largest weight, and the mean distance of its keys by weight. */
function factsOf(row: Float32Array, query: number) {
  const largest = row.indexOf(Math.max(...row));
  const sum = row.reduce((total, weight) => total + weight, 0); // linear attention with RoPE has other sums than 1
  return {
    seen: row.filter((weight) => weight !== 0).length,
    largest,
    weight: row[largest]!,
    own: row[query]!,
    distance: row.reduce((total, weight, key) => total + weight * (query - key), 0) / sum,
  };
}

/** Each row of cells goes up to the full color at its largest weight. */
function drawMap(figure: HTMLElement, chosen: Weights, query: number): void {
  const shares = Array.from({ length: TOKENS }, (_, row) => {
    const weights = rowOf(chosen, row);
    const most = Math.max(...weights);
    return Array.from(weights, (weight) => Math.max(0, weight / most));
  }).flat();
  const size = Math.min(Math.floor(figure.clientWidth), 440);
  const { seen, largest, weight } = factsOf(rowOf(chosen, query), query);
  drawChart(
    figure,
    `Attention weights, positions: ${chosen.scheme.name}`,
    `Positions: ${chosen.scheme.name}. Query ${query} attends to ${seen} ${seen === 1 ? "token" : "tokens"}. Its largest weight, ${percent(weight)}, is on token ${largest}.`,
    {
      height: size + 10,
      marginTop: 30,
      marginLeft: 40,
      marginRight: 10,
      x: { label: "key", domain: [0, TOKENS], ticks: 8 },
      y: { label: "query", domain: [TOKENS, 0], ticks: 8 },
      marks: [
        Plot.raster(shares, {
          width: TOKENS,
          height: TOKENS,
          x1: 0,
          y1: 0,
          x2: TOKENS,
          y2: TOKENS,
          // the image is drawn in a canvas, which doesn't know the page's variables
          fill: getComputedStyle(figure).getPropertyValue("--chosen").trim(),
          fillOpacity: { value: Plot.identity, scale: null },
          imageRendering: "pixelated",
        }),
        Plot.rect([query], {
          x1: 0,
          x2: TOKENS,
          y1: (at: number) => at,
          y2: (at: number) => at + 1,
          stroke: "var(--ink)",
          fill: "none",
        }),
      ],
    },
  );
}

/** The weights of one query, scheme below scheme, with a common scale. */
function drawRows(figure: HTMLElement, all: readonly Weights[], query: number, chosen: Weights): void {
  const points = all.flatMap((scheme) =>
    Array.from(rowOf(scheme, query).subarray(0, query + 1), (weight, key) => ({
      key: key + 0.5,
      weight,
      scheme: scheme.scheme.name,
    })),
  );
  const most = points.reduce((sofar, { weight }) => Math.max(sofar, weight), 0);
  const nearest = all
    .map((one) => ({ name: one.scheme.name, distance: factsOf(rowOf(one, query), query).distance }))
    .sort((a, b) => a.distance - b.distance);
  drawChart(
    figure,
    `The weights of query ${query} by position scheme`,
    `The weights of query ${query}. On average, it looks ${shown(nearest[0]!.distance, 3)} tokens back with ${nearest[0]!.name}, and ${shown(nearest.at(-1)!.distance, 3)} with ${nearest.at(-1)!.name}.`,
    {
      height: 56 * all.length + 60,
      marginLeft: 44,
      marginRight: 84,
      marginTop: 10,
      x: { label: "key", domain: [0, TOKENS], ticks: 8 },
      y: {
        label: null,
        domain: [Math.min(0, ...points.map(({ weight }) => weight)), most],
        ticks: 2,
        tickFormat: percent,
      },
      fy: { label: null, domain: all.map(({ scheme }) => scheme.name), padding: 0.15 },
      marks: [
        Plot.areaY(points, {
          x: "key",
          y: "weight",
          fy: "scheme",
          curve: "step",
          fill: ({ scheme }: { scheme: string }) =>
            scheme === chosen.scheme.name ? "var(--chosen)" : "var(--trained)",
          z: "scheme",
        }),
        Plot.ruleY([0], { stroke: "var(--line)" }),
      ],
    },
  );
}

function fillTable(body: HTMLElement, all: readonly Weights[], query: number): void {
  const rows = all.map((one) => {
    const { seen, own, largest, weight, distance } = factsOf(rowOf(one, query), query);
    const row = document.createElement("tr");
    row.dataset["scheme"] = one.scheme.id;
    const cells = [String(seen), percent(own), `${percent(weight)} on ${largest}`, shown(distance, 3)];
    row.append(
      Object.assign(withText("th", one.scheme.name), { scope: "row" }),
      ...cells.map((cell) => withText("td", cell)),
    );
    return row;
  });
  body.replaceChildren(...rows);
}

/** A click on a row of the map, or a mouse that is dragged over it, chooses its query. A finger scrolls the page. */
function dragQuery(figure: HTMLElement, form: HTMLFormElement): void {
  const chart = find(".chart", figure);
  const choose = ({ clientY }: MouseEvent): void => {
    const y = clientY - find("svg", chart).getBoundingClientRect().top;
    changeTo(controlOf(form, "query"), Math.floor(scaleOf(figure, "y").toValue(y)));
  };
  chart.addEventListener("click", choose);
  chart.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && event.buttons === 1) choose(event);
  });
}
