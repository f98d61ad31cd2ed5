// Whether this package runs a model, from its config.json or GGUF metadata alone.
import type { Advised } from "../../../core/base/advice.js";
import type { Dict } from "../../../core/base/dict.js";
import { RopewalkError } from "../../../core/base/errors.js";
import { named } from "../../files/errors.js";
import { findArchitecture, whyUnsupported } from "../architectures/table.js";
import { readerOf } from "./config_ropes.js";
import { encoderOf } from "./encoder_of.js";
import { embedsByFile } from "./embedding_plan.js";

/** Whether this package runs a model. */
export interface Support {
  /** The architecture as the file names it; null if the file doesn't name one. */
  readonly architecture: string | null;
  /** `generates` text, `embeds` texts as encoders and embedding models do, or null if it doesn't run. */
  readonly runs: "generates" | "embeds" | null;
  /** Whether it is an encoder, whose tokens also see those after them. */
  readonly isEncoder: boolean;
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
      return { architecture, runs: null, isEncoder: false, text: textOf(...whyUnsupported(reader)) };
    const isEncoder = encoderOf(row, reader) !== undefined;
    const embeds = isEncoder || embedsByFile(reader);
    const kind = isEncoder
      ? ", an encoder: it embeds texts, and generates none"
      : embeds
        ? ". The file has a pooling, so it is an embedding model"
        : "";
    return {
      architecture,
      runs: embeds ? "embeds" : "generates",
      isEncoder,
      text: `Ropewalk runs ${named(architecture)}${kind}.`,
    };
  } catch (error) {
    if (!(error instanceof RopewalkError)) throw error;
    return { architecture: null, runs: null, isEncoder: false, text: `Ropewalk can't run it: ${error.message}.` };
  }
}

function textOf(problem: string, { words }: Partial<Advised>): string {
  return `Ropewalk can't run it: ${problem}${words === undefined ? "." : `; ${words}`}`;
}
