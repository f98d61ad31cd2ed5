// Reads from a model's config which layers use sliding-window attention.
import type { ConfigKey, ConfigReader } from "./config_reader.js";

const WINDOW: ConfigKey = ["sliding_window", "attention.sliding_window"];
const LAYER_TYPES: ConfigKey = ["layer_types", "layer_types"];
const PATTERN: ConfigKey = ["sliding_window_pattern", "attention.sliding_window_pattern"];

/** Window of a layer in tokens; 0 for full attention. @internal */
export type WindowByLayer = (layer: number) => number;

/** Every layer has the window of the config, if there is one. @internal */
export function sameWindow(reader: ConfigReader): WindowByLayer {
  const window = reader.integer(WINDOW, 0, 0);
  return () => window;
}

/**
 * Which layers have a window, from the file: a type for each layer, a pattern of booleans or letters, or a period whose
 * last layer has full attention. If the file has none of these, `isSlidingByDefault` decides.
 * @internal
 */
export function slidingWindows(
  isSlidingByDefault: (layer: number, reader: ConfigReader) => boolean,
): (reader: ConfigReader) => WindowByLayer {
  return (reader) => {
    const window = reader.integer(WINDOW, 0, 0);
    const types = reader.list(LAYER_TYPES);
    const pattern = reader.find(PATTERN).value;
    const isSliding = (layer: number): boolean => {
      if (types !== undefined) return types[layer] === "sliding_attention";
      if (Array.isArray(pattern)) return Boolean(pattern[layer]);
      if (typeof pattern === "string") return pattern[layer % pattern.length] === "L"; // EXAONE: "LLLG"
      if (typeof pattern === "number" && pattern > 0) return (layer + 1) % pattern !== 0;
      return isSlidingByDefault(layer, reader);
    };
    return (layer) => (isSliding(layer) ? window : 0);
  };
}

/**
 * The window of an encoder's layer for the core. Configs count both sides: a token sees those at most half a window
 * away, that distance included.
 * @internal
 */
export function bothSides(window: number): number {
  return Math.floor(window / 2) + 1;
}
