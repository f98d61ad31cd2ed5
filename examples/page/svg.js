// Helpers for drawing with SVG elements in pixels.

/** Creates an SVG element with attributes and children. A child may be a string. */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Sizes a drawing to its width on the page and `height` pixels, and returns the edges inside the margins. */
export function plotArea(drawing, height, { left, right, top, bottom }) {
  const width = drawing.clientWidth;
  drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
  drawing.setAttribute("height", height);
  return { left, right: width - right, top, bottom: height - bottom };
}

/** Grid lines, tick labels and names of two axes. Ticks are `[pixel, text]`. */
export function axes({ left, right, top, bottom }, xTicks, yTicks, xName, yName) {
  return svg(
    "g",
    { class: "axes" },
    ...yTicks.map(([y, text]) =>
      svg(
        "g",
        {},
        svg("line", { x1: left, x2: right, y1: y, y2: y }),
        svg("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, text),
      ),
    ),
    ...xTicks.map(([x, text]) => svg("text", { x, y: bottom + 18, "text-anchor": "middle" }, text)),
    svg("text", { class: "name", x: right, y: bottom + 36, "text-anchor": "end" }, xName),
    svg("text", { class: "name", x: 0, y: top - 12 }, yName),
  );
}

/** The `d` attribute of a path through `[x, y]` points. */
export function pathThrough(points) {
  return points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}
