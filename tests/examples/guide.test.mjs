// Runs the pages of docs/ that show commands: commands print what the page shows, and code prints the values it shows.
import assert from "node:assert/strict";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  assertPrinted,
  brokenLinks,
  commandsOf,
  isAsShown,
  read,
  root,
  runCommand,
  runProgram,
} from "./guide_page.mjs";

/** Pages, with the least number of commands and checked values that each has, so that none is lost unnoticed. */
const pages = {
  "docs/apps/position_maps.md": { commands: 2, checks: 2 },
  "docs/apps/scaling_search.md": { commands: 2, checks: 3 },
  "docs/command_line.md": { commands: 8, checks: 0 },
  "docs/doctor.md": { commands: 3, checks: 3 },
  "docs/background/errata.md": { commands: 1, checks: 19 },
  "docs/extend_context.md": { commands: 6, checks: 7 },
  "docs/gibberish.md": { commands: 8, checks: 2 },
  "docs/long_embeddings.md": { commands: 1, checks: 3 },
  "docs/recurrent_layers.md": { commands: 1, checks: 4 },
  "docs/run_a_model.md": { commands: 0, checks: 8 },
  "docs/which_rope.md": { commands: 5, checks: 14 },
};

const folder = join(root, "build", "texts");
const printedBy = new Map();

/** The lines that a command prints. One that several pages have runs once. */
function linesOf(command) {
  if (!printedBy.has(command)) printedBy.set(command, runCommand(command, folder));
  return printedBy.get(command);
}

for (const [name, least] of Object.entries(pages)) {
  describe(name, async () => {
    const page = await read(name);
    const commands = commandsOf(page);
    await mkdir(folder, { recursive: true });

    test("its code runs and prints the values it shows", async () => {
      const checks = await runProgram(name);
      assert.ok(checks >= least.checks, `${checks} checks`);
    });

    for (const { command, printed } of commands)
      test(command, async () => assertPrinted(await linesOf(command), printed));

    test("it has all its commands and stays short", () => {
      assert.ok(commands.length >= least.commands, `${commands.length} commands`);
      assert.ok(page.split("\n").length <= 170);
      for (const [i, line] of page.split("\n").entries())
        assert.ok(line.startsWith("|") || line.length <= 160, `line ${i + 1} has ${line.length} columns`);
    });
  });
}

test("each mistake in gibberish.md has a worse loss than its fix", async () => {
  const rows = {};
  for (const { command, printed } of commandsOf(await read("docs/gibberish.md"))) {
    const trial = /break_it\.mjs (\w+)/.exec(command)?.[1];
    if (trial !== undefined)
      rows[trial] = printed.slice(1).map((line) => Number(/(\d\.\d+) +\d+\.\d %$/.exec(line)[1]));
  }
  const { pairing, permuted, base, scaling, stale } = rows;
  assert.ok(pairing[0] < pairing[1]);
  assert.ok(permuted[1] < permuted[0]);
  assert.ok(base[0] < base[1] && base[0] < base[2]);
  assert.ok(scaling[0] < scaling[1] && scaling[0] < scaling[2]);
  assert.ok(stale[1] < stale[2]);
});

test("links lead to files and headings, and docs/README.md lists every page", async () => {
  const files = await readdir(join(root, "docs"), { recursive: true });
  const names = files.filter((name) => name.endsWith(".md") && !name.startsWith("api/")); // api/ is written by `npm run docs`
  for (const name of names) assert.deepEqual(await brokenLinks(`docs/${name}`), [], name);
  const contents = await read("docs/README.md");
  for (const name of names) assert.ok(name === "README.md" || contents.includes(`](${name})`), name);
});

test("the comparison of pages with output finds differences", () => {
  assert.ok(isAsShown("loss 0.981 nats", "loss 0.982 nats")); // differs by one in the last digit
  assert.ok(!isAsShown("loss 0.981 nats", "loss 0.983 nats"));
  assert.ok(!isAsShown("64 pairs", "63 pairs"));
  assert.ok(!isAsShown("loss 0.981 bits", "loss 0.981 nats"));
  assert.ok(isAsShown("a (1.5 ms)", "a (… ms)"));
  assertPrinted(["one", "two", "three", "four"], ["…", "two", "…", "four"]);
  assert.throws(() => assertPrinted(["one", "two", "three"], ["one", "three"]), /not printed: three/);
  assert.throws(() => assertPrinted(["one", "two"], ["one"]), /more lines/);
  assert.throws(() => assertPrinted(["one", "two"], ["…", "four"]), /not printed: four/);
});
