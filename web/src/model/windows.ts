import type { Facts, Key } from "./facts.js";

const WINDOW: Key = ["sliding_window", "attention.sliding_window"];
const LAYER_TYPES: Key = ["layer_types", "layer_types"];
const PATTERN: Key = ["sliding_window_pattern", "attention.sliding_window_pattern"];

/** Tokens in sight of a layer, 0 for all. @internal */
export type WindowOf = (layer: number) => number;

/** Every layer has the window of the config, if that has one. @internal */
export function everyLayer(facts: Facts): WindowOf {
  const window = facts.integer(WINDOW, 0, 0);
  return () => window;
}

/**
 * Layers slide as the file says: a kind for each layer, a pattern, or a period whose last layer sees everything; where it says nothing, as `usual`
 * does.
 * @internal
 */
export function slidingLayers(usual: (layer: number, facts: Facts) => boolean): (facts: Facts) => WindowOf {
  return (facts) => {
    const window = facts.integer(WINDOW, 0, 0);
    const types = facts.list(LAYER_TYPES);
    const pattern = facts.at(PATTERN).value;
    const slides = (layer: number): boolean => {
      if (types !== undefined) return types[layer] === "sliding_attention";
      if (Array.isArray(pattern)) return Boolean(pattern[layer]);
      if (typeof pattern === "number" && pattern > 0) return (layer + 1) % pattern !== 0;
      return usual(layer, facts);
    };
    return (layer) => (slides(layer) ? window : 0);
  };
}
