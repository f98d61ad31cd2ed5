// Saved sessions whose facts or cache are damaged, and sampling options of any kind: a call is refused and the session stays as it was, or the
// session goes on.
import assert from "node:assert/strict";
import { crc32 } from "node:zlib";
import { load } from "ropewalk";
import { damaged } from "../damage.mjs";
import { checkLogits, freshLogits, modelBytes } from "../tiny_model.mjs";
import { attemptAsync, EDGE_NUMBERS, mostly, strangeValue } from "../values.mjs";

export const name = "sessions";
export const cases = 150;

// Layout: 4 bytes of magic, version, length and CRC-32 of the JSON (u32 each), the JSON, and the image of the cache.
const AT_LENGTH = 8;
const AT_CHECKSUM = 12;
const AT_JSON = 16;

let rw, model, session, logits, saved;

export async function setUp() {
  rw = await load({ build: "simd" });
  logits = await freshLogits(rw);
  model = await rw.model(await modelBytes());
  const source = model.session();
  await source.append([5, 9, 2, 14, 3, 7, 7, 1]);
  saved = source.save();
  source.dispose();
  session = model.session();
}

export async function tearDown() {
  session.dispose();
  model.dispose();
  await checkLogits(rw, logits);
}

export function run(random) {
  return random.chance(0.7) ? restore(random) : generate(random);
}

async function restore(random) {
  session.rewind(0);
  await session.append([5, 9, 11]);
  const before = session.save();
  const outcome = await attemptAsync(() => session.restore(damagedSession(random)));
  if (!Array.isArray(outcome)) {
    assert.deepEqual(session.save(), before, "a refused image changes nothing");
    return outcome;
  }
  assert.equal(session.tokens.length, session.length);
  await attemptAsync(() => session.append([4]));
  await collect(session.generate({ maxTokens: 2, seed: 1 }));
  return "restored";
}

function damagedSession(random) {
  const view = new DataView(saved.buffer, saved.byteOffset, saved.byteLength);
  const end = AT_JSON + view.getUint32(AT_LENGTH, true);
  const facts = JSON.parse(Buffer.from(saved.subarray(AT_JSON, end)));
  const json = Buffer.from(
    random.chance(0.3) ? damagedText(JSON.stringify(facts), random) : damagedFacts(facts, random),
  );
  const cache = random.chance(0.4) ? damaged(saved.subarray(end), random) : saved.subarray(end);
  const bytes = new Uint8Array(Buffer.concat([saved.subarray(0, AT_JSON), json, cache]));
  const header = new DataView(bytes.buffer);
  header.setUint32(AT_LENGTH, random.chance(0.05) ? random.int(2 ** 32) : json.length, true);
  header.setUint32(AT_CHECKSUM, random.chance(0.05) ? 0 : crc32(json), true);
  return random.chance(0.1) ? bytes.subarray(0, random.int(bytes.length)) : bytes;
}

/** The JSON with one value replaced, at any depth, or removed. */
function damagedFacts(facts, random) {
  let at = facts;
  for (;;) {
    const key = random.pick(Object.keys(at));
    if (typeof at[key] === "object" && at[key] !== null && Object.keys(at[key]).length > 0 && random.chance(0.6)) {
      at = at[key];
      continue;
    }
    if (random.chance(0.2)) delete at[key];
    else at[key] = random.pick([null, -1, 0, 3, 1.5, 1e9, 1e308, "x", [], {}, [null], true, random.pick(EDGE_NUMBERS)]);
    return JSON.stringify(facts);
  }
}

function damagedText(text, random) {
  const at = random.int(text.length);
  return (
    text.slice(0, at) + random.pick(["", "0", "}", "]", '"', "-", "\u0000", "1e999"]) + text.slice(at + random.int(3))
  );
}

async function collect(pieces) {
  const found = [];
  for await (const piece of pieces) found.push(piece);
  return found;
}

async function generate(random) {
  session.rewind(0);
  await session.append([5, 9, 2]);
  const number = (low, high) => () => low + (high - low) * random.unit();
  const valid = {
    temperature: number(0, 3),
    topK: () => random.int(50),
    topP: number(0.01, 1),
    minP: number(0, 1),
    repetitionPenalty: number(0.1, 3),
    penaltyWindow: () => random.int(100),
    promptLookup: () => random.int(20),
    frequencyPenalty: number(-2, 2),
    presencePenalty: number(-2, 2),
    topNSigma: number(0, 4),
    typicalP: number(0.01, 1),
    samplerOrder: () => random.pick(["transformers", "llama.cpp"]),
    logitBias: () => ({ [random.int(64)]: random.pick([1, -5, -Infinity, 1e30]) }),
    dry: () => ({ multiplier: random.unit(), allowedLength: 1 + random.int(3), window: random.int(20) }),
    xtc: () => ({ probability: random.unit(), threshold: 0.01 + 0.9 * random.unit() }),
    mirostat: () => (random.chance(0.1) ? { tau: 0.1 + 5 * random.unit() } : undefined),
    seed: () => random.int(2 ** 31),
  };
  const options = { maxTokens: 3 };
  for (const [key, make] of Object.entries(valid))
    if (random.chance(0.5)) options[key] = mostly(random, make, { share: 0.9 });
  if (random.chance(0.02)) options[random.pick(["top_k", "max_tokens", "toString"])] = strangeValue(random);
  const outcome = await attemptAsync(() => collect(session.generate(options)));
  if (!Array.isArray(outcome)) return outcome;
  for (const { token } of outcome[0]) assert.ok(Number.isInteger(token) && token >= 0);
  return "generated";
}
