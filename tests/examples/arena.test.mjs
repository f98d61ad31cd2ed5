// The arena: a short run that is interrupted and continued, and the committed results.
import assert from "node:assert/strict";
import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "ropewalk";
import { Cells, idOf } from "../../examples/arena/cells.mjs";
import { remarksOn } from "../../examples/arena/checks.mjs";
import { doctorTable, DOCTOR, PAGES, pageWith, picturesIn, readResults, RESULTS } from "../../examples/arena/docs.mjs";
import { english, some } from "../../examples/arena/languages.mjs";
import { judgeCellOf, measureCell } from "../../examples/arena/measure.mjs";
import { methods, ropeOf } from "../../examples/arena/methods.mjs";
import { optionsFrom } from "../../examples/arena/options.mjs";
import { known, modelNamed } from "../../examples/arena/models.mjs";
import { allCells, cellsOf, droppedTasks, FULL } from "../../examples/arena/plan.mjs";
import { openEntry, runArena } from "../../examples/arena/run.mjs";
import { Setup } from "../../examples/arena/reading.mjs";
import { randomNumbers } from "../../examples/random_numbers.mjs";
import { ropewalk } from "../cli/program.mjs";

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
      ({ model, method, task, multiple }) =>
        model === "small" && methods[method].weights === undefined && (task !== "passkey" || multiple < 8),
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

describe("fine-tunes", () => {
  const yarn = fileURLToPath(new URL("../../examples/small_model/yarn", import.meta.url));

  test("are read under the scaling of their training, and beyond its factor under that of the length too", async () => {
    const rw = await load({ build: "simd", threads: 1 });
    const entry = { ...(await openEntry(rw, "small-tuned", {})), fineTunes: { yarn } };
    const lossOf = async (model, method, multiple) => {
      const cell = { model: "small", weights: "f16", cache: "f16", method, multiple, task: "perplexity", seed: 0 };
      return (await measureCell(rw, model, cell)).result.loss;
    };
    const tuned = await openEntry(rw, "small-yarn", {});
    assert.equal(await lossOf(entry, "tuned_yarn", 1), await lossOf(tuned, "yarn", 1));
    assert.equal(await lossOf(entry, "grown_yarn", 8), await lossOf(tuned, "yarn", 8));
    assert.ok((await lossOf(entry, "tuned_yarn", 8)) > (await lossOf(entry, "grown_yarn", 8)));

    const plan = { ...FULL, ...entry.plan };
    const lengthsOf = (name) =>
      new Set(cellsOf(entry, plan, {}).flatMap(({ method, multiple }) => (method === name ? multiple : [])));
    assert.deepEqual([...lengthsOf("tuned_yarn")], [1, 2, 4, 8, 16]);
    assert.deepEqual([...lengthsOf("grown_yarn")], [8, 16]);
    const missing = { ...entry, fineTunes: { yarn: "no/such/folder" } };
    const only = { ...plan, methods: ["tuned_yarn"] };
    assert.throws(() => remarksOn(missing, only), /no\/such\/folder isn't here: python .*tune_all\.py yarn/);
  });

  test("aren't measured of the small model unless they are asked for", async () => {
    const { planOf } = await optionsFrom([]);
    const entry = await modelNamed("small");
    assert.ok(cellsOf(entry, planOf(entry), {}).every(({ method }) => methods[method].weights === undefined));
  });
});

describe("a model of one's own", () => {
  const small = fileURLToPath(new URL("../../examples/small_model/model.q8_0.gguf", import.meta.url));
  const run = fileURLToPath(new URL("../../examples/arena/run.mjs", import.meta.url));
  const arena = (...words) => ropewalk(words, { path: run });
  let out, rw;
  before(async () => {
    out = await mkdtemp(join(tmpdir(), "ropewalk-arena-"));
    rw = await load({ build: "simd", threads: 1 });
  });
  after(() => rm(out, { recursive: true, force: true }));

  test("is told apart by its weights, its trained length, its window and the text, not by its file's name", async () => {
    const nameOf = async (source, options) => (await openEntry(rw, source, options)).name;
    const other = join(out, basename(small));
    const weights = await readFile(small);
    for (let at = 1; at < 40_000; at += 11) weights[weights.length - at] ^= 1;
    await writeFile(other, weights);
    const options = [{}, { trained: 128 }, { lengths: [0.5] }, { prose: "a text" }, { prose: "another" }];
    const names = [await nameOf(other)];
    for (const one of options) names.push(await nameOf(small, one));
    assert.equal(new Set(names).size, 6, names.join());
    for (const name of names) assert.match(name, /^model\.q8_0\.gguf-[0-9a-f]{8}$/);
    assert.equal(await nameOf(small, {}), names[1]);
    // the recorded cells have names without digits
    assert.equal(await nameOf("small", { lengths: [2] }), "small");
    assert.match(await nameOf("small", { prose: "a text" }), /^small-[0-9a-f]{8}$/);
  });

  test("is measured with the caches that were named; a task that doesn't fit into its window is dropped", async () => {
    const words = [
      small,
      "--lengths",
      "1,2",
      "--methods",
      "none,yarn",
      "--tasks",
      "perplexity,multi_key",
      "--seeds",
      "1",
    ];
    const plain = await optionsFrom(words);
    assert.deepEqual(plain.planOf({ known: undefined }).caches, ["f16"]);
    const ofSmall = await optionsFrom(["small", ...words.slice(1)]);
    const planned = allCells(known.small, ofSmall.planOf(known.small));
    assert.ok(planned.every(({ cache, weights }) => cache === "f16" && weights === "f16"));
    const first = await arena(...words, "--caches", "f16,q4_0", "--out", out);
    assert.equal(first.status, 0, first.stderr);
    assert.match(first.stdout, /gguf: up to 1\d cells to measure, about .* on \d workers?\n/);
    assert.match(first.stdout, /doesn't fit into its window: multi-key needle \(needs \d+ tokens\)\.\n/);
    const [, page] = /: (\S+-[0-9a-f]{8}\.md)\n$/.exec(first.stdout);
    const report = await readFile(page, "utf8");
    for (const cache of ["f16", "q4_0"])
      assert.match(report, new RegExp(`\\| YaRN, weights as is, cache ${cache} \\|  \\| \\d\\.\\d{3} \\|`));
    assert.match((await arena(...words, "--caches", "f16,q4_0", "--out", out)).stdout, /: 0 cells in 0 s\n/);
  });

  test("wrong usage is one line, before anything is measured", async () => {
    const cases = [
      [["--lenght", "2"], /^error: Unknown option '--lenght': --help lists them all$/m],
      [["--seeds", "1.5"], /^error: --seeds must be a whole number above 0 \(got "1\.5"\)/],
      [["--workers", "0"], /^error: --workers must be a whole number/],
      [["--trained-length", "1,2"], /^error: --trained-length must be a whole number/],
      [["--lengths", "1,"], /^error: --lengths must be numbers above 0/],
      [["--methods", "none,toString"], /^error: --methods: "toString" isn't one of none, pi/],
      [["--methods", ""], /^error: --methods: "" isn't one of/],
      [["--tasks", "judge"], /^error: --tasks: "judge" isn't one of perplexity/],
      [["--quantize", "q9"], /^error: --quantize: "q9" isn't one of q8_0/],
      [["--methods", "searched"], /^error: .*: nothing to measure without searched, which is for small only/],
      [["--methods", "yarn", "--lengths", "1"], /without yarn, which changes nothing at these lengths/],
      [["--text", run], /^error: --text has \d+ tokens, and seed \d at \d+× needs \d+: use a longer text/],
    ];
    for (const [words, message] of cases) {
      const { status, stderr, stdout } = await arena(small, "--out", out, ...words);
      assert.match(stderr, message, words.join(" "));
      assert.deepEqual([status, stderr.split("\n").length, stdout], [2, 2, ""], words.join(" "));
    }
    assert.match((await arena("--help")).stdout, /^Measures ways past the trained window[^]*--trained-length N/);
  });

  test("Ctrl-C says what is kept, and the same command continues", async () => {
    const folder = join(out, "interrupted");
    const words = ["small", "--quick", "--methods", "none", "--workers", "1", "--out", folder];
    const { status, stderr } = await ropewalk(words, {
      path: run,
      until: (stdout) => stdout.includes("cells to measure"),
    });
    assert.equal(status, 130, stderr);
    assert.match(stderr, /interrupted: .*cells\.jsonl keeps \d+ cells; the same command continues/);
  });
});

test("cells of names with spaces are told apart", () => {
  const cell = { model: "a", weights: "as is", cache: "f16", method: "none", multiple: 1, task: "judge", seed: 0 };
  assert.notEqual(idOf(cell), idOf({ ...cell, weights: "as", cache: "is f16" }));
});

test("costs are written into a folder that is made first", async () => {
  const cost = fileURLToPath(new URL("../../examples/arena/cost.mjs", import.meta.url));
  const refused = await ropewalk(["--rounds", "0"], { path: cost });
  assert.deepEqual([refused.status, refused.stderr], [2, 'error: --rounds must be a whole number above 0 (got "0")\n']);
  const file = fileURLToPath(import.meta.url);
  const { status, stderr } = await ropewalk(["--out", join(file, "folder")], { path: cost });
  assert.equal(status, 1);
  assert.match(stderr, /^error: ENOTDIR/);
});

test("every method is an object of overrides, and needs a factor above 1 to change a model", () => {
  for (const [name, { label, isPlainAt1 }] of Object.entries(methods)) {
    assert.ok(label.length > 0);
    const rope = ropeOf(name, { multiple: 4, trained: 256 });
    if (rope === undefined) continue; // weights without RoPE
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
