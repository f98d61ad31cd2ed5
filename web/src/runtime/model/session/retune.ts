// session.retune(): another RoPE for a kind of layers.
import * as advise from "../../../core/base/advice.js";
import { isDict } from "../../../core/base/dict.js";
import { codeIn } from "../../../core/base/checks.js";
import { fail } from "../../../core/base/errors.js";
import { checkOptions } from "../../../core/base/options.js";
import type { RopeOverrides } from "../../../core/config/overrides.js";
import { inOption, overrideRopeConfig } from "../../../core/config/rope_config.js";
import { checkContext, RETUNE_OPTIONS, type RetuneSessionOptions, type SessionRope } from "./options.js";
import type { SessionText } from "./text.js";

const LAYER_KINDS = ["full_attention", "sliding_attention"] as const;

/** Checks the arguments of Session.retune(), and returns what makes the change. @internal */
export function retuning(
  text: SessionText,
  given: SessionRope | undefined,
  options?: RetuneSessionOptions,
): () => void {
  if (isDict(given) && "rope" in given) {
    const { rope, ...rest } = given;
    return retuning(text, rope as RopeOverrides, { ...rest, ...options });
  }
  const rope = given as RopeOverrides | undefined;
  if (rope === undefined) fail("INVALID_ARGUMENT", "rope", "is missing", advise.other("pass what changes, or {}"));
  const { kind = "full_attention", contextLength: wanted } = checkOptions(options, RETUNE_OPTIONS);
  const contextLength = checkContext(wanted ?? text.contextLength, text.core.plan.config);
  const group = text.ropes.groupOf(LAYER_KINDS[codeIn(LAYER_KINDS, kind, "kind")]!);
  if (text.ropes.main === null) return fail("INVALID_ARGUMENT", "rope", "can't be used: this model has no RoPE");
  if (group === undefined)
    return fail("INVALID_ARGUMENT", "kind", `no ${kind} layer of this model has a RoPE of its own`);
  const changed = inOption("rope", rope, () => overrideRopeConfig(text.ropes.requested[group]!, rope));
  return () => {
    if (changed.position_map && text.freshCache().keys === "rotated")
      fail(
        "INVALID_ARGUMENT",
        "rope.position_map",
        "needs raw keys, and this session's are rotated",
        advise.load({ option: "kv.keys", value: '"raw"' }),
      );
    if (contextLength < text.length) {
      const problem = `must be at least ${text.length}, the number of tokens (got ${contextLength})`;
      fail("INVALID_ARGUMENT", "contextLength", problem, advise.shorten());
    }
    inOption("rope", rope, () => text.retune(group, changed));
    text.contextLength = contextLength;
  };
}
