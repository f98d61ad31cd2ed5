// Draws charts of Observable Plot into figures.
import * as Plot from "@observablehq/plot";
import { find } from "./elements.js";

export { Plot };

/** Width of a figure's chart in CSS pixels. A caption in the margin isn't part of it. */
export function widthOf(figure: HTMLElement): number {
  return Math.max(280, Math.floor(find(".chart", figure).clientWidth));
}

/** Ticks of an axis of pairs: each pair of a small head, so that no tick is between two pairs. */
export function pairTicks(pairs: number): { ticks: number | number[] } {
  return { ticks: pairs > 10 ? 8 : Array.from({ length: pairs }, (_, pair) => pair) };
}

/**
 * Replaces the chart of a figure. The figure has an element `.chart`, and a figcaption that says in words what the chart shows: that is what
 * screen readers read.
 *
 * @param options - of `Plot.plot`; width and style are the figure's
 */
export function drawChart(figure: HTMLElement, label: string, caption: string, options: Plot.PlotOptions): void {
  const draw = (): void => drawAtWidth(figure, label, options);
  drawings.set(figure, { width: widthOf(figure), draw });
  draw();
  find("figcaption", figure).textContent = caption;
}

/** How each figure was drawn last: it is drawn again when its width changes, for example when a phone is turned. */
const drawings = new WeakMap<Element, { width: number; draw: () => void }>();

// A ResizeObserver reports height changes too, and drawing changes the height: WebKit then raises an error now and then.
window.addEventListener("resize", () => {
  for (const figure of document.querySelectorAll<HTMLElement>("figure")) {
    const drawing = drawings.get(figure);
    if (drawing === undefined || figure.clientWidth === 0 || widthOf(figure) === drawing.width) continue;
    drawing.width = widthOf(figure);
    drawing.draw();
  }
});

function drawAtWidth(figure: HTMLElement, label: string, options: Plot.PlotOptions): void {
  const chart = Plot.plot({
    marginLeft: 48,
    marginBottom: 44,
    ...options,
    width: widthOf(figure),
    ariaLabel: label,
    style: {
      background: "none",
      color: "var(--ink)",
      fontFamily: "var(--text)",
      fontSize: "13px",
      ...(options.style as object | undefined),
    },
  });
  chart.setAttribute("role", "img");
  // Plot names groups of marks, which roles of SVG don't allow. The figcaption says what the chart shows.
  for (const mark of chart.querySelectorAll("g[aria-label]")) mark.removeAttribute("aria-label");
  find(".chart", figure).replaceChildren(chart);
}
