// No command overwrites a file that it reads: files of a folder, other names of a file, and the file of stdin.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { program, ropewalk, withFolder } from "./program.mjs";

const models = fileURLToPath(new URL("../golden/tiny_models", import.meta.url));

/** The bytes of all files in a folder, by their paths. */
async function contentsOf(folder) {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  return Object.fromEntries(
    await Promise.all(
      files.map(async ({ parentPath, name }) => [
        join(parentPath, name),
        (await readFile(join(parentPath, name))).toString("base64"),
      ]),
    ),
  );
}

test("no command overwrites a file that it reads", () =>
  withFolder(async (folder) => {
    const model = join(folder, "model");
    await cp(join(models, "llama"), model, { recursive: true });
    await mkdir(join(model, "1_Pooling"));
    await writeFile(join(model, "1_Pooling", "model.safetensors"), "a module");
    const weights = join(model, "model.safetensors");
    const names = { "config.npy": "config.json", "t.safetensors": "tokenizer.json", "plot.svg": "config.json" };
    for (const [name, target] of Object.entries(names)) await symlink(join(model, target), join(folder, name));
    await symlink(weights, join(folder, "w.safetensors"));
    await symlink(weights, join(folder, "w.gguf"));
    await symlink(model, join(folder, "linked"));
    const before = await contentsOf(model);
    const traced = (source, output) => ["trace", source, "the", "--what", "logits", "-o", output];
    const cases = [
      traced(model, weights),
      traced(`${model}/`, weights),
      traced(join(folder, "linked"), weights),
      traced(model, join(folder, "linked", "model.safetensors")),
      traced(model, join(folder, "w.safetensors")),
      traced(model, join(folder, "t.safetensors")),
      traced(weights, join(folder, "config.npy")),
      traced(model, join(model, "1_Pooling", "model.safetensors")),
      ["table", model, "--length", "4", "-o", weights],
      ["table", join(model, "config.json"), "--length", "4", "-o", join(folder, "config.npy")],
      ["plot", "frequencies", model, "-o", join(folder, "plot.svg")],
      ["convert", "quantize", model, join(folder, "w.gguf"), "--to", "q8_0"],
    ];
    for (const words of cases) {
      const { status, stderr } = await ropewalk(words);
      assert.match(stderr, /^error: (--)?output: is an input file of this command/, words.join(" "));
      assert.equal(status, 2);
      assert.deepEqual(await contentsOf(model), before, words.join(" "));
    }
    // a file beside the model that isn't read, also for the second time
    for (let i = 0; i < 2; i++) {
      const { status, stderr } = await ropewalk(traced(model, join(model, "trace.safetensors")));
      assert.equal(status, 0, stderr);
    }
  }));

test("the parts of a split model are inputs too", () =>
  withFolder(async (folder) => {
    const whole = await readFile(join(models, "llama", "model.safetensors"));
    await cp(join(models, "llama"), folder, { recursive: true });
    const { __metadata__: _, ...tensors } = JSON.parse(
      whole.subarray(8, 8 + Number(whole.readBigUInt64LE(0))).toString(),
    );
    const part = join(folder, "weights.safetensors");
    await cp(join(folder, "model.safetensors"), part);
    const weightMap = Object.fromEntries(Object.keys(tensors).map((name) => [name, "weights.safetensors"]));
    const index = join(folder, "model.safetensors.index.json");
    await writeFile(index, JSON.stringify({ weight_map: weightMap }));
    const { status, stderr } = await ropewalk(["trace", index, "the", "-o", part]);
    assert.match(stderr, /--output: is an input file of this command/);
    assert.equal(status, 2);
    assert.deepEqual(await readFile(part), whole);
  }));

test("the file of stdin isn't overwritten", () =>
  withFolder(async (folder) => {
    const text = join(folder, "text.npy");
    await writeFile(text, "the cat");
    const input = openSync(text);
    try {
      const words = ["trace", join(models, "llama", "model.gguf"), "-", "--what", "logits", "-o", text];
      const { status, stderr } = spawnSync(process.execPath, [program, ...words], {
        stdio: [input, "pipe", "pipe"],
        encoding: "utf8",
      });
      assert.match(stderr, /--output: is an input file of this command/);
      assert.equal(status, 2);
    } finally {
      closeSync(input);
    }
    assert.equal(await readFile(text, "utf8"), "the cat");
  }));
