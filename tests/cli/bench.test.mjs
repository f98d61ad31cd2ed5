// `ropewalk bench` prints plausible results. Speed itself is measured by `npm run bench`.
import assert from "node:assert/strict";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { ropewalk } from "./program.mjs";

const llama = fileURLToPath(new URL("../golden/tiny_models/llama", import.meta.url));

function checkLines(lines, unit) {
  for (const line of lines) {
    assert.equal(line.unit, unit);
    assert.ok(
      line.min > 0 && line.min <= line.median && line.median <= line.max && Number.isFinite(line.max),
      JSON.stringify(line),
    );
  }
}

test("rotation only, as a table and as JSON", async () => {
  const { status, stdout } = await ropewalk(["bench", "--rounds", "3"]);
  assert.match(
    stdout,
    / build; \d+ threads?\n\n +median +min – max\n─.*\nrotation, 1 token of 32 heads of 128, f32 +[\d.,]+ +GB\/s +[\d.,]+ – [\d.,]+\n/,
  );
  assert.ok(!stdout.includes("\x1b") && !stdout.includes("tokens/s"));
  assert.equal(status, 0);
  const { machine, rounds, rotation, model } = JSON.parse(
    (await ropewalk(["bench", "--rounds", "2", "--build", "scalar", "--threads", "3", "--json"])).stdout,
  );
  assert.deepEqual(
    [machine.build, machine.threads, machine.node, rounds, rotation.length, model],
    ["scalar", 3, process.version, 2, 3, undefined],
  );
  checkLines(rotation, "GB/s");
});

test("a model: prompt, generation after a short and a long text, memory", async () => {
  const { status, stdout } = await ropewalk(["bench", llama, "--rounds", "2", "--json"]);
  const { model } = JSON.parse(stdout);
  assert.equal(status, 0);
  assert.deepEqual(
    model.lines.map(({ name }) => name),
    ["prompt of 512 tokens", "generation after 16 tokens", "generation after 512 tokens"],
  );
  checkLines(model.lines, "tokens/s");
  assert.ok(model.memory.weights > 0 && model.memory.wasm > model.memory.weights + model.memory.cache);
  const table = (await ropewalk(["bench", llama, "--rounds", "1"])).stdout;
  assert.match(
    table,
    /\ngeneration after 512 tokens +[\d.,]+ +tokens\/s +[\d.,]+ – [\d.,]+\n\nMemory: weights [\d.]+ KiB, KV cache of 528 tokens /,
  );
});

test("Ctrl-C ends it during rotation", async () => {
  const running = ropewalk(["bench", "--rounds", "1000000", "--json"]);
  let isOver = false;
  void running.then(() => (isOver = true));
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    running.interrupt(); // the first one may arrive before the program handles it
  }
  const { status, stdout } = await running;
  assert.ok(status === 130 || status === "SIGINT", `${status}`);
  if (status === 130) assert.equal(JSON.parse(stdout).error.code, "INTERRUPTED");
});

for (const [name, words, status, message] of [
  ["no rounds", ["--rounds", "0"], 2, /argument '0' is invalid\. Must be an integer from 1 up/],
  ["a build that does not exist", ["--build", "avx"], 2, /Allowed choices are auto, simd, relaxed, scalar/],
  ["no threads", ["--threads", "0"], 2, /argument '0' is invalid\. Must be "auto" or an integer from 1 to 32/],
  ["a missing model", ["nowhere.gguf", "--rounds", "1"], 1, /^error: nowhere\.gguf: /],
]) {
  test(`refused: ${name}`, async () => {
    const { stdout, stderr, ...rest } = await ropewalk(["bench", ...words]);
    assert.match(stderr, message);
    assert.deepEqual([rest.status, stdout], [status, ""]);
  });
}
