// Reads of a cached file, at random: several streams at once, pieces that are missing or damaged, in every way in which engines read OPFS.
import assert from "node:assert/strict";
import test from "node:test";
import xxhash from "xxhash-wasm";
import { withCache } from "../../../build/package/runtime/files/cache/source.js";
import { openStore } from "../../../build/package/runtime/files/cache/stores.js";
import { xxh32 } from "../../../build/package/runtime/files/cache/xxhash.js";
import { randomNumbers } from "../../files/schedule.mjs";
import { fakeCaches, fakeOpfs } from "../../files/stores.mjs";

const SEED = Number(process.env.ROPEWALK_SEED ?? 1);
const CASES = Number(process.env.ROPEWALK_CASES ?? 60);
const PIECE = 5000;
const BLOCKS = [700, 1000, 5000];
const url = new URL("https://models.example/m.gguf");

const ENGINES = {
  "OPFS in a Worker": ["opfs", () => fakeOpfs()],
  "OPFS in a Worker, where only one can open a file": ["opfs", () => fakeOpfs({ knowsModes: false })],
  "OPFS in a page": ["opfs", () => fakeOpfs({ sync: false })],
  "the Cache API": ["cache", () => fakeCaches()],
};

/** A file on a server, which counts the bytes that it sends. */
function servedFile(bytes, random) {
  const served = { sent: 0 };
  served.source = {
    name: "m.gguf",
    size: bytes.length,
    version: '"1"',
    seekCost: 0,
    async *stream(start, end) {
      for (let at = start; at < Math.min(end, bytes.length);) {
        const next = Math.min(at + 1 + Math.floor(random() * 4000), end, bytes.length);
        served.sent += next - at;
        yield bytes.subarray(at, next);
        at = next;
      }
    },
  };
  return served;
}

/** Reads a range as loading does: a chunk is used before the next one is asked for, which other streams do meanwhile. */
async function expectRange(source, bytes, [start, end], pause, message) {
  let at = start;
  for await (const chunk of source.stream(start, end)) {
    await pause();
    assert.ok(Buffer.from(chunk).equals(bytes.subarray(at, at + chunk.length)), `${message}: bytes from ${at} on`);
    at += chunk.length;
  }
  assert.equal(at, end, message);
}

for (const [title, [kind, make]] of Object.entries(ENGINES))
  test(`${title}: ${CASES} files, read in several streams at once, seed ${SEED}`, async () => {
    let mended = 0;
    for (let i = 0; i < CASES; i++) {
      const random = randomNumbers(SEED * 1_000_003 + i);
      const below = (limit) => Math.floor(random() * limit);
      const pause = async () => {
        for (let turns = below(4); turns > 0; turns--) await new Promise(setImmediate);
      };
      const bytes = Uint8Array.from({ length: 1 + below(6 * PIECE) }, () => below(256));
      const platform = make();
      const store = { ...(await openStore(platform, kind)), pieceBytes: PIECE, blockBytes: BLOCKS[i % BLOCKS.length] };
      const served = servedFile(bytes, random);
      const warnings = [];
      const open = withCache(
        async () => served.source,
        store,
        url.href,
        (message) => warnings.push(message),
      );
      const rangeOf = () => {
        const start = below(bytes.length);
        return [start, start + below(bytes.length - start + 1)];
      };
      const read = async (message) => {
        const source = await open(url, "m.gguf");
        if (random() < 0.5) await expectRange(source, bytes, [0, 1], pause, message); // as for a header
        const ranges = Array.from({ length: 1 + below(4) }, () => (random() < 0.3 ? [0, bytes.length] : rangeOf()));
        await Promise.all(ranges.map((range) => expectRange(source, bytes, range, pause, message)));
        return source;
      };
      await read(`case ${i}: of which some is cached`);
      await expectRange(await open(url, "m.gguf"), bytes, [0, bytes.length], pause, `case ${i}: all of it`);
      served.sent = 0;
      const source = await read(`case ${i}: all of which is cached`);
      assert.deepEqual(
        [served.sent, warnings],
        [bytes.length, []],
        `case ${i}: only the beginning, to find the version`,
      );

      const pieces = [...platform.stored.keys()].filter((name) => /-\d+$/.test(name));
      const name = pieces[below(pieces.length)];
      const damaged = new Uint8Array(await platform.stored.get(name).arrayBuffer());
      damaged[below(damaged.length)] ^= 1 << below(8);
      platform.stored.set(name, new Blob([damaged]));
      served.sent = 0;
      await expectRange(await open(url, "m.gguf"), bytes, [0, bytes.length], pause, `case ${i}: a damaged piece`);
      assert.match(warnings.join("\n"), /^m.gguf: the cached bytes from \d+ on are damaged; downloading them again$/);
      await expectRange(source, bytes, rangeOf(), pause, `case ${i}: a file opened before that`);
      if (served.sent > bytes.length) mended += 1; // more than the beginning
    }
    assert.equal(mended, CASES, "damaged pieces that were downloaded again");
  });

test("checksums are XXH32", async () => {
  const { h32Raw } = await xxhash();
  const random = randomNumbers(SEED);
  for (let i = 0; i < 2000; i++) {
    const all = Uint8Array.from({ length: Math.floor(random() * 200) }, () => random() * 256);
    const bytes = all.subarray(Math.floor(random() * 5)); // at any address
    assert.equal(xxh32(bytes), h32Raw(bytes), `case ${i}: ${bytes}`);
  }
});
