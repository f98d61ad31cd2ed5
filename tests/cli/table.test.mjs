// `ropewalk table`: .npy and .safetensors files with the numbers of rope.table().
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, link, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { load, ropeConfig } from "ropewalk";
import { program, ropewalk, withFolder } from "./program.mjs";

const isWindows = process.platform === "win32";
const tinyModel = fileURLToPath(new URL("../golden/tiny_models/llama", import.meta.url));
const source = fileURLToPath(new URL("../../examples/configs/llama-3.1-8b.json", import.meta.url));
const ARRAYS = { "<f4": Float32Array, "<f2": Uint16Array, F32: Float32Array, F16: Uint16Array, BF16: Uint16Array };

/** Reads a .npy file by the format's specification. */
async function readNpy(path) {
  const bytes = await readFile(path);
  assert.deepEqual([...bytes.subarray(0, 8)], [0x93, ...Buffer.from("NUMPY"), 1, 0]);
  const begin = 10 + bytes.readUInt16LE(8);
  assert.equal(begin % 64, 0);
  const header = bytes.subarray(10, begin).toString("latin1");
  const [, descr, order, shape] = /^\{'descr': '([^']+)', 'fortran_order': (\w+), 'shape': \(([\d, ]+)\), \} *\n$/.exec(
    header,
  );
  assert.equal(order, "False");
  return {
    descr,
    shape: shape.split(",").map(Number),
    data: new ARRAYS[descr](new Uint8Array(bytes.subarray(begin)).buffer),
  };
}

async function readSafetensors(path) {
  const bytes = await readFile(path);
  const begin = 8 + Number(bytes.readBigUInt64LE(0));
  assert.equal(begin % 8, 0);
  const { __metadata__: metadata, ...tensors } = JSON.parse(bytes.subarray(8, begin).toString());
  const dataOf = ({ dtype, data_offsets: [first, last] }) =>
    new ARRAYS[dtype](new Uint8Array(bytes.subarray(begin + first, begin + last)).buffer);
  return {
    metadata,
    tensors,
    data: Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, dataOf(tensor)])),
    bytes: bytes.length - begin,
  };
}

async function tableOf(lengthOrPositions, options) {
  const rope = (await load()).rope(ropeConfig(JSON.parse(await readFile(source, "utf8"))));
  try {
    return rope.table(lengthOrPositions, options);
  } finally {
    rope.dispose();
  }
}

test(".npy contains cos, then sin, bit for bit", () =>
  withFolder(async (folder) => {
    const output = join(folder, "cos_sin.npy");
    for (const [dtype, descr] of [
      ["f32", "<f4"],
      ["f16", "<f2"],
    ]) {
      const { status, stdout } = await ropewalk(["table", source, "--length", "300", "--dtype", dtype, "-o", output]);
      assert.equal(status, 0);
      assert.equal(stdout, `${output}: cos and sin of 300 positions, 64 columns (compact), ${dtype}\n`);
      const { cos, sin } = await tableOf(300, { dtype });
      const read = await readNpy(output);
      assert.deepEqual([read.descr, read.shape], [descr, [2, 300, 64]]);
      assert.deepEqual(read.data.subarray(0, cos.length), cos);
      assert.deepEqual(read.data.subarray(cos.length), sin);
    }
    assert.deepEqual(await readdir(folder), ["cos_sin.npy"]);
  }));

test(".safetensors contains both, and the config", () =>
  withFolder(async (folder) => {
    const output = join(folder, "cos_sin.safetensors");
    const positions = [0, 1.5, 7, 8191];
    const { status, stdout } = await ropewalk([
      "table",
      source,
      "--positions",
      positions.join(","),
      "--layout",
      "half",
      "--dtype",
      "bf16",
      "-o",
      output,
      "--json",
    ]);
    assert.equal(status, 0);
    assert.deepEqual(JSON.parse(stdout).shape, [4, 128]);
    const { cos, sin } = await tableOf(Float64Array.from(positions), { layout: "half", dtype: "bf16" });
    const { tensors, data, metadata, bytes } = await readSafetensors(output);
    assert.deepEqual(data, { cos, sin });
    assert.deepEqual(
      [tensors.cos.shape, tensors.cos.dtype, bytes],
      [[4, 128], "BF16", cos.byteLength + sin.byteLength],
    );
    assert.equal(JSON.parse(metadata.rope_config).rope_theta, 500000);
  }));

test("invalid arguments are errors, and no file is left or changed", () =>
  withFolder(async (folder) => {
    const output = join(folder, "kept.npy");
    await writeFile(output, "kept");
    const cases = [
      [["--length", "8", "--dtype", "bf16", "-o", output], 2, /--dtype: can't be bf16 in a \.npy file.*safetensors/],
      [["--length", "8", "-o", join(folder, "table.csv")], 2, /--output: must end in \.npy or \.safetensors/],
      [["-o", output], 2, /--length: is missing; use --length or --positions/],
      [["--length", "8", "--positions", "1", "-o", output], 2, /--length: can't be combined with --positions/],
      [["--length", "0", "-o", output], 2, /--length.*from 1 to 16777216/],
      [["--positions", "1,x", "-o", output], 2, /--positions.*Must be a number/],
      [["--length", "8", "-o", join(folder, "missing", "a.npy")], 2, /--output: the folder .*missing doesn't exist/],
      [["--length", "8"], 2, /required option '-o, --output <file>'/],
    ];
    for (const [words, expected, message] of cases) {
      const { status, stdout, stderr } = await ropewalk(["table", source, ...words]);
      assert.deepEqual([status, stdout], [expected, ""], `${words.join(" ")}: ${stderr}`);
      assert.match(stderr, message);
    }
    assert.deepEqual(await readdir(folder), ["kept.npy"]);
    assert.equal(await readFile(output, "utf8"), "kept");
  }));

test("input files are never overwritten, under whatever name", () =>
  withFolder(async (folder) => {
    const model = join(folder, "model");
    await cp(tinyModel, model, { recursive: true });
    const weights = join(model, "model.safetensors");
    const [linked, sameFile] = [join(folder, "linked.safetensors"), join(folder, "same.npy")];
    await symlink(weights, linked);
    await link(weights, sameFile);
    const whole = await readFile(weights);
    const index = join(model, "model.safetensors.index.json");
    const { __metadata__: _, ...tensors } = JSON.parse(
      whole.subarray(8, 8 + Number(whole.readBigUInt64LE(0))).toString(),
    );
    await writeFile(
      index,
      JSON.stringify({
        weight_map: Object.fromEntries(Object.keys(tensors).map((name) => [name, "model.safetensors"])),
      }),
    );
    const cases = [
      [model, weights],
      [weights, weights],
      [weights, `${model}/../model/model.safetensors`],
      [weights, linked],
      [linked, weights],
      [weights, sameFile],
      [model, sameFile],
      [index, weights],
      [String(pathToFileURL(weights)), weights],
    ];
    for (const [input, output] of cases) {
      const { status, stderr } = await ropewalk(["table", input, "--length", "8", "-o", output]);
      assert.deepEqual(
        [status, /^error: --output: is an input file/.test(stderr)],
        [2, true],
        `${input} to ${output}: ${stderr}`,
      );
      assert.deepEqual(await readFile(weights), whole);
    }
    const { status, stderr } = await ropewalk(["table", model, "--length", "8", "-o", join(model, "COS_SIN.NPY")]);
    assert.equal(status, 0, stderr);
  }));

test("a replaced file keeps its mode, and a symbolic link stays a link", { skip: isWindows }, () =>
  withFolder(async (folder) => {
    const [kept, linked, early] = ["kept.npy", "linked.npy", "early.npy"].map((name) => join(folder, name));
    await mkdir(join(folder, "later"));
    await Promise.all([writeFile(kept, "before"), symlink("kept.npy", linked), symlink("later/new.npy", early)]);
    for (const [output, file, mode] of [
      [kept, kept, 0o600],
      [linked, kept, 0o666],
      [early, join(folder, "later", "new.npy")],
    ]) {
      if (mode !== undefined) await chmod(file, mode);
      const { status, stderr } = await ropewalk(["table", source, "--length", "8", "-o", output]);
      assert.equal(status, 0, stderr);
      assert.deepEqual((await readNpy(file)).shape, [2, 8, 64]);
      if (mode !== undefined) assert.equal((await stat(file)).mode & 0o777, mode);
    }
    assert.deepEqual([await readlink(linked), await readlink(early)], ["kept.npy", "later/new.npy"]);
    assert.deepEqual(await readdir(join(folder, "later")), ["new.npy"]);
  }),
);

test("a file over the size limit is an error that names it, and the old file is kept", { skip: isWindows }, () =>
  withFolder(async (folder) => {
    const output = join(folder, "kept.npy");
    await writeFile(output, "kept");
    const limited = [
      "-c",
      'ulimit -f 8; exec "$@"',
      "sh",
      process.execPath,
      program,
      "table",
      source,
      "--length",
      "4096",
      "-o",
      output,
    ];
    const { code, stderr } = await promisify(execFile)("sh", limited).catch((error) => error);
    assert.equal(code, 1);
    assert.match(stderr, /^error: --output: .*kept\.npy cannot be written: EFBIG.*\(INVALID_FILE\)$/m);
    assert.deepEqual(await readdir(folder), ["kept.npy"]);
    assert.equal(await readFile(output, "utf8"), "kept");
  }),
);

test("a full disk is an error, and a device isn't replaced by a file", { skip: !existsSync("/dev/full") }, () =>
  withFolder(async (folder) => {
    const output = join(folder, "full.npy");
    await symlink("/dev/full", output);
    const { status, stdout } = await ropewalk(["table", source, "--length", "8", "-o", output, "--json"]);
    const { code, field, message } = JSON.parse(stdout).error;
    assert.deepEqual([status, code, field], [1, "INVALID_FILE", "--output"]);
    assert.match(message, /full\.npy cannot be written: ENOSPC/);
    assert.ok((await stat("/dev/full")).isCharacterDevice());
  }),
);
