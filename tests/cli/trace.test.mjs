// `ropewalk trace`: files with what session.trace() returns.
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "ropewalk";
import { ropewalk, withFolder } from "./program.mjs";

const llama = fileURLToPath(new URL("../golden/tiny_models/llama/model.gguf", import.meta.url));
const bert = fileURLToPath(new URL("../golden/tiny_models/bert", import.meta.url));
const TEXT = "the dog runs over there";

async function traced(options) {
  const model = await (await load()).model(llama);
  try {
    return await model.session().trace(TEXT, options);
  } finally {
    model.dispose();
  }
}

/** The arrays of a .safetensors file, as f32. */
function readSafetensors(bytes) {
  const length = Number(bytes.readBigUInt64LE(0));
  const { __metadata__: metadata, ...header } = JSON.parse(bytes.subarray(8, 8 + length).toString());
  const arrays = Object.entries(header).map(
    ([
      name,
      {
        dtype,
        shape,
        data_offsets: [begin, end],
      },
    ]) => {
      const part = Uint8Array.from(bytes.subarray(8 + length + begin, 8 + length + end)).buffer;
      return [name, { shape, data: dtype === "I32" ? new Int32Array(part) : new Float32Array(part) }];
    },
  );
  return { metadata, arrays: Object.fromEntries(arrays) };
}

/** The array of a .npy file of f32. */
function readNpy(bytes) {
  const end = 10 + bytes.readUInt16LE(8);
  const [, shape] = /'shape': \(([^)]*)\)/.exec(bytes.subarray(10, end).toString());
  const data = new Float32Array(Uint8Array.from(bytes.subarray(end)).buffer);
  return {
    shape: shape
      .split(",")
      .filter((size) => size.trim() !== "")
      .map(Number),
    data,
  };
}

test("a .safetensors file has the arrays of session.trace() by their names", () =>
  withFolder(async (folder) => {
    const file = join(folder, "trace.safetensors");
    const what = ["attention", "hidden", "queries", "keys", "values", "logits"];
    const { stdout } = await ropewalk(["trace", llama, TEXT, "-o", file, "--what", what.join(","), "--json"]);
    const trace = await traced({ what });
    const { metadata, arrays } = readSafetensors(await readFile(file));
    assert.deepEqual(metadata, { text: TEXT, first: "0" });
    assert.deepEqual([...arrays.tokens.data], [...trace.tokens]);
    assert.deepEqual(arrays.logits, { shape: trace.logits.shape, data: trace.logits.data });
    for (const name of what.slice(0, -1))
      for (const [layer, { shape, data }] of Object.entries(trace[name]))
        assert.deepEqual(arrays[`${name}.${layer}`], { shape, data }, `${name}.${layer}`);
    const shown = JSON.parse(stdout);
    assert.deepEqual(shown.tokens, [...trace.tokens]);
    assert.deepEqual(shown.shapes["attention.1"], trace.attention[1].shape);
    assert.equal(Object.keys(shown.shapes).length + 1, Object.keys(arrays).length);
  }));

test("a .npy file has one kind, with several layers stacked", () =>
  withFolder(async (folder) => {
    const file = join(folder, "map.npy");
    const { stdout } = await ropewalk(["trace", llama, TEXT, "-o", file, "--what", "attention", "--heads", "1"]);
    const { attention } = await traced({ what: ["attention"], heads: [1] });
    const layers = Object.values(attention);
    assert.match(stdout, /map\.npy: \d+ tokens, f32\n {2}attention\.0 \[1, \d+, \d+\]\n/);
    const stack = readNpy(await readFile(file));
    assert.deepEqual(stack.shape, [layers.length, ...layers[0].shape]);
    assert.deepEqual(
      [...stack.data],
      layers.flatMap(({ data }) => [...data]),
    );

    const rows = ["--what", "logits", "--rows", "2"];
    await ropewalk(["trace", llama, "-", "-o", file, ...rows], { input: TEXT });
    const { logits } = await traced({ what: ["logits"], rows: 2 });
    const last = readNpy(await readFile(file));
    assert.deepEqual(last.shape, logits.shape);
    assert.deepEqual([...last.data], [...logits.data]);

    await ropewalk(["trace", llama, TEXT, "-o", file, "--what", "keys", "--layers", "1", "--theta", "500"]);
    assert.equal(readNpy(await readFile(file)).shape.length, 3);
  }));

test("errors name the option, and write nothing", () =>
  withFolder(async (folder) => {
    const copy = join(folder, "model.gguf");
    await writeFile(copy, await readFile(llama));
    const npy = join(folder, "out.npy");
    const cases = [
      [[llama, TEXT, "-o", join(folder, "out.txt")], "--output"],
      [[llama, TEXT, "-o", npy], "--what"],
      [[llama, TEXT, "-o", npy, "--what", "keyz"], undefined],
      [[llama, TEXT, "-o", npy, "--what", "keys", "--layers", "99"], "--layers"],
      [[llama, TEXT, "-o", npy, "--what", "attention", "--heads", "0,77"], "--heads"],
      [[llama, TEXT, "-o", npy, "--what", "keys", "--layers", "0-1"], undefined, /separated by commas/],
      [[llama, "", "-o", npy, "--what", "keys"], "text", /is empty/],
      [
        [bert, TEXT, "-o", npy, "--what", "hidden"],
        "model.safetensors",
        /only models that generate text can be traced/,
      ],
      [[llama, TEXT, "-o", npy, "--what", "keys", "--heads", "-1"], undefined],
      [[copy, TEXT, "-o", copy], "--output"],
      [[llama, TEXT], undefined],
    ];
    for (const [words, field, message = /./] of cases) {
      const { status, stdout, stderr } = await ropewalk(["trace", ...words, "--json"]);
      assert.ok(status > 0, words.join(" "));
      const { error } = JSON.parse(stdout || stderr);
      assert.match(error.message, message, words.join(" "));
      if (field !== undefined) assert.equal(error.field, field, words.join(" "));
      else assert.equal(error.code, "USAGE", words.join(" "));
    }
    assert.deepEqual(await readdir(folder), ["model.gguf"]);
  }));
