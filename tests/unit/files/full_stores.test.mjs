// A quota that is exceeded, or a tab that is closed, at any write: what is read is whole, what counts as kept is there, and nothing else stays.
// ROPEWALK_SEED and ROPEWALK_CASES draw others, and more.
//
// compare: --cases 3000
import assert from "node:assert/strict";
import test from "node:test";
import { readRange } from "../../../build/package/runtime/files/byte_source.js";
import { cachedFiles, readRecord } from "../../../build/package/runtime/files/cache/entries.js";
import { modelsIn } from "../../../build/package/runtime/files/cache/models.js";
import { withCache } from "../../../build/package/runtime/files/cache/source.js";
import { openStore } from "../../../build/package/runtime/files/cache/stores.js";
import { opfsKeptFiles } from "../../../build/package/runtime/files/kept_files.js";
import { cachedModels } from "../../files/reading.mjs";
import { randomNumbers } from "../../files/schedule.mjs";
import { ClosedTab, fakeCaches, fakeOpfs } from "../../files/stores.mjs";

const SEED = Number(process.env.ROPEWALK_SEED ?? 1);
const CASES = Number(process.env.ROPEWALK_CASES ?? 300);
const PIECE = 10_000;
const BLOCK = 3000;
const CHECKSUM = 4;

const STORES = {
  "OPFS, by streams": ["opfs", fakeOpfs, { sync: false }],
  "OPFS, by sync access handles": ["opfs", fakeOpfs, { streams: false }],
  "OPFS, by both": ["opfs", fakeOpfs, {}],
  "OPFS, by streams, without move": ["opfs", fakeOpfs, { move: false }],
  "OPFS, by sync access handles, without move": ["opfs", fakeOpfs, { streams: false, move: false }],
  "the Cache API": ["cache", fakeCaches, {}],
};
/** Only in place: a tab that is closed leaves a part of the piece that it was writing, which counts as damaged and not as kept. */
const writesInPlace = ({ move }) => move === false;

/** A file on a server. */
function servedFile(bytes, version, name) {
  const stream = async function* (start, end) {
    for (let at = start; at < end; at += 3000) yield bytes.subarray(at, Math.min(at + 3000, end));
  };
  return { name, size: bytes.length, version, seekCost: 0, stream };
}

const url = new URL("https://models.example/m.gguf");

async function load(platform, kind, { bytes, version }, warnings = [], closesAt = Infinity) {
  const store = { ...(await openStore(platform, kind)), pieceBytes: PIECE, blockBytes: BLOCK };
  platform.limit.closesAt = closesAt;
  const warn = (message) => warnings.push(message);
  const open = withCache(async (_, name) => servedFile(bytes, version, name), store, url.href, warn);
  const loaded = await readRange(await open(url, "m.gguf"), 0, bytes.length);
  return { loaded, store };
}

/** What the store says of the model, and what is really there. */
async function keptIn(store, kind) {
  const said = await modelsIn(store, kind);
  let there = 0;
  for (const { key, pieces } of await cachedFiles(store)) {
    const record = await readRecord(store, key);
    for (const { name, index, version } of pieces) {
      const { size } = await store.read(name);
      if (record?.version !== version) continue;
      const length = Math.min(PIECE, record.size - index * PIECE);
      if (size === length + CHECKSUM * Math.ceil(length / BLOCK)) there += length;
    }
  }
  return { said: said.reduce((sum, { bytes }) => sum + bytes, 0), there };
}

/** Fails if the store has a file that isn't whole. */
async function expectWhole(store, message) {
  for (const name of await store.names()) {
    assert.doesNotMatch(name, /incomplete|probe/, message);
    const size = (await store.read(name)).size;
    assert.ok(size > CHECKSUM, `${message}: ${name} has ${size} bytes`);
  }
}

for (const [title, [kind, make, engine]] of Object.entries(STORES))
  test(`${title}: ${CASES} quotas and closed tabs, seed ${SEED}`, async () => {
    const found = { full: 0, closed: 0 };
    for (let i = 0; i < CASES; i++) {
      const random = randomNumbers(SEED * 1_000_003 + i);
      const message = `case ${i}`;
      const versions = [0, 1].map((version) => ({
        bytes: new Uint8Array(1 + Math.floor(random() * 5 * PIECE)).fill(100 + version),
        version: `"${version}"`,
      }));
      const most = Math.max(...versions.map(({ bytes }) => bytes.length));
      // what earlier loads have left
      const before = make(engine);
      if (random() < 0.5) await load(before, kind, versions[Math.floor(random() * 2)]);
      const quota = random() < 0.5 ? Infinity : Math.floor(random() * (most * 1.2 + 1000));
      const closesAt = random() < 0.5 ? Infinity : Math.floor(random() * (kind === "cache" ? 6 : 40));
      const platform = make({ ...engine, quota, left: before.stored });
      const isFull = [...before.stored.values()].reduce((sum, { size }) => sum + size, 0) > quota;
      const warnings = [];
      const { loaded, store } = await load(platform, kind, versions[1], warnings, closesAt);
      assert.deepEqual(loaded, versions[1].bytes, message);
      const isClosed = platform.limit.closesAt < 0;
      if (!isClosed) {
        if (warnings.length > 0) found.full += 1;
        assert.ok(
          warnings.length <= 1 && warnings.every((text) => /not cached.*quota/.test(text)),
          `${message}: ${warnings}`,
        );
        if (!isFull) await expectWhole(store, message);
      } else found.closed += 1;
      const kept = await keptIn(store, kind);
      assert.equal(kept.said, kept.there, message);
      // another tab, with memory again
      const later = make({ ...engine, left: platform.stored });
      const complaints = [];
      const again = await load(later, kind, versions[1], complaints);
      assert.deepEqual(again.loaded, versions[1].bytes, message);
      if (!(isClosed && writesInPlace(engine))) assert.deepEqual(complaints, [], message);
      await expectWhole(again.store, message);
      assert.deepEqual(await keptIn(again.store, kind), { said: most === 0 ? 0 : versions[1].bytes.length, there: versions[1].bytes.length }, message); // prettier-ignore
      const full = make({ ...engine, quota: 0, left: later.stored });
      const silent = [];
      await load(full, kind, versions[1], silent);
      assert.deepEqual(silent, [], `${message}: what is kept is read where the store is full`);
    }
    assert.ok(found.full > CASES / 20 && found.closed > CASES / 10, JSON.stringify(found));
  });

test("an empty piece, as a full quota has left it, isn't listed as kept", async () => {
  const platform = fakeOpfs();
  await load(platform, "opfs", { bytes: new Uint8Array(100).fill(1), version: '"1"' });
  const [piece] = [...platform.stored.keys()].filter((name) => name.endsWith("-0"));
  assert.deepEqual(
    (await cachedModels(platform)).map(({ bytes, size }) => [bytes, size]),
    [[100, 100]],
  );
  platform.stored.set(piece, new Blob([]));
  assert.deepEqual(await cachedModels(platform), []);
});

test("a kept session is replaced whole, or not at all", async () => {
  for (const streams of [true, false])
    for (let quota = 0; quota < 260; quota += 10)
      for (let closesAt = 4; closesAt < 12; closesAt++) {
        const left = [["notes", new Blob([new Uint8Array(100).fill(1)])]];
        const platform = fakeOpfs({ streams, quota, closesAt, left });
        const kept = opfsKeptFiles(platform);
        const bytes = new Uint8Array(120).fill(2);
        const outcome = await kept.write("notes", bytes).then(
          () => "written",
          ({ code, field, cause }) => (cause instanceof ClosedTab ? "closed" : [code, field]),
        );
        if (Array.isArray(outcome)) assert.deepEqual(outcome, ["INVALID_FILE", "name"]);
        const after = fakeOpfs({ streams, left: platform.stored });
        const read = await opfsKeptFiles(after).read("notes");
        const expected = outcome === "written" ? [120, 2] : [100, 1];
        if (!(outcome === "closed" && read[0] === 2))
          assert.deepEqual([read.length, read[0]], expected, `${streams} ${quota} ${closesAt}`);
        else assert.equal(read.length, 120);
        assert.deepEqual([...after.stored.keys()], ["notes"], `${streams} ${quota} ${closesAt}`);
      }
  const { code } = await opfsKeptFiles(fakeOpfs())
    .write("a.ropewalk.incomplete", new Uint8Array(1))
    .catch((error) => error);
  assert.equal(code, "INVALID_ARGUMENT");
});
