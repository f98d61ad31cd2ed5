// How many questions the small example model answers right under each scaling, as recorded in examples/small_model/results/.
import type { WorkerModel } from "ropewalk/worker";

/** Parameters of the example model. */
const PARAMETERS = 1_126_528;

/** Texts that are this much longer or shorter than the recorded ones count as theirs. */
const TOLERANCE = 1.1;

/** Shares of right answers by scaling; undefined for another model, and for lengths that weren't recorded. */
export async function recordedRecall(
  info: WorkerModel["info"],
  length: number,
): Promise<ReadonlyMap<string, number> | undefined> {
  if (info.parameters !== PARAMETERS) return undefined;
  const { measured } = (await import("../../../examples/small_model/results/evaluation.json")).default;
  const rows = measured.filter(
    (row) => row.model === "trained" && row.length < length * TOLERANCE && length < row.length * TOLERANCE,
  );
  if (rows.length === 0) return undefined;
  return new Map(
    rows.map(({ scaling, groups }) => {
      const total = (key: "asked" | "right"): number =>
        groups.flatMap((group) => group[key]).reduce((sum, count) => sum + count, 0);
      return [scaling, total("right") / total("asked")];
    }),
  );
}
