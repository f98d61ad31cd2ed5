// Opening a kept session compared with reading its text again, by random models. Prints lines.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "../../../dist/index.node.js";
import { median } from "../measure.mjs";
import { modelFile } from "../models/model_file.mjs";

const [build] = process.argv.slice(2);
const [SHAPE, TYPE] = ["smollm2-135m", "q8_0"];
const ROUNDS = 3;
/** Tokens of a system prompt. */
const TOKENS = 2000;
const CACHES = ["f16", "q8_0", "q4_0"];

const rw = await load({ build, threads: 1 });
const { path } = await modelFile(SHAPE, TYPE);
const folder = await mkdtemp(join(tmpdir(), "ropewalk-bench-"));
const prompt = Int32Array.from({ length: TOKENS }, (_, i) => 300 + ((i * 7919) % 997));
const lines = [];
try {
  for (const dtype of CACHES) {
    const model = await rw.model(path, { contextLength: 2 * TOKENS, kv: { dtype } });
    const file = join(folder, dtype);
    const ratios = [];
    for (let round = 0; round < ROUNDS; round++) {
      const [read, readMs] = await timed(async () => {
        const session = model.session();
        await session.append(prompt);
        return session;
      });
      await read.keep(file);
      const [opened, openedMs] = await timed(() => model.openSession(file));
      for (const session of [read, opened]) await session.append([7]);
      if (String(read.logits()) !== String(opened.logits())) throw new Error("the sessions differ");
      for (const session of [read, opened]) session.dispose();
      ratios.push(readMs / openedMs);
    }
    lines.push({
      name: `${SHAPE} ${TYPE}, ${TOKENS} tokens in a cache of ${dtype}: opening, times reading`,
      value: median(ratios),
      unit: "×",
      target: 10,
      better: "more",
    });
    model.dispose();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
console.log(JSON.stringify(lines));

async function timed(act) {
  const start = performance.now();
  const result = await act();
  return [result, performance.now() - start];
}
