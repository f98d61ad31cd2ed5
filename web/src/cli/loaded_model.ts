import type { Model, ModelOptions, RopeConfig, Ropewalk, Session } from "../index.node.js";
import { bytesInWords } from "./model_text.js";
import { modelRopeFrom, type RopeFlags } from "./rope_options.js";
import { type Bar, type Terminal, withBar } from "./terminal.js";

/** What a model is opened with, as its command was told. */
export function modelOptions(flags: RopeFlags, contextLength: number | undefined, signal: AbortSignal): ModelOptions {
  const rope = modelRopeFrom(flags);
  return { signal, ...(contextLength !== undefined && { contextLength }), ...(rope !== undefined && { rope }) };
}

/** Loads a model under a bar, uses it and gives it back. */
export async function withModel<T>(
  terminal: Terminal,
  rw: Ropewalk,
  source: string,
  options: ModelOptions,
  use: (model: Model) => Promise<T>,
): Promise<T> {
  const loading = (update: Bar["update"]): Promise<Model> =>
    rw.model(source, {
      ...options,
      onProgress: ({ loaded, total, stage }) => stage === "weights" && update(loaded, total),
    });
  const model = await withBar(terminal, `Loading ${source}`, loading);
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

/** How many tokens a RoPE is for, by its factor or by what the model was trained for. */
export function reachOf(rope: Readonly<RopeConfig> | null, trainedLength: number): number {
  const { factor = 1, original_max_position_embeddings: original = trainedLength } = rope?.rope_scaling ?? {};
  return Math.max(trainedLength, Math.floor(factor * original));
}

/** Warns of a context that goes further than the RoPE in force. */
export function warnOfLength(terminal: Terminal, { rope, contextLength }: Session, { info }: Model): void {
  const reach = reachOf(rope, info.trainedLength);
  const follows = rope === null || rope.rope_scaling?.rope_type?.startsWith("dynamic");
  if (follows || contextLength <= reach) return;
  const factor = Math.ceil(contextLength / info.trainedLength);
  terminal.note(
    `warning: a context of ${contextLength} is beyond the ${reach} tokens that this RoPE is for; --rope-type yarn --factor ${factor} stretches it`,
  );
}

/** A model in a line. */
export function modelInALine({ info }: Model): string {
  const { name, architecture, parameters, formats, memory } = info;
  return `${name}: ${architecture}, ${parameters.toLocaleString("en")} weights as ${Object.keys(formats).join(", ")}, ${bytesInWords(memory.weights)}`;
}
