// Drawing with SVG elements, in pixels.

/** An SVG element with attributes and children; a child may be text. */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Makes a drawing as wide as it is shown and `height` tall, and returns the edges of what lies inside its margins. */
export function plotArea(drawing, height, { left, right, top, bottom }) {
  const width = drawing.clientWidth;
  drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
  drawing.setAttribute("height", height);
  return { left, right: width - right, top, bottom: height - bottom };
}

/** The lines, numbers and names of two axes. Ticks are [pixel, text]. */
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

/** A path through points of [x, y]. */
export function pathThrough(points) {
  return points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}
