// Diagnoses in a Worker, so that the page stays free. A new question ends the one before.
import { load, type ModelSource } from "ropewalk";
import { type Diagnosis, diagnose, type DiagnoseOptions } from "ropewalk/doctor";
import { problemText } from "../page/problem.js";

/** A question: what to diagnose, and how. */
export interface Question {
  readonly id: number;
  readonly source: ModelSource | Readonly<Record<string, unknown>>;
  /** What to call it in a message, if the reader didn't give it as a file. */
  readonly shownAs?: string;
  readonly options: Pick<DiagnoseOptions, "length" | "trainedLength">;
}

/** Its answer: the diagnosis, or why there is none. */
export type Answer = { readonly id: number } & ({ readonly diagnosis: Diagnosis } | { readonly problem: string });

let last: AbortController | undefined;

addEventListener("message", ({ data }: MessageEvent<Question>) => void answer(data));

async function answer({ id, source, shownAs, options }: Question): Promise<void> {
  last?.abort();
  const { signal } = (last = new AbortController());
  const reply = (answer: Answer): void => {
    if (!signal.aborted) postMessage(answer);
  };
  try {
    reply({ id, diagnosis: await diagnose(await load({ threads: 1 }), source, { ...options, signal }) });
  } catch (error) {
    reply({ id, problem: problemText(error, shownAs) });
  }
}
