// The file of --session: what a command has read, for the next one whose text begins the same.
import { stat } from "node:fs/promises";
import { commonLength } from "../../../core/base/lists.js";
import { LONGEST_CONTEXT } from "../../../runtime/model/session/options.js";
import type { Model, Session, SessionOptions } from "../../../index.node.js";
import { withFieldNames } from "../../../core/base/field_names.js";

/**
 * The session in a file up to where the prompt differs, under the RoPE of the model; an empty one without a file, or if there is none yet.
 * @throws RopewalkError as `openSession()`, with the file as the field: so a file that isn't a session stays as it is.
 */
export async function openSession(
  model: Model,
  file: string | undefined,
  options: Pick<SessionOptions, "adapters">,
  prompt: Int32Array,
): Promise<Session> {
  if (file === undefined || (await stat(file).catch(() => undefined)) === undefined) return model.session(options);
  const { contextLength } = model.info;
  // the file may be longer than this context, of which --when-full extend has made a longer one
  const saved = await withFieldNames(
    () => file,
    () => model.openSession(file, { ...options, contextLength: LONGEST_CONTEXT, rope: "model" }),
  );
  try {
    saved.rewind(Math.min(commonLength(saved.tokens, prompt), contextLength));
    return saved.fork({ contextLength });
  } finally {
    saved.dispose();
  }
}

/** Writes the file. */
export async function keepSession(session: Session, file: string | undefined): Promise<void> {
  if (file !== undefined)
    await withFieldNames(
      () => "--session",
      () => session.keep(file),
    );
}
