// Which layers of a model have a sliding window, and of how many tokens: the facts of an architecture that its row of the
// table has, and the code that reads a file by them. Sources: the config classes of transformers 5.24 (configuration_*.py,
// and where modeling_*.py makes its masks), and load_arch_hparams() of llama.cpp's models.
import { show } from "../../../../core/base/show.js";
import { LAYERS } from "./common.js";
import type { ConfigKey, ConfigReader } from "../../config/config_reader.js";

const TYPES: ConfigKey = ["layer_types", ""];
const GGUF_WINDOW: ConfigKey = ["", "attention.sliding_window"];
const GGUF_PATTERN: ConfigKey = ["", "attention.sliding_window_pattern"];

/** Window of a layer in tokens; 0 for full attention. @internal */
export type WindowByLayer = (layer: number) => number;

/** Which layers have the window. `hasWindow`: whether the file has one at all. @internal */
export type Slides = (reader: ConfigReader, hasWindow: boolean) => (layer: number) => boolean;

/** What a config class of transformers says. @internal */
export interface ClassWindows {
  /** The window of a config.json that has no `sliding_window`; null for none. */
  readonly tokens: number | null;
  /** Whether `sliding_window` counts only with `use_sliding_window: true`. */
  readonly needsSwitch?: boolean;
  /** Which layers have it, unless `layer_types` says so. */
  readonly slides: Slides;
  /** Whether the class doesn't read `layer_types`. */
  readonly ignoresTypes?: boolean;
  /** The kind of layers without attention that `layer_types` may have. */
  readonly others?: string;
  /** Whether the last layer has full attention, whatever the others have. */
  readonly lastIsFull?: boolean;
  /** Whether `sliding_window` is the distance of the farthest token that one sees, from 0. */
  readonly isDistance?: boolean;
}

/** What llama.cpp says. @internal */
export interface GgufWindows {
  /** The window of a file that has none; 0, for full attention, by default. */
  readonly tokens?: number;
  /** Which layers have it, unless `attention.sliding_window_pattern` says so. */
  readonly slides: Slides;
  /** Whether a period in that key starts with the layer of full attention. */
  readonly startsFull?: boolean;
}

/** Every layer, if the file has a window. @internal */
export const everyLayer: Slides = (_, hasWindow) => () => hasWindow;

/** All but the last of every `period` layers. @internal */
export const allButEvery =
  (period: number): Slides =>
  () =>
    allBut(period, false);

/** All but the first of every `period` layers. @internal */
export const allButFirstOf =
  (period: number): Slides =>
  () =>
    allBut(period, true);

/** As `allButEvery`, with the period of `sliding_window_pattern`, at least 1. @internal */
export const byPeriod =
  (byDefault: number): Slides =>
  (reader) =>
    allBut(reader.integer(["sliding_window_pattern", ""], byDefault, 1), false);

/** As `allButEvery`, with the period of `sliding_window_pattern`, a number or letters such as "LLLG". @internal */
export const byPattern =
  (byDefault: number): Slides =>
  (reader) => {
    const key: ConfigKey = ["sliding_window_pattern", ""];
    const { value } = reader.find(key);
    if (typeof value === "string" && value !== "") return (layer) => value[layer % value.length] === "L";
    return allBut(reader.integer(key, byDefault), false);
  };

/** Layers from `max_window_layers` on, if the file has a window. @internal */
export const fromLayer =
  (byDefault: number): Slides =>
  (reader, hasWindow) => {
    const first = reader.integer(["max_window_layers", ""], byDefault, 0);
    return (layer) => hasWindow && layer >= first;
  };

/** A period of 0 has no layer of full attention, and one of 1 no other. */
function allBut(period: number, startsFull: boolean): (layer: number) => boolean {
  if (period === 0) return () => true;
  return (layer) => layer % period !== (startsFull ? 0 : period - 1);
}

/** The window of each layer, by these facts. Without facts of a format, no layer of its files has one. @internal */
export function slidingWindows(config: ClassWindows | null, gguf?: GgufWindows) {
  return (reader: ConfigReader): WindowByLayer => {
    if (reader.isGguf) return gguf === undefined ? () => 0 : ggufWindows(reader, gguf);
    return config === null ? () => 0 : classWindows(reader, config);
  };
}

function classWindows(reader: ConfigReader, facts: ClassWindows): WindowByLayer {
  const window = windowOf(reader, facts);
  const types = facts.ignoresTypes === true ? undefined : reader.list(TYPES);
  const slides = types === undefined ? facts.slides(reader, window !== null) : typeIn(reader, types, facts.others);
  const last = facts.lastIsFull === true ? reader.integer(LAYERS) - 1 : -1;
  return (layer) => {
    if (layer === last || !slides(layer)) return 0;
    if (facts.isDistance === true && window !== null) return window + 1;
    // transformers makes the mask of such a layer from the window, and fails without
    if (window === null || window === 0)
      reader.refuse(
        "INVALID_FILE",
        "sliding_window",
        `must be a positive integer, because layer ${layer} has sliding-window attention (got ${show(window)})`,
      );
    return window;
  };
}

/** The window of a config.json, where null is no window, and not the default. */
function windowOf(reader: ConfigReader, { tokens, needsSwitch }: ClassWindows): number | null {
  if (needsSwitch === true && !reader.boolean(["use_sliding_window", ""], false)) return null;
  const key: ConfigKey = ["sliding_window", ""];
  if (reader.isNull(key) || (tokens === null && reader.find(key).value === undefined)) return null;
  return reader.integer(key, tokens ?? undefined, 0);
}

function typeIn(reader: ConfigReader, types: readonly unknown[], others?: string): (layer: number) => boolean {
  return (layer) => {
    const type = types[layer];
    if (type !== "sliding_attention" && type !== "full_attention" && (others === undefined || type !== others))
      reader.refuse(
        "INVALID_FILE",
        "layer_types",
        `must be ${others === undefined ? "" : `"${others}", `}"sliding_attention" or "full_attention" for layer ${layer} (got ${show(type)})`,
      );
    return type === "sliding_attention";
  };
}

function ggufWindows(reader: ConfigReader, facts: GgufWindows): WindowByLayer {
  const window = reader.integer(GGUF_WINDOW, facts.tokens ?? 0, 0);
  const slides = ggufSlides(reader, facts, window > 0);
  return (layer) => (slides(layer) ? window : 0);
}

/** Which layers of a GGUF file slide: by its list or period, or the facts. @internal */
export function ggufSlides(
  reader: ConfigReader,
  { slides, startsFull = false }: GgufWindows,
  hasWindow: boolean,
): (layer: number) => boolean {
  const listed = reader.list(GGUF_PATTERN);
  if (listed !== undefined) return (layer) => Boolean(listed[layer]);
  if (reader.find(GGUF_PATTERN).value === undefined) return slides(reader, hasWindow);
  return allBut(reader.integer(GGUF_PATTERN, undefined, 0), startsFull);
}

/**
 * The window of an encoder's layer for the core. Configs count both sides: a token sees those at most half a window
 * away, that distance included.
 * @internal
 */
export function bothSides(window: number): number {
  return Math.floor(window / 2) + 1;
}
