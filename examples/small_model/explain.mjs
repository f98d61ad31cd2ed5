// Measures YaRN and its relatives on the small model with one thing changed at a time, to explain their effect.
//
//   node examples/small_model/explain.mjs [FOLDER]     takes minutes; writes explanation.json and explanation.md to results/
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FULL, measure, rounded, written } from "./evaluate.mjs";
import { explanationOf } from "./tables.mjs";
import { TRAINED_LENGTH } from "./texts.mjs";
import { inWorkers } from "./workers.mjs";
import { runMain, UsageError } from "../../scripts/run.mjs";

const yarn = { rope_type: "yarn", original_max_position_embeddings: TRAINED_LENGTH };

/** Names, and the scaling as a function of the factor. */
const variants = [
  ["YaRN", (factor) => ({ ...yarn, factor })],
  ["without its attention factor", (factor) => ({ ...yarn, factor, attention_factor: 1 })],
  ...[16, 8, 4, 2].map((rotations) => [
    `kept from ${rotations} rotations up, not 32`,
    (factor) => ({ ...yarn, factor, beta_fast: rotations }),
  ]),
  [
    "kept from 8 rotations up, no attention factor",
    (factor) => ({ ...yarn, factor, beta_fast: 8, attention_factor: 1 }),
  ],
  ["PI with YaRN's attention factor", (factor) => ({ ...yarn, factor, extrapolation_factor: 0 })],
];
const STRETCHES = [4, 16];
const plan = { groups: FULL.groups, stretches: STRETCHES, tokens: FULL.tokens, beginnings: 0 };

await runMain(import.meta.url, async (args) => {
  const { positionals } = parseArgs({ args, allowPositionals: true });
  if (positionals.length > 1) throw new UsageError(`one folder at most (got "${positionals.join(" ")}")`);
  const folder = positionals[0] ?? import.meta.dirname;
  const cases = STRETCHES.toReversed().flatMap((stretch) =>
    variants.flatMap(([name, scaling]) =>
      Array.from({ length: plan.groups }, (_, group) => ({
        model: { folder },
        name,
        stretch,
        rope: { rope_scaling: scaling(stretch) },
        length: stretch * TRAINED_LENGTH,
        group,
      })),
    ),
  );
  const results = await inWorkers(cases, (rw, one) => measure(rw, plan, one));
  const measured = STRETCHES.flatMap((stretch) =>
    variants.map(([name]) => ({
      name,
      stretch,
      groups: results.filter((_, i) => cases[i].name === name && cases[i].stretch === stretch),
    })),
  );
  const explanation = rounded({ trainedLength: TRAINED_LENGTH, plan, measured });
  console.log(explanationOf(explanation));
  const out = join(import.meta.dirname, "results");
  await mkdir(out, { recursive: true });
  await writeFile(join(out, "explanation.json"), written(explanation));
  await writeFile(join(out, "explanation.md"), explanationOf(explanation));
});
