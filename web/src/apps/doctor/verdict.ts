// The answer in plain words.
import { largestDistance } from "../../core/config/position_map.js";
import type { Finding, LayerGroup, Verdict } from "./diagnosis.js";
import type { Extension } from "./extend.js";
import { capital, type Facts, numberOf, shown, tokens } from "./facts.js";

/** Families whose positions are vectors of the checkpoint, one for each position. */
const LEARNED = ["gpt2", "gpt_neo", "gpt_bigcode", "opt"];
const LEARNED_ENCODERS = ["bert", "distilbert", "mpnet", "roberta", "xlm-roberta", "camembert"];
const ALIBI = ["bloom", "mpt", "refact", "jais", "jina-bert-v2"];
const RECURRENT = ["mamba", "mamba2", "falcon_mamba", "rwkv", "rwkv5", "rwkv6", "rwkv7", "rwkv6qwen2", "arwkv7"];

/** The verdict on a file that has no RoPE, or can't be read. */
export function verdictWithoutRope(facts: Facts, findings: readonly Finding[]): Verdict {
  const { family = "this model" } = facts;
  const fault = findings.find(({ severity }) => severity === "error");
  const reason = findings.find(({ code }) => code === "no-rope");
  const isEncoder = LEARNED_ENCODERS.includes(family);
  if (isEncoder || LEARNED.includes(family)) {
    const count = numberOf(facts, ["n_positions", "max_position_embeddings"], "context_length");
    const most = count === undefined ? "" : `, one vector for each of its ${tokens(count)} positions`;
    return {
      status: "cannot",
      text: `Can't: ${family} has learned positions${most}. No RoPE scaling applies; it ends there.${isEncoder ? " Split longer texts, or use an encoder with RoPE." : ""}`,
    };
  }
  if (ALIBI.includes(family))
    return {
      status: "cannot",
      text: `Can't: ${family} has ALiBi, a penalty by distance, and no RoPE. It needs no scaling, but forgets far tokens.`,
    };
  if (readsInOrder(facts))
    return nothingToScale(
      `${family} has recurrent layers, which read tokens in order, and no RoPE. No length is the last: what it can use of a long text depends on its training.`,
    );
  if (reason !== undefined)
    return nothingToScale(
      `${family} has no RoPE (${reason.field} ${reason.text.split(": this model has no RoPE")[0]}), so no key changes how it reads a longer text.`,
    );
  return fault?.code === "trained-length-missing"
    ? NO_LENGTH
    : { status: "unknown", text: `Can't tell: ${whyOf(fault)}.` };
}

/** Whether all layers of a file's family are recurrent. Its length is then a number without meaning. */
export function readsInOrder({ family = "" }: Facts): boolean {
  return RECURRENT.includes(family);
}

/** Why nothing can be said, in short: the finding has the details. */
function whyOf(fault: Finding | undefined): string {
  if (fault === undefined) return "the file has no layers with RoPE";
  if (fault.code === "unknown-family") return "the file doesn't name a model that is known";
  return `${fault.field} ${/^is (missing|required)/.test(fault.text) ? "is missing" : "has an error"}`;
}

const NO_LENGTH: Verdict = {
  status: "unknown",
  text: "Can't tell yet: the file doesn't say how many tokens the model was trained on.",
};

/** The lengths that a verdict compares. */
export interface Lengths {
  length: number;
  isRequested: boolean;
  trained: number | null;
  served: number | null;
}

/** The verdict on a model with RoPE. */
export function verdictOf(main: LayerGroup, extension: Extension | undefined, lengths: Lengths): Verdict {
  const { length, isRequested, trained, served } = lengths;
  if (served === null) return NO_LENGTH;
  const own = main.rope_type === "default" ? "" : ` with ${main.rope_type} scaling${fromTrained(trained, served)}`;
  if (length <= served) {
    const capped = extension?.changes ? `, once max_position_embeddings is raised to ${tokens(served)}` : "";
    const asked = isRequested ? `, you ask for ${tokens(length)}` : "";
    const none = isRequested ? "" : " You gave no length, so this is for all of it.";
    return { status: "fits", text: `Fits: made for ${tokens(served)} tokens${own}${asked}${capped}.${none}` };
  }
  const map = extension?.overrides?.position_map;
  if (map)
    return {
      status: "fits",
      text: `Fits with its position map in ${map.type === "dual_chunk" ? "Ropewalk and vLLM" : "Ropewalk"}: made for ${tokens(served)} tokens${own}, you ask for ${tokens(length)}, where distances are up to ${tokens(largestDistance(map, length))}.`,
    };
  const past = `made for ${tokens(served)} tokens${own}, you ask for ${tokens(length)}`;
  if (extension === undefined) {
    const isTensor = main.config.freq_factors !== undefined;
    const why = isTensor ? "the frequency factors in its tensor were" : `its ${main.rope_type} scaling was`;
    return {
      status: "cannot",
      text: `Not recommended: ${past}. ${capital(why)} chosen for that length, and no larger one is known to work. Use at most ${tokens(served)} tokens, or a model that is made for ${tokens(length)}. If you try it all the same, measure the loss at that length first.`,
    };
  }
  const { factor, rope_type } = extension.config.rope_scaling ?? {};
  const name = rope_type === "yarn" ? "YaRN" : (rope_type ?? "a scaling");
  const raised = main.rope_type === rope_type ? "a larger factor" : name;
  const dynamic = main.rope_type === "dynamic" ? " Only transformers and MLX follow its dynamic scaling." : "";
  const far = length > 8 * served ? " That is far: measure the loss before you rely on it." : "";
  const original = trained ?? served;
  const counted = original === served ? "the trained length" : `the ${tokens(original)} that it is scaled from`;
  const before = main.rope_type === rope_type ? ` instead of ${shown(main.factor)}` : "";
  const text = `Needs ${raised}: ${past}. ${timesText(length / original)} ${counted}, so factor ${tokens(factor ?? 1)}${before}.${dynamic}${far}`;
  return { status: "needs_scaling", text };
}

function timesText(times: number): string {
  if (times < 1.01) return "Slightly more than";
  return `${times < 100 ? shown(Number(times.toPrecision(3))) : tokens(Math.round(times))} times`;
}

function fromTrained(trained: number | null, served: number): string {
  return trained === null || trained === served ? "" : ` from ${tokens(trained)}`;
}

/** A verdict on a model that needs no scaling. */
function nothingToScale(reason: string): Verdict {
  return { status: "fits", text: `Nothing to scale: ${reason}` };
}
