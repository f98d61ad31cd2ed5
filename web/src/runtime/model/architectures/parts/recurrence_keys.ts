// What rows of models with recurrent layers read alike: sizes, and which layers are recurrent.
import { show } from "../../../../core/base/show.js";
import type { ConfigKey, ConfigReader } from "../../config/config_reader.js";
import { MAX_WIDTH } from "../../config/limits.js";
import type { LayerShape } from "./architecture.js";
import { LAYER_TYPES } from "./common.js";

/** A size of recurrent layers. @internal */
export function size(reader: ConfigReader, key: ConfigKey, fallback?: number): number {
  return reader.integer(key, fallback, 1, MAX_WIDTH);
}

/**
 * Requires the activation that recurrent layers have in the core. Feed-forward blocks may have others, under the same key or another.
 * @internal
 */
export function requireSilu(key: string) {
  return (reader: ConfigReader): void => {
    const { value = "silu", path } = reader.find([key, ""]);
    if (!reader.isGguf && value !== "silu" && value !== "swish")
      reader.refuse(
        "UNSUPPORTED_MODEL",
        path,
        `must be "silu", the activation of recurrent layers in this package (got ${show(value)})`,
      );
  };
}

/** Layers that config.json names in `layer_types`. In GGUF, those without heads of keys, or those of a list. @internal */
export function layersOf(
  names: string,
  recurrence: Exclude<LayerShape["recurrence"], undefined>,
  byDefault: (reader: ConfigReader) => (layer: number) => boolean,
) {
  return (reader: ConfigReader): ((layer: number) => LayerShape) => {
    const kinds = reader.list([LAYER_TYPES, "attention.head_count_kv"]);
    const isRecurrent =
      kinds === undefined
        ? byDefault(reader)
        : (layer: number): boolean =>
            reader.isGguf ? kinds[layer] === 0 : names.split(" ").includes(String(kinds[layer]));
    return (layer) => (isRecurrent(layer) ? { recurrence } : {});
  };
}
