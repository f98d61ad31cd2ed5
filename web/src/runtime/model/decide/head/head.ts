// A decision checkpoint's head in memory: what it is planned from, how it is loaded, and the scores of options.
import type { Heap } from "../../../../core/memory/heap.js";
import type { QuantizeFormat } from "../../../../core/quantize/quantize_formats.js";
import type { ModelFiles, ReadOptions } from "../../../files/model_files.js";
import { WholeTextsCore } from "../../embed/whole_texts.js";
import { type ModelPlan, planOf } from "../../plan/model_plan.js";
import { type AdaptersInUse, NO_ADAPTERS } from "../../run/adapters_in_use.js";
import { ModelCore } from "../../run/model_core.js";
import { mapWeights } from "../../weights/map_weights.js";
import { quantizeWeights } from "../../weights/quantize.js";
import type { WeightMapping } from "../../weights/weight_mapping.js";
import { HEAD_ROW } from "./row.js";
import { type HeadSettings, headSettings } from "./settings.js";
import { splitFiles } from "./split_files.js";

/** What the files of a decision checkpoint say. @internal */
export interface PlannedHead {
  /** The files without the head. */
  readonly encoder: ModelFiles;
  readonly plan: ModelPlan;
  readonly mappings: readonly WeightMapping[];
  readonly settings: HeadSettings;
  /** Loads the weights of the head. On failure or abort, all memory is freed. */
  load(heap: Heap, useScalarKernels: boolean, options: ReadOptions): Promise<DecisionHead>;
}

/** @throws INVALID_FILE, UNSUPPORTED_MODEL (also: another kind of decision checkpoint) @internal */
export function planHead(files: ModelFiles, quantize: QuantizeFormat | undefined): PlannedHead {
  const { encoder, head } = splitFiles(files);
  const settings = headSettings(files);
  const plan = planOf(head, {}, undefined, HEAD_ROW);
  const stored = mapWeights(head, plan);
  const mappings = quantize === undefined ? stored : quantizeWeights(stored, quantize, plan.config);
  return {
    encoder,
    plan,
    mappings,
    settings,
    load: async (heap, useScalarKernels, options) =>
      // tensors have their names in the files
      new DecisionHead(files, settings, await ModelCore.load(heap, files, plan, mappings, useScalarKernels, options)),
  };
}

/** A prompt as the head scores it. @internal */
export interface MarkedTokens {
  readonly tokens: Int32Array;
  /** Places of the tokens whose scores are wanted, ascending. */
  readonly markers: readonly number[];
  /** The row of the type of its question. */
  readonly type: number;
}

/** @internal */
export class DecisionHead {
  readonly files: ModelFiles;
  readonly settings: HeadSettings;
  readonly #core: ModelCore;
  #texts: WholeTextsCore | undefined;
  #parts: WholeTextsCore | undefined;

  constructor(files: ModelFiles, settings: HeadSettings, core: ModelCore) {
    this.files = files;
    this.settings = settings;
    this.#core = core;
  }

  /**
   * The scores at the markers of each prompt. They don't depend on the other prompts.
   * @param encoder - the encoder of the same checkpoint, and its texts
   * @throws OUT_OF_MEMORY, DISPOSED
   */
  scores(
    encoder: { readonly core: ModelCore; readonly texts: WholeTextsCore },
    prompts: readonly MarkedTokens[],
    adapters: AdaptersInUse,
  ): number[][] {
    this.#core.checkAlive();
    const texts = (this.#texts ??= new WholeTextsCore(this.#core));
    const parts = (this.#parts ??= new WholeTextsCore(this.#core));
    encoder.texts.read(prompts, adapters);
    const rows = this.#core.heap.module.model_hidden(encoder.core.address);
    texts.read(
      prompts.map(({ tokens, type }) => ({ tokens: new Int32Array(tokens.length).fill(type) })),
      NO_ADAPTERS,
      rows,
    );
    // the rows from each marker to the next are a part, of which the first row is scored
    const starts = [0];
    let before = 0;
    for (const { tokens, markers } of prompts) {
      starts.push(...markers.map((marker) => before + marker));
      before += tokens.length;
    }
    parts.divide(starts.map((start, i) => (starts[i + 1] ?? before) - start));
    const all = [...texts.pooled(parts, starts.length, "cls", true, 1)].slice(1);
    let from = 0;
    return prompts.map(({ markers }) => all.slice(from, (from += markers.length)));
  }

  dispose(): void {
    this.#texts?.dispose();
    this.#parts?.dispose();
    this.#core.dispose();
  }
}
