// A file that changes on its server while several tabs load, keep and delete it: what is loaded is always one version of it, whole.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { cachedFiles, readRecord } from "../../../build/package/runtime/files/cache/entries.js";
import { removeSource } from "../../../build/package/runtime/files/cache/models.js";
import { withCache } from "../../../build/package/runtime/files/cache/source.js";
import { openHttp } from "../../../build/package/runtime/files/http/source.js";
import { readRange } from "../../../build/package/runtime/files/byte_source.js";
import { memoryStore, randomNumbers, runInOrder } from "../../files/schedule.mjs";

const SIZE = 1_500_000; // the first megabyte comes with opening a file, the rest in later requests
const PIECE = 125_000;
const SEEDS = 30;
const url = new URL("https://models.example/m.gguf");
/** Versions differ everywhere but in their first bytes, as files with the same header do. */
const versions = [0, 1, 2].map((version) => new Uint8Array(SIZE).fill(100 + version).fill(7, 0, 1000));

/** A server whose file changes. Each chunk that it sends is a turn. */
function changingServer(turn, { names = (version) => ({ etag: `"${version}"` }) } = {}) {
  const server = { version: 0, ranges: [], isDown: false };
  server.fetch = async (_, { headers }) => {
    await turn();
    if (server.isDown) throw new TypeError("fetch failed");
    server.ranges.push(new Headers(headers).get("range"));
    const bytes = versions[server.version];
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(new Headers(headers).get("range"));
    const end = Math.min(Number(last) + 1, SIZE);
    let at = Number(first);
    const body = new ReadableStream({
      async pull(controller) {
        await turn();
        const next = Math.min(at + 90_000, end);
        controller.enqueue(bytes.subarray(at, next));
        at = next;
        if (at === end) controller.close();
      },
    });
    const range = { "content-range": `bytes ${first}-${end - 1}/${SIZE}`, "content-length": String(end - at) };
    return new Response(body, { status: 206, headers: { ...range, ...names(server.version) } });
  };
  return server;
}

/** WebCrypto computes in other threads, whose timing no seed decides. */
function stepwiseDigests(t, turn) {
  t.mock.method(crypto.subtle, "digest", async (_, bytes) => {
    const digest = createHash("sha256").update(bytes).digest();
    await turn();
    return new Uint8Array(digest).buffer;
  });
}

async function load(store, server, warnings = []) {
  const http = { fetch: server.fetch, headers: {}, retries: 0, timeout: 1e6 };
  const open = withCache(
    (address, name, ...rest) => openHttp(address, name, http, ...rest),
    store,
    url.href,
    (message) => warnings.push(message),
  );
  return readRange(await open(url, "m.gguf"), 0, SIZE);
}

const versionIn = (bytes) => versions.findIndex((version) => Buffer.from(version).equals(Buffer.from(bytes)));

/** Checks that the store has only the pieces of the version in its record. */
async function expectNoOrphans(store, message) {
  for (const { key, pieces } of await cachedFiles(store)) {
    const record = await readRecord(store, key);
    assert.ok(record !== undefined, `${message}: pieces without a record`);
    for (const { version } of pieces) assert.equal(version, record.version, message);
  }
}

for (const withLocks of [true, false]) {
  test(`random orders of two loads, a deletion and a changing server, ${withLocks ? "with" : "without"} locks`, async (t) => {
    const turns = [];
    let waits = true;
    const turn = () => (waits ? new Promise((resolve) => turns.push(resolve)) : Promise.resolve());
    stepwiseDigests(t, turn);
    const found = { loaded: 0, refused: 0, kept: 0 };
    for (let seed = 0; seed < SEEDS; seed++) {
      const random = randomNumbers(seed);
      const store = memoryStore(turn, { pieceBytes: PIECE, withLocks });
      const server = changingServer(turn);
      const later = async (action) => {
        for (let steps = Math.floor(random() * 120); steps > 0; steps--) await turn();
        return action();
      };
      waits = true;
      const outcomes = await runInOrder(random, turns, [
        () => load(store, server),
        () => later(() => load(store, server)),
        () => later(() => (server.version = 1)),
        () => later(() => removeSource(store, (source) => source === url.href)),
        () => later(() => (server.version = 2)),
        () => later(() => load(store, server)),
      ]);
      for (const index of [0, 1, 5]) {
        const { status, value, reason } = outcomes[index];
        if (status === "fulfilled") {
          assert.notEqual(versionIn(value), -1, `seed ${seed}: the bytes are those of no version`);
          found.loaded += 1;
        } else {
          assert.match(reason.message, /^m\.gguf: download: the file changed on the server/, `seed ${seed}`);
          found.refused += 1;
        }
      }
      assert.equal(outcomes[3].status, "fulfilled");
      waits = false;
      if (withLocks) await expectNoOrphans(store, `seed ${seed}`);
      assert.equal(
        versionIn(await load(store, server)),
        server.version,
        `seed ${seed}: a later load has what the server has`,
      );
      await expectNoOrphans(store, `seed ${seed}, after a later load`);
      const before = server.ranges.length;
      assert.equal(versionIn(await load(store, server)), server.version);
      if (server.ranges.length === before + 1) found.kept += 1; // only asked whether the file has changed
      await removeSource(store, (source) => source === url.href);
      assert.equal(store.stored.size, 0, `seed ${seed}: deleting leaves nothing`);
    }
    assert.equal(found.kept, SEEDS);
    assert.ok(found.loaded > SEEDS && found.refused > 5, JSON.stringify(found));
  });
}

const steady = () => Promise.resolve();

test("a damaged piece is downloaded again, with a warning", async () => {
  const store = memoryStore(steady, { pieceBytes: PIECE });
  const server = changingServer(steady);
  await load(store, server);
  const random = randomNumbers(3);
  for (let round = 0; round < 20; round++) {
    const names = [...store.stored.keys()].filter((name) => !name.endsWith("-about"));
    const name = names[Math.floor(random() * names.length)];
    const bytes = new Uint8Array(await store.stored.get(name).arrayBuffer());
    const at = Math.floor(random() * bytes.length);
    bytes[at] ^= 1 << Math.floor(random() * 8);
    const damaged = [bytes, bytes.subarray(0, at), new Uint8Array(0), new Uint8Array(bytes.length)][round % 4];
    store.stored.set(name, new Blob([damaged]));
    const warnings = [];
    assert.equal(versionIn(await load(store, server, warnings)), 0);
    const from = Number(/-(\d+)$/.exec(name)[1]) * PIECE;
    assert.deepEqual(warnings, [`m.gguf: the cached bytes from ${from} on are damaged; downloading them again`]);
    const again = [];
    assert.equal(versionIn(await load(store, server, again)), 0);
    assert.deepEqual(again, []);
  }
});

test("a damaged piece and no server: an error, never its bytes", async () => {
  const store = memoryStore(steady, { pieceBytes: PIECE });
  const server = changingServer(steady);
  await load(store, server);
  server.isDown = true;
  assert.equal(versionIn(await load(store, server)), 0);
  const last = [...store.stored.keys()].find((name) => name.endsWith("-11"));
  const bytes = new Uint8Array(await store.stored.get(last).arrayBuffer());
  bytes[5] ^= 1;
  store.stored.set(last, new Blob([bytes]));
  await assert.rejects(load(store, server), { code: "NETWORK", message: /only part of the file/ });
});

const SERVERS = {
  "a strong ETag": [(version) => ({ etag: `"${version}"` }), 1],
  "a weak ETag that stays the same": [() => ({ etag: 'W/"1"' }), 1 << 20],
  "Last-Modified": [(version) => ({ "last-modified": `Thu, 0${version + 1} Jan 2026 00:00:00 GMT` }), 1 << 20],
  "only the bytes": [() => ({}), 1 << 20],
};

for (const [title, [names, asked]] of Object.entries(SERVERS))
  test(`a change that shows in ${title}, for which ${asked} bytes are read of a cached file`, async () => {
    const store = memoryStore(steady, { pieceBytes: PIECE });
    const server = changingServer(steady, { names });
    assert.equal(versionIn(await load(store, server)), 0);
    const before = server.ranges.length;
    assert.equal(versionIn(await load(store, server)), 0);
    assert.deepEqual(server.ranges.slice(before), [`bytes=0-${asked - 1}`], "only the check for changes");
    server.version = 1;
    assert.equal(versionIn(await load(store, server)), 1);
    await expectNoOrphans(store, "after the change");
  });

test("a small file that changes while its length and a strong ETag stay", async () => {
  const store = memoryStore(steady, { pieceBytes: PIECE });
  for (const version of [0, 1]) {
    const bytes = versions[version].subarray(900, 1100);
    const stream = async function* (start, end) {
      yield bytes.subarray(start, end);
    };
    const source = { name: "config.json", size: bytes.length, version: '"1"', isExact: true, seekCost: 0, stream };
    const open = withCache(async () => source, store, url.href, assert.fail);
    assert.deepEqual(await readRange(await open(url, "config.json"), 0, bytes.length), bytes.slice());
  }
});

test("pieces of an earlier release, and those whose record is gone, are removed when the cache is next used", async () => {
  const store = memoryStore(steady, { pieceBytes: PIECE });
  const other = "ab".repeat(32);
  store.stored.set(`${other}-0`, new Blob(["of an earlier release"]));
  store.stored.set(
    `${other}-about`,
    new Blob(['{"source":"https://models.example/old.gguf","size":21,"version":"x"}']),
  );
  store.stored.set(`${"cd".repeat(32)}-${"12".repeat(16)}-3`, new Blob(["without a record"]));
  store.stored.set("notes.txt", new Blob(["not ours"]));
  await load(store, changingServer(steady));
  const names = [...store.stored.keys()];
  assert.ok(names.includes("notes.txt"));
  assert.ok(!names.some((name) => name.startsWith("cdcd") || name === `${other}-0`), names.join());
});
