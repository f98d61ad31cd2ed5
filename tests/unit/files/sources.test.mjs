// Models from paths, Blobs and bytes, and folders of these; progress and aborts.
import assert from "node:assert/strict";
import {
  appendFile,
  mkdir,
  mkdtemp,
  open as openFile,
  readdir,
  readlink,
  rm,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { nodeFiles } from "../../../build/package/runtime/files/node_files.js";
import { ggufBytes, ggufHeader, writeGguf } from "../../files/gguf_writer.mjs";
import { fetchOnly, expectError, expectIntact, fileOf, openModel, readWhole } from "../../files/reading.mjs";
import { ggufModel, ggufParts, patternOf, safetensorsFolder, shardedFolder } from "../../files/tiny_models.mjs";

const node = { ...fetchOnly, openPath: nodeFiles };

async function folderOf(t, files) {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-files-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);
  return folder;
}

/** Files in a folder that this process has open. Linux only; elsewhere empty. */
async function openIn(folder) {
  const links = await readdir("/proc/self/fd").catch(() => []);
  const paths = await Promise.all(links.map((link) => readlink(`/proc/self/fd/${link}`).catch(() => "")));
  return paths.filter((path) => path.startsWith(folder));
}

test("paths, file: URLs and folders", async (t) => {
  const bytes = ggufBytes(ggufModel({ large: 3 << 20 }));
  const folder = await folderOf(t, { "m.gguf": bytes, "notes.txt": new Uint8Array(3) });
  for (const source of [
    join(folder, "m.gguf"),
    pathToFileURL(join(folder, "m.gguf")),
    pathToFileURL(join(folder, "m.gguf")).href,
    folder,
    `${folder}/`,
  ]) {
    const model = await openModel(node, source);
    assert.equal(model.name, "m.gguf");
    await expectIntact(model);
  }
  assert.deepEqual(await openIn(folder), []);
  for (const [files, first] of [
    [ggufParts(), "tiny-00001-of-00003.gguf"],
    [safetensorsFolder(), "model.safetensors"],
    [shardedFolder(), "model.safetensors.index.json"],
  ]) {
    const model = await openModel(node, await folderOf(t, files));
    assert.equal(model.name, first);
    await expectIntact(model);
  }
});

test("bytes in memory", async () => {
  const bytes = ggufBytes(ggufModel({ large: 9 << 20 }));
  await expectIntact(await openModel(fetchOnly, bytes));
  await expectIntact(await openModel(fetchOnly, bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)));
  const within = new Uint8Array(bytes.length + 7);
  within.set(bytes, 3);
  await expectIntact(await openModel(fetchOnly, within.subarray(3, 3 + bytes.length)));
  await expectIntact(await openModel(fetchOnly, new Blob([bytes])));
});

test("a file written in chunks equals one written at once", async (t) => {
  const folder = await folderOf(t, {});
  const model = ggufModel({ large: 1 << 20 });
  const streamed = model.tensors.map((tensor) => ({
    ...tensor,
    *data() {
      for (let at = 0; at < tensor.data.length; at += 1000) yield tensor.data.subarray(at, at + 1000);
    },
  }));
  const length = await writeGguf(join(folder, "m.gguf"), { ...model, tensors: streamed });
  assert.equal(length, ggufBytes(model).length);
  await expectIntact(await openModel(node, join(folder, "m.gguf")));
});

test("the format follows from the file's contents, not its name", async () => {
  const { "model.safetensors": weights, ...others } = safetensorsFolder();
  const rest = Object.entries(others).map(([name, bytes]) => fileOf(name, bytes));
  const model = await openModel(fetchOnly, [fileOf("model.safetensors", ggufBytes(ggufModel())), ...rest]);
  assert.equal(model.kind, "gguf");
  await expectError(openModel(fetchOnly, fileOf("m.gguf", weights)), "INVALID_FILE", "m.gguf: magic", /isn't GGUF/);
  await expectError(
    openModel(fetchOnly, fileOf("pytorch_model.bin", new TextEncoder().encode("PK\x03\x04 and so on, an archive"))),
    "INVALID_FILE",
    "pytorch_model.bin: magic",
    /PyTorch/,
  );
});

test("folders with no model or several", async (t) => {
  const gguf = ggufBytes(ggufModel());
  await expectError(
    openModel(node, await folderOf(t, { "a.txt": gguf })),
    "INVALID_FILE",
    "folder: files",
    /no \.gguf/,
  );
  await expectError(
    openModel(node, await folderOf(t, { "a.gguf": gguf, "b.gguf": gguf })),
    "INVALID_FILE",
    "folder: files",
    /a\.gguf, b\.gguf/,
  );
  await expectError(
    openModel(fetchOnly, [fileOf("a.gguf", gguf), fileOf("b.gguf", gguf)]),
    "INVALID_FILE",
    "folder: files",
    /several/,
  );
});

test("paths that are not files", async (t) => {
  const folder = await folderOf(t, {});
  await expectError(
    openModel(node, join(folder, "gone.gguf")),
    "INVALID_FILE",
    "gone.gguf: file",
    /no such file: .*gone\.gguf$/,
  );
  await mkdir(join(folder, "model.safetensors"));
  await expectError(openModel(node, folder), "INVALID_FILE", "model.safetensors: file", /not a file/);
});

test("a file that changes after it was opened", async (t) => {
  const folder = await folderOf(t, { "m.gguf": ggufBytes(ggufModel()) });
  const path = join(folder, "m.gguf");
  const change = {
    longer: () => appendFile(path, "x"),
    shorter: () => truncate(path, 5000),
    newer: () => utimes(path, new Date(), new Date(Date.now() + 5000)),
    gone: () => rm(path),
  };
  for (const [how, changeIt] of Object.entries(change)) {
    await writeFile(path, ggufBytes(ggufModel()));
    const model = await openModel(node, path);
    await changeIt();
    await expectError(readWhole(model), "INVALID_FILE", "m.gguf: file", how === "gone" ? /ENOENT/ : /changed/);
  }
  assert.deepEqual(await openIn(folder), []);
});

test("a dropped file that changes", async () => {
  const bytes = ggufBytes(ggufModel());
  let isGone = false;
  class Watched extends File {
    slice(...range) {
      if (!isGone) return super.slice(...range);
      return {
        stream: () =>
          new ReadableStream({ pull: (controller) => controller.error(new DOMException("gone", "NotReadableError")) }),
      };
    }
  }
  const model = await openModel(fetchOnly, new Watched([bytes], "m.gguf"));
  isGone = true;
  await expectError(readWhole(model), "INVALID_FILE", "m.gguf: file", /can no longer be read/);
});

test("invalid sources and options", async () => {
  for (const source of [undefined, null, 3, [], ["a"], {}, [new Blob([]), 3]]) {
    await expectError(openModel(fetchOnly, source), "INVALID_ARGUMENT", "source");
  }
  await expectError(
    openModel(fetchOnly, "not a url"),
    "INVALID_ARGUMENT",
    "source",
    /must be a URL \(got "not a url"\)/,
  );
  await expectError(openModel(fetchOnly, "http://localhost/", { retries: -1 }), "INVALID_ARGUMENT", "retries");
  await expectError(openModel(fetchOnly, "http://localhost/", { cache: "floppy" }), "INVALID_ARGUMENT", "cache");
  await expectError(openModel(fetchOnly, ""), "INVALID_ARGUMENT", "source", /is empty/);
  await expectError(openModel(fetchOnly, "c:/models/m.gguf"), "INVALID_ARGUMENT", "source", /got c:/);
  const model = await openModel(fetchOnly, ggufBytes(ggufModel()));
  const foreign = { ...model.tensors.get("scalar") };
  await expectError(
    model.read([foreign], () => assert.fail("written")),
    "INVALID_ARGUMENT",
    "tensors",
  );
});

test("any tensors, in file order, with progress for these only", async () => {
  const model = await openModel(fetchOnly, new Blob([ggufBytes(ggufModel({ large: 4 << 20 }))]));
  const names = ["scalar", "f32.weight", "q4_k.weight"];
  const tensors = names.map((name) => model.tensors.get(name));
  const seen = [];
  const progress = [];
  await model.read(tensors, ({ name }) => seen.push(name), { onProgress: (event) => progress.push({ ...event }) });
  assert.deepEqual([...new Set(seen)], ["f32.weight", "q4_k.weight", "scalar"]);
  const total = tensors.reduce((sum, { bytes }) => sum + bytes, 0);
  assert.deepEqual(
    [progress[0], progress.at(-1)],
    [
      { loaded: 0, total },
      { loaded: total, total },
    ],
  );
  const none = [];
  await model.read([], () => assert.fail("written"), { onProgress: (event) => none.push(event) });
  assert.deepEqual(none, [{ loaded: 0, total: 0 }]);
});

test("opening a model reports progress, reading it later does not", async () => {
  const { "model.safetensors": weights, ...others } = safetensorsFolder();
  const events = [];
  const blobs = Object.entries({ "model.safetensors": weights, ...others }).map(([name, bytes]) => fileOf(name, bytes));
  const model = await openModel(fetchOnly, blobs, { onProgress: (event) => events.push(event) });
  const { loaded, total } = events.at(-1);
  assert.equal(loaded, total);
  assert.ok(events.every((event) => event.loaded <= event.total));
  const count = events.length;
  await expectIntact(model);
  assert.equal(events.length, count);
});

test("aborting while files are read", async (t) => {
  const reason = new Error("enough");
  const bytes = ggufBytes(ggufModel({ large: 9 << 20 }));
  const folder = await folderOf(t, { "m.gguf": bytes });
  const file = new File([bytes.subarray(0, 1 << 20), bytes.subarray(1 << 20)], "m.gguf"); // two parts, as Node streams one part at a time
  for (const source of [join(folder, "m.gguf"), file, bytes]) {
    await assert.rejects(openModel(node, source, { signal: AbortSignal.abort(reason) }), reason);
    const model = await openModel(node, source);
    const controller = new AbortController();
    let written = 0;
    const write = (tensor, offset, chunk) => {
      written += chunk.length;
      if (written > 1000) controller.abort(reason);
    };
    await assert.rejects(model.read(model.tensors.values(), write, { signal: controller.signal }), reason);
    assert.ok(written < model.bytes);
    await assert.rejects(model.read([], write, { signal: controller.signal }), reason);
    const full = new Error("no memory");
    await assert.rejects(
      model.read(model.tensors.values(), () => {
        throw full;
      }),
      full,
    );
    await expectIntact(model);
  }
  assert.deepEqual(await openIn(folder), []);
});

test("a tensor deep in a large file is read without the rest of the file", async (t) => {
  const folder = await folderOf(t, {});
  const path = join(folder, "m.gguf");
  const far = { name: "far", type: "f32", shape: [16], data: patternOf("far", 64) };
  const near = { name: "near", type: "f32", shape: [5 << 20, 256] };
  const header = ggufHeader({ tensors: [near, far] });
  const file = await openFile(path, "w"); // 5 GB, sparse
  await file.write(header, 0, header.length, 0);
  await file.write(far.data, 0, 64, header.length + (5 << 20) * 1024);
  await file.close();
  const model = await openModel(node, path);
  assert.ok(model.bytes > 2 ** 32);
  const read = await readWhole(model, [model.tensors.get("far")]);
  assert.ok(Buffer.from(read.get("far").buffer).equals(far.data));
});
