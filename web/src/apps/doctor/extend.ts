// Chooses a scaling for a length.
import type { RopeOverrides } from "../../core/config/overrides.js";
import { mapInWords, type PositionMap } from "../../core/config/position_map.js";
import { overrideRopeConfig } from "../../core/config/rope_config.js";
import type { RopeConfig } from "../../core/config/types.js";
import type { LayerGroup } from "./diagnosis.js";
import { tokens } from "./facts.js";
import { scaledLength, servedLength, serves } from "./lengths.js";

/** The configs that serve a length. */
export interface Extension {
  /** Whether they differ from the file's. */
  changes: boolean;
  summary: string;
  /** By group of layers. */
  configs: readonly Readonly<RopeConfig>[];
  /** That of the layers that see all tokens. */
  config: Readonly<RopeConfig>;
  /** For the layers that see all tokens; undefined if nothing changes. */
  overrides: RopeOverrides | undefined;
}

/** Types that a scaling can be added to: they have none of their own that would be lost, or all their keys carry over. */
const EXTENDABLE = ["default", "dynamic", "yarn", "ntk_by_parts"];

/**
 * The scaling that serves a length: none if the model or its position map does already, otherwise YaRN by the smallest whole factor. Undefined if
 * the model has a scaling that was trained for one length, such as longrope's lists or llama3's.
 */
export function extensionFor(groups: readonly LayerGroup[], main: LayerGroup, length: number): Extension | undefined {
  const { config } = main;
  const served = servedLength(config);
  if (served === null) return undefined;
  if (length > served && serves(config, length)) return byMap(groups, config, config.position_map!);
  const overrides = length <= served ? raisedLength(config) : yarnFor(config, length);
  if (overrides === undefined && length > served) return undefined;
  const configs = groups.map((group) =>
    overrides === undefined || isOtherKind(group, main) ? group.config : overrideRopeConfig(group.config, overrides),
  );
  const extended = configs[groups.indexOf(main)]!;
  const changes = overrides !== undefined;
  return { changes, summary: summaryOf(extended, changes), configs, config: extended, overrides };
}

/** A position map keeps all distances within the trained length. */
function byMap(groups: readonly LayerGroup[], config: Readonly<RopeConfig>, position_map: PositionMap): Extension {
  return {
    changes: true,
    summary: mapInWords(position_map),
    configs: groups.map((group) => group.config),
    config,
    overrides: { position_map },
  };
}

/** Sliding-window layers with a RoPE of their own never see far tokens, so they stay as they are. */
function isOtherKind(group: LayerGroup, main: LayerGroup): boolean {
  return group.kind !== main.kind;
}

/** A scaled model whose max_position_embeddings is still the trained length: systems refuse longer texts. */
function raisedLength(config: Readonly<RopeConfig>): RopeOverrides | undefined {
  const { max_position_embeddings: max } = config;
  const scaled = scaledLength(config);
  return max !== undefined && scaled !== null && max < scaled ? { max_position_embeddings: scaled } : undefined;
}

function yarnFor(config: Readonly<RopeConfig>, length: number): RopeOverrides | undefined {
  const { rope_scaling, max_position_embeddings: max, freq_factors } = config;
  const { rope_type = "default", original_max_position_embeddings } = rope_scaling ?? {};
  const original = original_max_position_embeddings ?? max;
  if (!EXTENDABLE.includes(rope_type) || freq_factors !== undefined || original === undefined) return undefined;
  const factor = Math.ceil(length / original);
  return {
    max_position_embeddings: factor * original,
    rope_scaling: {
      rope_type: rope_type === "ntk_by_parts" ? "ntk_by_parts" : "yarn",
      factor,
      original_max_position_embeddings: original,
      ...(rope_type === "dynamic" && { replace: true }),
    },
  };
}

function summaryOf({ rope_scaling, max_position_embeddings: max }: Readonly<RopeConfig>, changes: boolean): string {
  const { rope_type = "default", factor, original_max_position_embeddings: original } = rope_scaling ?? {};
  if (rope_type === "default") return max === undefined ? "no scaling" : `no scaling, up to ${tokens(max)} tokens`;
  const lengths =
    original === undefined || max === undefined ? "" : ` from ${tokens(original)} to ${tokens(max)} tokens`;
  return `${changes ? "" : "the file's own "}${rope_type}${factor === undefined ? "" : `, factor ${factor}`}${lengths}`;
}
