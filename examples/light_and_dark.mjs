// Colors of SVG pictures that must work on light and dark pages.

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
