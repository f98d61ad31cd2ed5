// diagnose() of models with a position map, in the file or as an option, and the lines with one that it offers.
import assert from "node:assert/strict";
import test from "node:test";
import { ropeConfig } from "ropewalk";
import { diagnose } from "ropewalk/doctor";
import { diagnosed, qwen, qwenYarn, rw } from "./cases.mjs";

/** With the map of its 1M variant, made for a shorter window. */
const qwenChunked = { ...qwen, dual_chunk_attention_config: { chunk_size: 24576, local_size: 4096 } };

test("a position map that bounds distances makes a length fit, and only Ropewalk has lines for it", async () => {
  const positionMap = { type: "rerope", window: 16384 };
  const { verdict, recipe, findings } = await diagnosed(qwen, 100000, { positionMap });
  assert.deepEqual(verdict, {
    status: "fits",
    text: "Fits with its position map in Ropewalk: made for 32,768 tokens, you ask for 100,000, where distances are up to 16,384.",
  });
  assert.ok(!findings.some(({ code }) => code === "past-trained-length"));
  const [js, shell, ...others] = recipe.blocks;
  assert.deepEqual(others, []);
  assert.match(js.text, /"position_map": \{\s*"type": "rerope",\s*"window": 16384\s*\}/);
  assert.match(shell.text, /--context 100000 \\\n {2}--position-map rerope:16384/);
  assert.ok(js.checked.same && shell.checked.same);
  const noteOf = async (positionMap) =>
    (await diagnosed(qwen, 100000, { positionMap })).findings.find(({ code }) => code === "position-map");
  assert.match((await noteOf(positionMap)).text, /Other systems don't have it/);
  assert.match(
    (await noteOf({ type: "self_extend", group_size: 8, window: 16384 })).text,
    /llama\.cpp has a Self-Extend/,
  );
  const own = await diagnosed(qwenChunked, 100000);
  assert.match(own.verdict.text, /^Fits with its position map in Ropewalk and vLLM: .* distances are up to 24,576\.$/);
});

test("a decoder without a scaling gets lines with a position map beside YaRN's, and no other model does", async () => {
  const title = "Ropewalk, with a position map instead";
  const mapBlock = async (...given) =>
    (await diagnosed(...given)).recipe?.blocks.find((block) => block.title === title);
  const block = await mapBlock(qwen, 100000);
  assert.match(block.text, /"position_map": \{\s*"type": "rerope",\s*"window": 16384\s*\}/);
  assert.deepEqual(block.checked, { same: true, text: "checked: these lines keep all distances up to 16,384" });
  assert.equal(await mapBlock(qwen, 32768), undefined);
  assert.equal(await mapBlock(qwenYarn, 1000000), undefined);
  assert.equal(await mapBlock(qwenChunked, 100000), undefined);
});

test("a position map that leaves far distances doesn't, and null takes the file's away", async () => {
  const long = { type: "rerope", window: 40000 };
  assert.equal((await diagnosed(qwen, 100000, { positionMap: long })).verdict.status, "needs_scaling");
  const [note] = (await diagnosed(qwen, 100000, { positionMap: long })).findings.filter(
    ({ code }) => code === "position-map",
  );
  assert.match(note.text, /must stay below 32,768: choose numbers that fit, such as rerope:16384\./);
  assert.equal((await diagnosed(qwenChunked, 100000, { positionMap: null })).verdict.status, "needs_scaling");
  await assert.rejects(diagnose(rw, qwen, { positionMap: { type: "rerope" } }), /positionMap\.window: must be/);
});

test("a group size above the window is a warning", async () => {
  const swapped = { type: "self_extend", group_size: 4096, window: 8 };
  const { findings } = await diagnosed(qwen, 100000, { positionMap: swapped });
  const { severity, text } = findings.find(({ code }) => code === "position-map");
  assert.equal(severity, "warning");
  assert.match(text, /self_extend has a group_size of 4096, more than its window of 8: are they swapped\?$/i);
  const { warnings } = rw.describe(ropeConfig({ ...qwen, position_map: swapped }), 1000);
  assert.ok(warnings.some((warning) => warning.startsWith("self_extend has a group_size")));
});
