// A description as text for a terminal.
import { mapInWords } from "../config/position_map.js";
import type { Description, PairDescription } from "./description.js";
import { validLengths } from "./warnings.js";

/** Approximate number of rows of a long table, besides those where the treatment changes. */
const SHOWN_PAIRS = 16;

/** A description as text, for a terminal with 100 columns. @internal */
export function formatDescription(d: Description): string {
  const { plan, counts } = d;
  const lines = [
    `RoPE ${d.rope_type}, base ${number(d.config.rope_theta ?? 10000)}, ${plan.pairing} pairing, compat ${d.config.compat ?? "hf"}`,
    `  head_dim ${plan.head_dim}, rotated [${plan.rotary_offset}, ${plan.rotary_offset + plan.rotary_dim})${plan.axes > 1 ? `, ${plan.axes} position axes` : ""}`,
    `  at ${d.seqLen} positions${d.window === null ? "" : `, trained on ${d.window}`}, factor ${number(d.factor)}; plan for ${validLengths(plan)}`,
    `  attention factor ${number(plan.attention_factor)} (logits × ${number(plan.attention_factor ** 2)}), softmax scale ${number(plan.softmax_scale)}`,
  ];
  if (d.config.position_map)
    lines.push(`  ${mapInWords(d.config.position_map)}: distances up to ${d.largest_distance}`);
  if (plan.correction_range !== null) lines.push(`  ramp from ${plan.correction_range.map(number).join(" to ")}`);
  const treated = Object.entries(counts).filter(([, count]) => count > 0);
  lines.push(`  pairs: ${treated.map(([treatment, count]) => `${count} ${treatment}`).join(", ")}`);
  if (d.over_extrapolated !== null) {
    lines.push(
      `  over-extrapolated pairs: [${number(d.over_extrapolated.first)}, ${number(d.over_extrapolated.last)})`,
    );
  }
  const negative = d.first_negative_distance;
  lines.push(
    `  score of equal vectors: ${negative === null ? "above zero" : `first below zero at distance ${negative}`}, up to ${d.decay_limit}`,
  );
  lines.push("", "  pair     wavelength      rotations   kept  treatment");
  lines.push(...shownPairs(d.pairs).map(formatPair));
  if (d.warnings.length > 0) lines.push("", ...d.warnings.map((warning) => `  warning: ${warning}`));
  return lines.join("\n");
}

function formatPair({ pair, wavelength, rotations, kept_share, treatment }: PairDescription): string {
  const kept = Number.isNaN(kept_share) ? "" : kept_share.toFixed(3);
  const cells = [
    String(pair).padStart(6),
    number(wavelength).padStart(14),
    (Number.isNaN(rotations) ? "" : number(rotations)).padStart(14),
    kept.padStart(6),
  ];
  return `${cells.join(" ")}  ${treatment}`;
}

/** The first and last pairs, those next to a change of treatment, and every few pairs in between. */
function shownPairs(pairs: readonly PairDescription[]): PairDescription[] {
  const stride = Math.ceil(pairs.length / SHOWN_PAIRS);
  return pairs.filter(({ pair, treatment }) => {
    const changes = pairs[pair - 1]?.treatment !== treatment || pairs[pair + 1]?.treatment !== treatment;
    return changes || pair % stride === 0;
  });
}

function number(value: number): string {
  if (!Number.isFinite(value)) return value === Infinity ? "∞" : String(value);
  return String(Number(value.toPrecision(6)));
}
