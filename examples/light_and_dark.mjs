// Colours of pictures that are looked at on light pages and on dark ones.

/** The card of a picture, and the words on it: on a light page, on a dark one. */
export const CARD = {
  card: ["#ffffff", "#0d1117"],
  edge: ["#d1d9e0", "#3d444d"],
  text: ["#1f2328", "#f0f6fc"],
  faint: ["#59636e", "#9198a1"],
};

/**
 * @param palette - `{ name: [light, dark] }`
 * @returns `colour`, the light ones by name, which a drawing has as attributes; and `darkRules`, style rules that replace them.
 */
export function lightAndDark(palette) {
  const colour = Object.fromEntries(Object.entries(palette).map(([name, [light]]) => [name, light]));
  const darkRules = Object.values(palette).map(
    ([light, dark]) => `[fill="${light}"]{fill:${dark}}[stroke="${light}"]{stroke:${dark}}`,
  );
  return { colour, darkRules };
}
