// Loads a model for a command and describes it.
import type { Model, ModelOptions, RopeConfig, Ropewalk, Session } from "../index.node.js";
import { formatBytes } from "./format.js";
import type { QuantizeFlags } from "./quantize_option.js";
import { type RopeFlags, ropeOverridesFrom } from "./rope_options.js";
import { type ProgressBar, type Terminal, withProgress } from "./terminal.js";

/** Model options from the flags of a command. */
export function modelOptions(
  flags: RopeFlags & QuantizeFlags,
  contextLength: number | undefined,
  signal: AbortSignal,
): ModelOptions {
  const rope = ropeOverridesFrom(flags);
  const { quantize } = flags;
  return {
    signal,
    ...(contextLength !== undefined && { contextLength }),
    ...(rope !== undefined && { rope }),
    ...(quantize !== undefined && { quantize }),
  };
}

/** Loads a model with a progress bar, calls `use`, and disposes of the model. */
export async function withModel<T>(
  terminal: Terminal,
  rw: Ropewalk,
  source: string,
  options: ModelOptions,
  use: (model: Model) => Promise<T>,
): Promise<T> {
  const load = (update: ProgressBar["update"]): Promise<Model> =>
    rw.model(source, {
      ...options,
      onProgress: ({ loaded, total, stage }) => stage === "weights" && update(loaded, total),
    });
  const model = await withProgress(terminal, `Loading ${source}`, load);
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

/** Context length that a RoPE supports, by its factor or by the trained length. */
export function supportedLength(rope: Readonly<RopeConfig> | null, trainedLength: number): number {
  const { factor = 1, original_max_position_embeddings: original = trainedLength } = rope?.rope_scaling ?? {};
  return Math.max(trainedLength, Math.floor(factor * original));
}

/** Warns if the context is longer than the RoPE supports. */
export function warnAboutLength(terminal: Terminal, { rope, contextLength }: Session, { info }: Model): void {
  const supported = supportedLength(rope, info.trainedLength);
  const isUnlimited = rope === null || rope.rope_scaling?.rope_type?.startsWith("dynamic");
  if (isUnlimited || contextLength <= supported) return;
  const factor = Math.ceil(contextLength / info.trainedLength);
  terminal.note(
    `warning: a context of ${contextLength} tokens is longer than the ${supported} this RoPE supports; extend it with --rope-type yarn --factor ${factor}`,
  );
}

/** A model in a line. */
export function modelSummary({ info }: Model): string {
  const { name, architecture, parameters, loadedFormats, memory } = info;
  return `${name}: ${architecture}, ${parameters.toLocaleString("en")} weights as ${Object.keys(loadedFormats).join(", ")}, ${formatBytes(memory.weights)}`;
}
