// The arena: a short run that is interrupted and continued, and the committed results.
import assert from "node:assert/strict";
import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { load } from "ropewalk";
import { Cells, idOf } from "../../examples/arena/cells.mjs";
import { doctorTable, DOCTOR, PAGES, pageWith, picturesIn, readResults, RESULTS } from "../../examples/arena/docs.mjs";
import { english, some } from "../../examples/arena/languages.mjs";
import { judgeCellOf, measureCell } from "../../examples/arena/measure.mjs";
import { methods, ropeOf } from "../../examples/arena/methods.mjs";
import { droppedTasks } from "../../examples/arena/plan.mjs";
import { openEntry, runArena } from "../../examples/arena/run.mjs";
import { Setup } from "../../examples/arena/reading.mjs";
import { randomNumbers } from "../../examples/random_numbers.mjs";

describe("a short run", () => {
  let out;
  const plan = () => ({
    multiples: [2],
    short: [],
    seeds: 1,
    methods: ["none", "yarn"],
    tasks: ["multi_query", "variables", "perplexity"],
    caches: ["f16"],
    others: { multiples: [], methods: [], tasks: [] },
  });
  const run = () => runArena(["small"], plan, { out });
  const lines = async () => (await readFile(join(out, "cells.jsonl"), "utf8")).trimEnd().split("\n");

  before(async () => {
    out = await mkdtemp(join(tmpdir(), "ropewalk-arena-"));
    await run();
  });
  after(() => rm(out, { recursive: true, force: true }));

  test("drops the task that the model can't do in its window, and names it", async () => {
    const store = await Cells.open(join(out, "cells.jsonl"));
    assert.deepEqual(Object.keys(droppedTasks(store.all, { name: "small", inside: 1 })), ["variables"]);
    assert.ok(store.all.every(({ task, multiple }) => task !== "variables" || multiple === 1));
    const report = await readFile(join(out, "small.md"), "utf8");
    assert.match(report, /doesn't do 0\.98 of it inside its window: variable tracking \(0\.\d\d\)/);
    assert.match(report, /\| YaRN \| {2}\| \d\.\d\d \|/);
  });

  test("continues after an interruption: only what is missing is measured, with the same results", async () => {
    const whole = await lines();
    const path = join(out, "cells.jsonl");
    await rm(path);
    await appendFile(path, `${whole.slice(0, -1).join("\n")}\n{"model":"sma`);
    await run();
    assert.deepEqual(await lines(), whole);
  });
});

describe("a setup", () => {
  let rw, entry;
  before(async () => {
    rw = await load({ build: "simd", threads: 1 });
    entry = await openEntry(rw, "small", {});
  });

  test("knows the trained length", () => assert.equal(entry.trained, 256));

  test("a shifted window has the losses of a session that is shifted and read token by token", async () => {
    const setup = await Setup.open(rw, entry, { weights: "f16", cache: "f16", method: "streaming", multiple: 2 }, 512);
    const tokens = [...(await setup.model.tokenizer.encode("The red ball is in the garden. ".repeat(60)))].slice(
      0,
      400,
    );
    const losses = await setup.losses(tokens);
    const session = setup.session();
    for (const [at, token] of tokens.entries()) {
      if (at > 0) assert.ok(Math.abs(losses[at] + session.logprobOf(token)) < 1e-4, `token ${at}`);
      await setup.append(session, [token]);
    }
    session.dispose();
    setup.dispose();
  });
});

describe("the recorded cells", () => {
  let cells, cost;
  before(async () => ({ cells, cost } = await readResults()));

  test("give the tables of the docs, the pictures and the Doctor's numbers", async () => {
    for (const page of PAGES) {
      const text = await readFile(page, "utf8");
      assert.equal(text, pageWith(text, cells, cost));
    }
    assert.equal(await readFile(DOCTOR, "utf8"), doctorTable(cells));
    for (const [name, picture] of Object.entries(picturesIn(cells)))
      assert.equal(await readFile(join(RESULTS, name), "utf8"), picture);
  });

  // ROPEWALK_SEED repeats a drawing
  test("are what the package computes: three of them, drawn at random", async (context) => {
    const seed = Number(process.env.ROPEWALK_SEED ?? Date.now() % 1e6);
    context.diagnostic(`ROPEWALK_SEED=${seed}`);
    const random = randomNumbers(seed);
    const quick = cells.filter(
      ({ model, task, multiple }) => model === "small" && (task !== "passkey" || multiple < 8),
    );
    const rw = await load({ build: "simd", threads: 1 });
    const entry = await openEntry(rw, "small", {});
    for (const { result, ...cell } of some(quick, 3, random)) {
      const judge = judgeCellOf(cell, entry);
      const keys = cells.find((one) => idOf(one) === idOf(judge))?.result.keys;
      assert.deepEqual((await measureCell(rw, entry, cell, { keys })).result, result, idOf(cell));
    }
  });
});

test("every method is an object of overrides, and needs a factor above 1 to change a model", () => {
  for (const [name, { label, isPlainAt1 }] of Object.entries(methods)) {
    assert.ok(label.length > 0);
    const rope = ropeOf(name, { multiple: 4, trained: 256 });
    assert.ok(rope.max_position_embeddings >= 256); // a searched scaling has its own
    if (isPlainAt1 && name !== "none" && name !== "dynamic_ntk") {
      assert.equal(rope.rope_scaling.factor, 4, name);
      assert.equal(ropeOf(name, { multiple: 1, trained: 256 }).rope_scaling.factor, 1, name);
    }
  }
});

test("RULER's chain of variables names each of them once", () => {
  const { sentences, question } = english.chain(randomNumbers(5));
  assert.equal(sentences.length, 5);
  assert.equal(new Set(question.expected).size, 5);
  sentences.forEach((sentence, i) => assert.ok(sentence.startsWith(`VAR ${question.expected[i]} = `)));
  assert.ok(sentences[1].endsWith(`VAR ${question.expected[0]}.`));
});
