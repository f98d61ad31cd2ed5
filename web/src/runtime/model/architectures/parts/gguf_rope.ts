// Keys of a GGUF file's RoPE that contradict each other, and widths that a class can't rotate, which are refused by their names.
import { show } from "../../../../core/base/show.js";
import { familyOf } from "../../../../core/config/family_lookup.js";
import type { RopeConfig } from "../../../../core/config/types.js";
import type { ConfigKey, ConfigReader } from "../../config/config_reader.js";

/** What is known of a layer. */
interface RopeLayer {
  readonly rope: Readonly<RopeConfig> | null;
  readonly window: number;
}

/** Throws INVALID_FILE or UNSUPPORTED_MODEL. @internal */
export function checkGgufRope(reader: ConfigReader, layers: readonly RopeLayer[]): void {
  if (!reader.isGguf) return;
  for (const { rope } of layers) {
    const { mrope_section: sections } = rope?.rope_scaling ?? {};
    const half = (rope?.rotary_dim ?? rope?.head_dim ?? 0) / 2;
    if (sections !== undefined && sections.reduce((sum, count) => sum + count, 0) !== half)
      reader.refuse(
        "INVALID_FILE",
        reader.find(["", "rope.dimension_sections"]).path,
        `must sum to half of rope.dimension_count, ${half} (got ${show(sections)})`,
      );
  }
  refuseHalfScaling(reader, layers);
}

/** In transformers, some classes take one rotated element twice, and stop at other odd numbers. @internal */
export function checkEvenWidths(reader: ConfigReader, layers: readonly RopeLayer[]): void {
  const width = layers.find(({ rope }) => rope?.frequency_dim !== undefined)?.rope?.frequency_dim ?? 0;
  if (reader.isGguf || width % 2 === 0) return;
  const message = `of ${reader.architecture} must leave an even number of rotated elements (got ${width})`;
  reader.refuse("INVALID_FILE", "partial_rotary_factor", message);
}

/** Without a type, llama.cpp divides the frequencies of sliding layers by the factor, and no others. */
function refuseHalfScaling(reader: ConfigReader, layers: readonly RopeLayer[]): void {
  const key = (name: string): ConfigKey => ["", `rope.${name}`];
  const type = reader.find(key("scaling.type"));
  const factor = reader.number(key("scaling.factor"), reader.number(key("scale_linear"), 0)) || 1;
  const slides = layers.some(({ rope, window }) => rope !== null && window > 0);
  if (type.value !== "none" || factor === 1 || !slides) return;
  if (familyOf("gguf", reader.architecture, undefined).gguf_sliding === "same")
    reader.refuse("UNSUPPORTED_MODEL", type.path, `must not be none in a model with sliding windows and a factor`);
}
