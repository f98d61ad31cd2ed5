// Models by name and kept files on a disk that is full after any number of bytes: what is read is whole, what has a name is whole, and nothing else
// stays but what a later download goes on with. ROPEWALK_SEED and ROPEWALK_CASES draw others, and more.
//
// compare: --cases 2000
import assert from "node:assert/strict";
import fs, { mkdir, mkdtemp, readdir, readFile, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { readRange } from "../../../build/package/runtime/files/byte_source.js";
import { nodeDisk } from "../../../build/package/runtime/files/hub/disk.node.js";
import { diskKeptFiles } from "../../../build/package/runtime/files/kept_files.node.js";
import { gitDigest, sha256 } from "../../files/hub.mjs";
import { randomNumbers } from "../../files/schedule.mjs";

const SEED = Number(process.env.ROPEWALK_SEED ?? 1);
const CASES = Number(process.env.ROPEWALK_CASES ?? 60);

const folderFor = async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-full-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

/** Lets the disk take so many more bytes: a write takes what fits, and the next one fails. */
function limitDisk(t) {
  const disk = { left: Infinity };
  const { open } = fs;
  const full = () =>
    Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", syscall: "write" });
  const taken = (length) => {
    const fitting = Math.min(length, disk.left);
    disk.left -= fitting;
    return fitting;
  };
  t.mock.method(fs, "open", async (...given) => {
    const file = await open(...given);
    const { write } = file;
    file.write = async (bytes, offset, length, position) => {
      const fitting = taken(length);
      if (fitting === 0 && length > 0) throw full();
      return write.call(file, bytes, offset, fitting, position);
    };
    file.writeFile = async (given) => {
      const bytes = Buffer.from(given);
      const fitting = taken(bytes.length);
      await write.call(file, bytes, 0, fitting, 0);
      if (fitting < bytes.length) throw full();
    };
    return file;
  });
  t.mock.method(fs, "writeFile", async (path, bytes, { flag = "w" } = {}) => {
    const file = await fs.open(path, flag);
    await file.writeFile(bytes).finally(() => file.close());
  });
  return disk;
}

const FILES = {
  "m.gguf": new Uint8Array(40_000).fill(1),
  "config.json": new Uint8Array(3000).fill(2),
  "empty.json": new Uint8Array(0),
};

/** Reads every file of a commit, and keeps it on the way. */
async function readAll(disk, commit, warnings) {
  for (const [path, bytes] of Object.entries(FILES)) {
    const etag = path.endsWith(".gguf") ? sha256(bytes) : gitDigest(bytes);
    const source = await disk.open(
      {
        repository: "org/tiny",
        revision: "main",
        commit,
        file: { path, size: bytes.length, etag },
        warn: (text) => warnings.push(text),
      },
      path,
      async () => ({
        ...{ name: path, size: bytes.length, seekCost: 0 },
        async *stream(start, end) {
          for (let at = start; at < end; at += 7000) yield bytes.subarray(at, Math.min(at + 7000, end));
        },
      }),
    );
    assert.deepEqual(new Uint8Array(await readRange(source.kept ?? source, 0, bytes.length)), bytes);
  }
}

const commits = ["a".repeat(40), "b".repeat(40)];

test(`a model by name, ${CASES} sizes of the disk, seed ${SEED}`, async (t) => {
  const disk = limitDisk(t);
  let full = 0;
  for (let i = 0; i < CASES; i++) {
    const random = randomNumbers(SEED * 1_000_003 + i);
    const folder = await folderFor(t);
    const hub = nodeDisk({ HF_HUB_CACHE: folder });
    const isFirst = random() < 0.5;
    if (!isFirst) await readAll(hub, commits[0], []);
    disk.left = isFirst ? Math.floor(random() * 45_000) : Math.floor(random() * 60);
    const warnings = [];
    await readAll(hub, commits[1], warnings);
    if (warnings.length > 0) full += 1;
    assert.ok(
      warnings.every((text) => /not kept on disk: ENOSPC/.test(text)),
      warnings.join("\n"),
    );
    const blobs = join(folder, "models--org--tiny", "blobs");
    for (const name of await readdir(blobs)) {
      if (/^[0-9a-f]{64}\.40000\.ropewalk\.incomplete$/.test(name)) continue;
      assert.match(name, /^[0-9a-f]+$/, `case ${i}`);
      const bytes = await readFile(join(blobs, name));
      assert.equal(name.length === 64 ? sha256(bytes) : gitDigest(bytes), name, `case ${i}`);
    }
    const [listed] = await hub.list();
    const sizes = await Promise.all(
      (await readdir(blobs)).map(async (name) => (await readFile(join(blobs, name))).length),
    );
    const there = sizes.reduce((sum, size) => sum + size, 0);
    assert.equal(listed?.bytes ?? 0, there, `case ${i}`);
    const ref = await readFile(join(folder, "models--org--tiny", "refs", "main"), "utf8").catch(() => undefined);
    assert.ok(commits.includes(ref) || (ref === undefined && isFirst), `case ${i}: ${ref}`);
    disk.left = Infinity;
    const later = [];
    await readAll(hub, commits[1], later);
    assert.deepEqual(later, []);
    assert.equal((await hub.list())[0].bytes, 43_000, `case ${i}`);
    assert.equal((await hub.repository({ repository: "org/tiny", revision: "main" })).commit, commits[1]);
  }
  assert.ok(full > CASES / 3, String(full));
});

test("a kept file, at every size of the disk", async (t) => {
  const disk = limitDisk(t);
  const folder = await folderFor(t);
  const path = join(folder, "notes");
  await diskKeptFiles.write(path, new Uint8Array(100).fill(1));
  for (let left = 0; left < 120; left += 7) {
    disk.left = left;
    await assert.rejects(diskKeptFiles.write(path, new Uint8Array(120).fill(2)), (error) => {
      assert.deepEqual([error.code, error.field], ["INVALID_FILE", "name"]);
      assert.match(error.message, /notes can't be written: ENOSPC/);
      return true;
    });
    assert.deepEqual(new Uint8Array(await diskKeptFiles.read(path)), new Uint8Array(100).fill(1));
    assert.deepEqual(await readdir(folder), ["notes"]);
  }
});

test("what programs that were ended have left is removed, and what others write isn't", async (t) => {
  const folder = await folderFor(t);
  const [old, young] = ["0", "1"].map((digit) => `.${"00000000-0000-0000-0000-00000000000"}${digit}.unfinished`);
  const leave = async (path, isOld) => {
    await fs.writeFile(path, "part");
    if (isOld) await utimes(path, 1e9, 1e9);
  };
  const path = join(folder, "notes");
  await leave(`${path}${old}`, true);
  await leave(`${path}${young}`, false);
  await leave(join(folder, `other${old}`), true); // of another file, maybe of another program
  await diskKeptFiles.write(path, new Uint8Array(1));
  assert.deepEqual((await readdir(folder)).sort(), ["notes", `notes${young}`, `other${old}`]);
  const blobs = join(folder, "models--org--tiny", "blobs");
  await mkdir(blobs, { recursive: true });
  await leave(join(blobs, `${"c".repeat(40)}${old}`), true);
  const hub = nodeDisk({ HF_HUB_CACHE: folder });
  assert.deepEqual(await hub.list(), []);
  await readAll(hub, commits[0], []);
  assert.ok((await readdir(blobs)).every((name) => !name.includes("unfinished")));
});
