// Whether this package runs a model, from its config.json or GGUF metadata alone.
import type { Dict } from "../base/dict.js";
import { RopewalkError } from "../base/errors.js";
import { named } from "../files/errors.js";
import { findArchitecture, whyUnsupported } from "./architectures/table.js";
import { readerOf } from "./config_ropes.js";

/** Whether this package runs a model. */
export interface Support {
  /** The architecture as the file names it; null if the file doesn't name one. */
  readonly architecture: string | null;
  /** `generates` text, `embeds` texts as encoders do, or null if it doesn't run. */
  readonly runs: "generates" | "embeds" | null;
  /** The answer in a sentence. */
  readonly text: string;
}

/** @internal */
export function supportOf(source: Dict): Support {
  try {
    const reader = readerOf(source);
    const { architecture } = reader;
    const row = findArchitecture(reader);
    if (row === undefined)
      return { architecture, runs: null, text: `Ropewalk can't run it: ${whyUnsupported(reader)}.` };
    const isEncoder = row.encoder?.(reader) !== undefined;
    const text = `Ropewalk runs ${named(architecture)}${isEncoder ? ", an encoder: it embeds texts, and generates none" : ""}.`;
    return { architecture, runs: isEncoder ? "embeds" : "generates", text };
  } catch (error) {
    if (!(error instanceof RopewalkError)) throw error;
    return { architecture: null, runs: null, text: `Ropewalk can't run it: ${error.message}.` };
  }
}
