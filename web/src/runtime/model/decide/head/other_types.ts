// Decision checkpoints that this package doesn't run, by the names that llama.cpp gives them (common/common.cpp), and why.
import * as advise from "../../../../core/base/advice.js";
import { fail } from "../../../../core/base/errors.js";
import { show } from "../../../../core/base/show.js";
import { fieldOf, named } from "../../../files/errors.js";
import type { ModelFiles } from "../../../files/model_files.js";

/** The type that runs, and the architecture that it runs on. */
const [LAYA, ENCODER] = ["laya", "modern-bert"];

const LABELS = "it reads labels at the place of the answer in a prompt of its own";
const REASONS: Readonly<Record<string, string>> = {
  openjev: LABELS,
  lev: `${LABELS}, and yes or no from a scale of nine`,
  nimble: `${LABELS}, which lists all questions`,
  "pplx-decider": LABELS,
  "vllm-d3": `${LABELS}, with attention in both directions`,
  "lfm2-d1": `${LABELS}, where each label is a group of tokens`,
  "lfm3-d1": `${LABELS}, with attention in both directions`,
  "lfm3-d1-omni": `${LABELS}, with attention in both directions`,
  "granite-switch": `${LABELS}, with an adapter that a token switches on`,
  "h2o-lightning": `${LABELS}, after the beginning of an answer`,
  kev: "it compares hidden states of the options with that of the last token",
  clef: "it decides all questions together, with layers that read spans of the prompt",
  "vllm-decision2": "its head scores spans of the prompt",
  "lfm2-d1-omni": "its head reads LFM2 with attention in both directions",
  "openbmb-minicpm-ocr-jev": "it has a score for each of the classes that it was trained with (decision.labels)",
};

/** @throws UNSUPPORTED_MODEL, INVALID_FILE: the type is missing @internal */
export function refuseOtherTypes({ name, metadata }: ModelFiles, architecture: string): void {
  const key = `${architecture}.decision.type`;
  const type = metadata[key];
  if (typeof type !== "string")
    return fail("INVALID_FILE", fieldOf(name, key), `must name the kind of decision model (got ${show(type)})`);
  if (type === LAYA && architecture === ENCODER) return;
  const reason =
    type === LAYA ? `its encoder must be ${ENCODER}` : Object.hasOwn(REASONS, type) ? REASONS[type] : undefined;
  return fail(
    "UNSUPPORTED_MODEL",
    fieldOf(name, key),
    `decision model ${named(type)} is not supported${reason === undefined ? "" : `: ${reason}`}`,
    advise.other(`use a checkpoint of type ${LAYA}, such as Laya or Julia-1, or ask a chat model`),
  );
}
