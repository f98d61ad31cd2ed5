// Asks the Worker that diagnoses.
import type { Diagnosis } from "ropewalk/doctor";
import type { Answer, Question } from "./diagnosis_worker.js";

const worker = new Worker(new URL("diagnosis_worker.ts", import.meta.url), { type: "module" });
let asked = 0;

/** Resolves with the answer; undefined if another question followed meanwhile. */
export function ask(
  question: Omit<Question, "id">,
): Promise<{ diagnosis: Diagnosis } | { problem: string } | undefined> {
  const id = ++asked;
  return new Promise((resolve) => {
    const hear = ({ data }: MessageEvent<Answer>): void => {
      if (data.id < id) return;
      worker.removeEventListener("message", hear);
      worker.removeEventListener("error", fail);
      resolve(data.id === id ? data : undefined);
    };
    const fail = (): void =>
      resolve({ problem: "The Doctor couldn't start in this browser. Load the page again, or use a newer browser." });
    worker.addEventListener("message", hear);
    worker.addEventListener("error", fail);
    worker.postMessage({ id, ...question } satisfies Question);
  });
}
