// `ropewalk perplexity`: several scalings, losses by position, and errors.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "ropewalk";
import { ropewalk, withFolder } from "./program.mjs";

const llama = fileURLToPath(new URL("../golden/tiny_models/llama", import.meta.url));
const text = Array.from({ length: 60 }, (_, i) => `the ${String.fromCharCode(97 + ((i * 7) % 26))}at`).join(", ");
const scalings = {
  own: {},
  none: { rope_scaling: null },
  "linear:4": { rope_scaling: { rope_type: "linear", factor: 4 } },
  "yarn:4": { rope_scaling: { rope_type: "yarn", factor: 4 } },
  "self_extend:4:16": { position_map: { type: "self_extend", group_size: 4, window: 16 } },
  "linear:4+dual_chunk:32:0": {
    rope_scaling: { rope_type: "linear", factor: 4 },
    position_map: { type: "dual_chunk", chunk_size: 32, local_size: 0 },
  },
};

const withText = (use) =>
  withFolder(async (folder) => {
    const path = join(folder, "text.txt");
    await writeFile(path, text);
    await use(path);
  });

/** Measures with the package, which loads the model once for each scaling. */
async function measured(options, rope, tokens = Infinity) {
  const rw = await load();
  const model = await rw.model(llama, { rope });
  try {
    return await model.perplexity(model.tokenizer.encode(text).slice(0, tokens), options);
  } finally {
    model.dispose();
  }
}

test("several scalings give the same as models opened with them", () =>
  withText(async (path) => {
    const { status, stdout } = await ropewalk([
      "perplexity",
      llama,
      path,
      "--window",
      "64",
      "--stride",
      "16",
      ...Object.keys(scalings).flatMap((name) => ["--scaling", name]),
      "--json",
    ]);
    const shown = JSON.parse(stdout);
    assert.deepEqual([status, shown.window, shown.stride], [0, 64, 16]);
    for (const [i, [name, rope]] of Object.entries(scalings).entries()) {
      const { perplexity, loss, losses } = await measured({ window: 64, stride: 16 }, rope);
      const result = shown.results[i];
      assert.deepEqual(
        [result.scaling, result.perplexity, result.loss, result.counted],
        [name, perplexity, loss, losses.length - 1],
      );
      assert.equal(result.rope.rope_scaling.rope_type, rope.rope_scaling?.rope_type ?? "default");
      assert.deepEqual(result.rope.position_map, rope.position_map);
    }
    assert.notEqual(shown.results[2].loss, shown.results[3].loss);
  }));

test("the table has the same numbers, with windows of the trained length and half of it as stride", () =>
  withText(async (path) => {
    const { status, stdout } = await ropewalk(["perplexity", llama, path, "--scaling", "own", "--scaling", "yarn:4"]);
    const [own, yarn] = [
      await measured({ window: 128, stride: 64 }),
      await measured({ window: 128, stride: 64 }, scalings["yarn:4"]),
    ];
    assert.match(stdout, /tokens, window 128, stride 64\n\nscaling +perplexity +loss \(nats\) +counted +speed +RoPE\n/);
    assert.match(
      stdout,
      new RegExp(`\\nown +${own.perplexity.toFixed(3)} +${own.loss.toFixed(4)} .* plain, base 1,000\n`),
    );
    assert.match(
      stdout,
      new RegExp(`\\nyarn:4 +${yarn.perplexity.toFixed(3)} +${yarn.loss.toFixed(4)} .* yarn, base 1,000, factor 4\n`),
    );
    assert.ok(!stdout.includes("\x1b"));
    assert.equal(status, 0);
  }));

test("by position: the mean loss over windows at each position", () =>
  withText(async (path) => {
    const { losses } = await measured({ window: 50, stride: 50 });
    const { byPosition } = JSON.parse(
      (await ropewalk(["perplexity", llama, path, "--window", "50", "--by-position", "--json"])).stdout,
    ).results[0];
    assert.equal(byPosition.loss[0], null); // the first token of a window is foreseen by nothing
    for (let position = 1; position < 50; position++) {
      const there = losses.filter((_, token) => token % 50 === position);
      const mean = there.reduce((sum, loss) => sum + loss, 0) / there.length;
      assert.ok(Math.abs(byPosition.loss[position] - mean) < 1e-12, `position ${position}`); // the same sum in another order
      assert.equal(byPosition.counted[position], there.length);
    }
  }));

test("by position with overlap: tokens after the first window count at its last positions", () =>
  withText(async (path) => {
    const { losses } = await measured({ window: 50, stride: 10 });
    const { byPosition, counted } = JSON.parse(
      (await ropewalk(["perplexity", llama, path, "--window", "50", "--stride", "10", "--by-position", "--json"]))
        .stdout,
    ).results[0];
    assert.equal(
      byPosition.counted.reduce((sum, count) => sum + count, 0),
      counted,
    );
    assert.deepEqual(byPosition.counted.slice(1, 40), Array(39).fill(1)); // seen by the first window only
    assert.equal(byPosition.loss[7], losses[7]);
    assert.ok(
      byPosition.counted
        .slice(40, 50)
        .every((count) => count === Math.floor(losses.length / 10) - 4 || count === Math.ceil(losses.length / 10) - 4),
    );
  }));

test("positions in the requested number of buckets", () =>
  withText(async (path) => {
    const { stdout } = await ropewalk(["perplexity", llama, path, "--window", "50", "--by-position", "4"]);
    const { losses } = await measured({ window: 50, stride: 50 });
    const inFirst = losses.filter((_, token) => token % 50 > 0 && token % 50 < 13);
    assert.match(
      stdout,
      new RegExp(
        `\\n0–12 +${(inFirst.reduce((sum, loss) => sum + loss, 0) / inFirst.length).toFixed(4)}\n13–25 +[\\d.]+\n26–38 +[\\d.]+\n39–49 +[\\d.]+\n$`,
      ),
    );
  }));

test("text from stdin, limited to its first tokens", async () => {
  const { stdout } = await ropewalk(["perplexity", llama, "-", "--tokens", "40", "--json"], { input: text });
  const shown = JSON.parse(stdout);
  assert.equal(shown.text.tokens, 40);
  assert.equal(shown.results[0].loss, (await measured({ window: 128, stride: 64 }, {}, 40)).loss);
});

test("RoPE options apply to all scalings", async () => {
  const { stdout } = await ropewalk(
    ["perplexity", llama, "-", "--theta", "500", "--scaling", "own", "--scaling", "linear:2", "--json"],
    { input: text },
  );
  const rope = { rope_theta: 500, rope_scaling: { rope_type: "linear", factor: 2 } };
  assert.deepEqual(
    JSON.parse(stdout).results.map(({ rope: { rope_theta } }) => rope_theta),
    [500, 500],
  );
  assert.equal(JSON.parse(stdout).results[1].loss, (await measured({ window: 128, stride: 64 }, rope)).loss);
});

test("--rope and --scaling read a file of config keys, and --position-map none is no map", () =>
  withFolder(async (folder) => {
    const [file, other] = [join(folder, "found.json"), join(folder, "list.json")];
    const rope = { rope_scaling: { rope_type: "linear", factor: 4 }, position_map: { type: "rerope", window: 16 } };
    await writeFile(file, JSON.stringify(rope));
    await writeFile(other, "[1]");
    const lossOf = async (...words) => {
      const { stdout, stderr, status } = await ropewalk(
        ["perplexity", llama, "-", "--window", "64", ...words, "--json"],
        {
          input: text,
        },
      );
      return status === 0 ? JSON.parse(stdout).results[0].loss : stdout + stderr;
    };
    const { loss } = await measured({ window: 64, stride: 32 }, rope);
    assert.equal(await lossOf("--rope", file), loss);
    assert.equal(await lossOf("--scaling", file), loss);
    const without = await measured({ window: 64, stride: 32 }, { rope_scaling: rope.rope_scaling });
    assert.equal(await lossOf("--rope", file, "--position-map", "none"), without.loss);
    assert.match(await lossOf("--rope", other), /argument '.*list\.json' is invalid\. It must contain a JSON object/);
    assert.match(await lossOf("--rope", join(folder, "none.json")), /is invalid\. No such file\./);
  }));

test("Ctrl-C aborts the measurement", async () => {
  const input = text.repeat(Math.ceil((1 << 20) / text.length));
  const running = ropewalk(["perplexity", llama, "-", "--tokens", "20000", "--stride", "1"], { input });
  await running.hasRead;
  assert.equal(
    await Promise.race([running, new Promise((resolve) => setTimeout(resolve, 1500, "at work"))]),
    "at work",
  );
  running.interrupt();
  const { status, stdout } = await running;
  assert.deepEqual([status, stdout], [130, ""]);
});

for (const [name, words, status, message] of [
  ["a missing text", ["nowhere.txt"], 1, /^error: nowhere\.txt: no such file \(INVALID_FILE\)/],
  ["a text of one token", ["-", "--tokens", "1"], 2, /argument '1' is invalid\. Must be an integer from 2 up/],
  ["an empty text", ["-"], 2, /^error: -: must have at least 2 tokens \(got 0\)/],
  [
    "a stride beyond the window",
    ["-", "--window", "10", "--stride", "11"],
    2,
    /^error: --stride: must be at most the window, 10 \(got 11\)/,
  ],
  [
    "a position map before a scaling",
    ["-", "--scaling", "rerope:4+yarn:4"],
    2,
    /--scaling.*Must be a scaling, or a scaling, a plus and a position map/,
  ],
  [
    "a position map without its numbers",
    ["-", "--position-map", "self_extend:4"],
    2,
    /--position-map.*Must be self_extend:group_size:window, for example self_extend:8:512/,
  ],
  [
    "a scaling that does not exist",
    ["-", "--scaling", "warp:4"],
    2,
    /argument 'warp:4' is invalid\. Must be own, none or type:factor/,
  ],
  ["a window of nothing", ["-", "--window", "0"], 2, /argument '0' is invalid/],
  ["too many texts", ["-", "other.txt"], 2, /^error: too many arguments/],
]) {
  test(`refused: ${name}`, async () => {
    const input = name === "an empty text" ? "" : text;
    const result = await ropewalk(["perplexity", llama, ...words], { input });
    assert.match(result.stderr, message);
    assert.deepEqual([result.status, result.stdout], [status, ""]);
    const asJson = await ropewalk(["perplexity", llama, ...words, "--json"], { input });
    assert.equal(asJson.status, status);
    assert.equal(typeof JSON.parse(asJson.stdout).error.message, "string");
  });
}
