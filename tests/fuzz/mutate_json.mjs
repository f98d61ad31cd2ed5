// Mutates values of JSON and text by a seed, for fuzz targets.
import assert from "node:assert/strict";

const ODD = [
  null,
  true,
  false,
  0,
  -1,
  1,
  2 ** 31,
  2 ** 53,
  1e308,
  -0.5,
  "",
  "a",
  "\u001b[2J",
  "__proto__",
  [],
  {},
  [null],
  [[]],
  { type: 1 },
];

/** A copy of a JSON value with one to four changes anywhere in it: removed, replaced, repeated, swapped and nested values. */
export function mutateJson(random, value, values = []) {
  const copy = { root: structuredClone(value) };
  for (let changes = random.between(1, 4); changes > 0; changes--) {
    const places = placesIn(copy, random);
    const [container, key] = random.pick(places);
    const old = container[key];
    const actions = [
      () => (container[key] = structuredClone(random.pick(ODD))),
      () => (container[key] = structuredClone(random.pick([...values, ...ODD]))),
      () => (Array.isArray(container) ? container.splice(key, 1) : key !== "root" && delete container[key]),
      () => (container[key] = structuredClone(random.pick(places.map(([other, name]) => other[name])))),
      () => (container[key] = Array(random.between(1, 20)).fill(old)),
      () => (container[key] = typeof old === "string" ? mutateText(random, old, values) : [old]),
      () => (container[key] = typeof old === "number" ? old + random.pick([1, -1, 0.5, 1e9, NaN]) : { a: old }),
    ];
    random.pick(actions)();
  }
  return copy.root;
}

/** Up to 300 places of a value: the parts of large objects are sampled, so that small ones are changed as often. */
function placesIn(root, random) {
  const places = [];
  const open = [root];
  while (open.length > 0 && places.length < 300) {
    const container = open.splice(random.int(open.length), 1)[0];
    const keys = Object.keys(container);
    for (let i = 0; i < Math.min(keys.length, 12); i++) {
      const key = keys.length <= 12 ? keys[i] : random.pick(keys);
      places.push([container, key]);
      if (typeof container[key] === "object" && container[key] !== null) open.push(container[key]);
    }
  }
  return places;
}

/** A copy of a text with one to four changes: pieces removed, repeated, moved, or replaced by one of `pieces`. */
export function mutateText(random, text, pieces = []) {
  let changed = text;
  for (let changes = random.between(1, 4); changes > 0; changes--) {
    const at = random.int(changed.length + 1);
    const end = Math.min(changed.length, at + Math.floor(random.unit() ** 3 * 60));
    const part = changed.slice(at, end);
    const added = random.pick([
      () => "",
      () => part.repeat(random.between(1, 30)),
      () =>
        String(
          random.pick(pieces.filter((piece) => typeof piece === "string").concat(["{", "}", "\u0000", "\ud800", " "])),
        ),
      () => changed.slice(random.int(changed.length)).slice(0, 40),
      () => String.fromCharCode(random.int(0x250)),
    ])();
    changed = changed.slice(0, at) + added + changed.slice(end);
    if (changed.length > 20000) changed = changed.slice(0, 20000);
  }
  return changed;
}

/** Processor time that a case may take, in milliseconds: a thousand times the typical one. */
const LIMIT = 10_000;

/** Runs a case: it must succeed, or throw a RopewalkError, within the limit. `input` is shown if it doesn't. */
export async function endsWell(action, input) {
  const start = process.cpuUsage();
  const error = await Promise.resolve()
    .then(action)
    .then(
      () => undefined,
      (thrown) => thrown ?? new Error("threw nothing"),
    );
  const { user, system } = process.cpuUsage(start);
  const shown = input.length > 4000 ? `${input.slice(0, 4000)}…` : input;
  if (error !== undefined && error.name !== "RopewalkError")
    throw new assert.AssertionError({ message: `${error.stack ?? error}\nfor ${shown}` });
  assert.ok((user + system) / 1000 < LIMIT, `${(user + system) / 1000} ms for ${shown}`);
  return error;
}
