// Describes each group of layers: those with the same RoPE and the same window.
import { isArray } from "../../core/base/typed_arrays.js";
import type { Ropewalk } from "../../runtime/ropewalk/ropewalk.js";
import { type ConfigRopes, type LayerRope, layerWindows } from "../../runtime/model/plan/config_ropes.js";
import type { LayerGroup } from "./diagnosis.js";
import { type Facts, numberOf, valueOf } from "./facts.js";
import { servedLength } from "./lengths.js";

/** The groups of layers, described at a length. */
export function layerGroups(rw: Ropewalk, facts: Facts, ropes: ConfigRopes, length: number): LayerGroup[] {
  const windows = windowsOf(facts, layersOf(ropes));
  return ropes.ropes.flatMap((rope) => splitByWindow(rope, windows).map((group) => describeGroup(rw, group, length)));
}

/** Number of layers; 0 if the file doesn't say. */
export const layersOf = ({ ropes, layersWithoutRope }: ConfigRopes): number =>
  ropes.reduce((sum, { layers }) => sum + layers.length, layersWithoutRope.length);

/** Tokens that each layer sees, or that its chunk has, 0 for all; empty if the file doesn't say. */
export function windowsOf(facts: Facts, count: number): number[] {
  const known = layerWindows(facts.source, count);
  if (known.length > 0) return known;
  const window = numberOf(facts, ["sliding_window", "attention_window_size"], "attention.sliding_window");
  const types = valueOf(facts, "layer_types");
  if (isArray(types) && types.length === count)
    return types.map((type) => (type === "sliding_attention" || type === "chunked_attention" ? (window ?? 0) : 0));
  const pattern = valueOf(facts, [], "attention.sliding_window_pattern");
  if (window !== undefined && isArray(pattern))
    return Array.from({ length: count }, (_, i) => (pattern[i] ? window : 0));
  const hasNone = window === undefined || window === 0 || valueOf(facts, "use_sliding_window") === false;
  return hasNone ? Array.from({ length: count }, () => 0) : [];
}

function splitByWindow(rope: LayerRope, windows: readonly number[]): LayerRope[] {
  const own = [...new Set(rope.layers.map((layer) => windows[layer]))];
  if (rope.window !== undefined || own.length === 0 || own.includes(undefined)) return [rope];
  return own.map((window) => ({
    ...rope,
    layers: rope.layers.filter((layer) => windows[layer] === window),
    window: window!,
  }));
}

function describeGroup(rw: Ropewalk, { kind, rope, layers, window }: LayerRope, length: number): LayerGroup {
  const { plan, window: trained, factor, counts, pairs } = rw.describe(rope, length);
  const wavelengths = pairs.map(({ wavelength }) => wavelength).filter(Number.isFinite);
  return {
    kind: kind ?? null,
    layers: [...layers],
    window: window ?? null,
    pairing: rope.pairing,
    base: rope.rope_theta ?? 10000,
    head_dim: rope.head_dim,
    rotary_dim: plan.rotary_dim,
    rope_type: rope.rope_scaling?.rope_type ?? "default",
    trained,
    served: servedLength(rope),
    factor,
    attention_factor: plan.attention_factor,
    softmax_scale: plan.softmax_scale,
    pairs: { ...counts },
    wavelengths: [Math.min(...wavelengths, Infinity), wavelengths.length === 0 ? null : Math.max(...wavelengths)].map(
      (value) => (value === Infinity ? null : value),
    ) as [number, number | null],
    config: rope,
  };
}
