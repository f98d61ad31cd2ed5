// SVG pictures that work on light and dark pages: their colors, and the card they are drawn on.

/** Background, border and text colors as `[light, dark]`. */
export const CARD = {
  card: ["#ffffff", "#0d1117"],
  edge: ["#d1d9e0", "#3d444d"],
  text: ["#1f2328", "#f0f6fc"],
  faint: ["#59636e", "#9198a1"],
};

/**
 * @param palette - `{ name: [light, dark] }`
 * @returns `color`, the light colors by name, for attributes of the drawing, and `darkRules`, CSS rules that replace them in dark mode.
 */
export function lightAndDark(palette) {
  const color = Object.fromEntries(Object.entries(palette).map(([name, [light]]) => [name, light]));
  const darkRules = Object.values(palette).map(
    ([light, dark]) => `[fill="${light}"]{fill:${dark}}[stroke="${light}"]{stroke:${dark}}`,
  );
  return { color, darkRules };
}

/**
 * A picture as SVG text: a drawing on a card, with a title and a description for screen readers.
 * @param picture - `{ width, height, title, about }`
 * @param inner - the drawing's markup.
 * @param palette - what {@link lightAndDark} returned.
 */
export function svgCard({ width, height, title, about }, inner, { color, darkRules }) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title about">`,
    `<title id="title">${title}</title><desc id="about">${about}</desc>`,
    `<style>text{white-space:pre}@media (prefers-color-scheme:dark){${darkRules.join("")}}</style>`,
    `<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8" fill="${color.card}" stroke="${color.edge}"/>`,
    `<g font-family="system-ui, sans-serif" font-size="13" text-anchor="middle" stroke-width="1">`,
    inner,
    "</g></svg>\n",
  ]
    .join("\n")
    .replace(/="[^"]*"/g, (attribute) =>
      attribute.replace(/\d+\.\d{3,}/g, (number) => String(Number(Number(number).toFixed(2)))),
    );
}
