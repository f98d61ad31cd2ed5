// Models without RoPE: nothing to scale, but a length, memory, and lines to run them.
import { type ConfigRopes, recurrentLayers } from "../../runtime/model/plan/config_ropes.js";
import { supportOf } from "../../runtime/model/plan/support.js";
import type { Diagnosis, Finding, RecipeBlock } from "./diagnosis.js";
import { type Facts, numberOf, tokens } from "./facts.js";
import { cacheMemory } from "./memory.js";
import { draftBlocks } from "./recipe.js";
import { readsInOrder, verdictWithoutRope } from "./verdict.js";

const CHECKED = { same: true, text: "no RoPE, so nothing to check" } as const;

/**
 * What a file without RoPE says.
 * @param someLength - for a file that names no length
 */
export function describeWithoutRope(
  name: string,
  facts: Facts,
  ropes: ConfigRopes,
  findings: Finding[],
  { requested, someLength }: { requested: number | undefined; someLength: number },
): Partial<Diagnosis> {
  const { layersWithoutRope } = ropes;
  const recurrent = [...recurrentLayers(facts.source, layersWithoutRope.length).layers];
  const common = { findings, layersWithoutRope: [...layersWithoutRope], recurrentLayers: recurrent };
  const verdict = verdictWithoutRope(facts, findings);
  if (verdict.status === "cannot" || ropes.noRope === undefined) return { ...common, verdict };
  const trained =
    numberOf(facts, ["max_position_embeddings", "n_positions", "max_sequence_length"], "context_length") ?? null;
  const length = requested ?? trained ?? someLength;
  const { runs } = supportOf(facts.source);
  const memory = runs === "embeds" ? null : cacheMemory(facts, ropes, length);
  const order = {
    facts,
    name,
    groups: [],
    main: undefined,
    extension: undefined,
    length,
    scaling: {},
    runs,
    hasMemory: memory !== null && memory.bytesPerToken > 0,
  };
  const blocks: RecipeBlock[] = draftBlocks(order).map((draft) => ({ ...draft, checked: CHECKED }));
  return {
    ...common,
    length,
    trainedLength: trained,
    servedLength: trained,
    verdict: { ...verdict, text: `${verdict.text}${readsInOrder(facts) ? "" : lengthText(trained, requested)}` },
    memory,
    recipe: {
      summary: "nothing to scale",
      configs: [],
      blocks,
      note: facts.isGguf ? "For transformers and vLLM, open the model's config.json: they get lines of their own." : "",
    },
  };
}

function lengthText(trained: number | null, requested: number | undefined): string {
  if (trained === null) return "";
  const made = ` It is made for ${tokens(trained)} tokens`;
  if (requested === undefined) return `${made}.`;
  return requested <= trained
    ? `${made}, you ask for ${tokens(requested)}.`
    : `${made}, you ask for ${tokens(requested)}: no key changes how far it reads, so measure the loss at that length first.`;
}
