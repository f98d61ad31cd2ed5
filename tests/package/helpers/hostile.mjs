// Values that no caller should pass, and arguments made of them, from a seed. What they throw is theirs: isAllowed() accepts it.
import { RopewalkError } from "ropewalk";
import { randomNumbers } from "./arrays.mjs";

/** The error that the methods of hostile values throw. */
export class CallersError extends Error {}

/** Whether a call may end in this error: a RopewalkError with a code and a message, or the caller's own error. */
export function isAllowed(error) {
  if (error instanceof CallersError) return true;
  return error instanceof RopewalkError && error.code.length > 0 && error.message.length > 0;
}

/** Random choices from a seed. */
export function randomSource(seed) {
  const number = randomNumbers(seed);
  const below = (count) => Math.floor(number() * count);
  return { number, below, pick: (list) => list[below(list.length)], chance: (share) => number() < share };
}

function refuse() {
  throw new CallersError("a caller's own error");
}

function detached(array) {
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

/** An array of a resizable buffer, which became shorter after the array was made. */
function shrunk(length) {
  const buffer = new ArrayBuffer(4 * length, { maxByteLength: 8 * length });
  const array = new Float32Array(buffer, 0, length);
  buffer.resize(4);
  return array;
}

const TYPED_ARRAYS = [
  ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
  ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
  ...(typeof Float16Array === "undefined" ? [] : [Float16Array]),
];
const LENGTHS = [0, 1, 3, 4, 5, 64, 384];

/** One function for each kind of hostile value, so that each call makes a fresh one. */
export const HOSTILE = [
  () => undefined,
  () => null,
  () => true,
  () => false,
  () => NaN,
  () => Infinity,
  () => -Infinity,
  () => 0,
  () => -0,
  () => -1,
  () => 0.5,
  () => 1e308,
  () => 5e-324,
  () => 2 ** 31,
  () => 2 ** 32,
  () => 2 ** 32 + 1,
  () => -(2 ** 31) - 1,
  () => 2 ** 53,
  () => 0n,
  () => 5n,
  () => 2n ** 64n,
  () => Symbol("hostile"),
  () => Symbol.iterator,
  () => "",
  () => "0",
  () => "thd",
  () => "__proto__",
  () => "constructor",
  () => "\u202ereversed\u0000\u001b[31m",
  () => "long ".repeat(10000),
  () => () => 5,
  () => class {},
  () => refuse,
  () => ({}),
  () => Object.create(null),
  () => JSON.parse('{"__proto__": {"layout": "thd"}}'),
  () => [],
  () => [[]],
  () => new Array(5),
  () => Object.assign([1, 2, 3], { 1: Symbol("element") }),
  () => [1, "2", 3n, null],
  () => [0, 0, 0],
  () => [0, 4, 64],
  () => [2 ** 31, 2 ** 31, 64],
  () => new Date(NaN),
  () => /x/g,
  () => new Map([["layout", "thd"]]),
  () => Promise.resolve(5),
  () => new ArrayBuffer(16),
  () => new SharedArrayBuffer(16),
  () => new DataView(new ArrayBuffer(16)),
  () => ({ toString: refuse, valueOf: refuse, [Symbol.toPrimitive]: refuse }),
  () => ({ length: 3, 0: 1, 1: 2, 2: 3 }),
  () => ({ length: Infinity }),
  () => ({ length: "many" }),
  () => ({
    [Symbol.toStringTag]: "Float32Array",
    buffer: new ArrayBuffer(16),
    byteOffset: 0,
    byteLength: 16,
    length: 4,
  }),
  () => ({ [Symbol.toStringTag]: "Float16Array", buffer: 5, byteOffset: -1, byteLength: 1e9, length: 1e9 }),
  () => Object.defineProperty([1, 2], "length", { value: 2, writable: false }),
  () => new Proxy([1, 2, 3], {}), // as the reactive objects of web frameworks are
  () => new Proxy(new Float32Array(4), {}),
  () => detached(new Float32Array(384)),
  () => detached(new Float64Array(3)),
  () => detached(new Uint8Array(16)),
  () => shrunk(384),
  () => new Float32Array(new ArrayBuffer(4 * 384, { maxByteLength: 8 * 384 })), // follows the length of its buffer
  () => new Proxy({ scheme: "learned" }, {}),
  () => ({ [Symbol.iterator]: refuse }),
  () => ({ toJSON: refuse }),
  () => new Set([1, 2]),
  () => new Error("no"),
  () => {
    const circle = { inner: [] };
    circle.inner.push(circle);
    return circle;
  },
];

/** A value that may be anything. */
export function hostileValue(random) {
  if (random.chance(0.15)) return new (random.pick(TYPED_ARRAYS))(random.pick(LENGTHS));
  return random.pick(HOSTILE)();
}

/** Random numbers from 0 to 1, the same for a seed. */
export const randomFrom = (seed) => randomSource(seed).number;

/** A function that returns hostile values. `random` is a function of {@link randomFrom}. */
export const hostileValues = (random) => () => HOSTILE[Math.floor(random() * HOSTILE.length)]();

/** An options object with some hostile values of the options `names`, and at times with a name that no call has. */
export function optionsWith(random, names, { valid = {} } = {}) {
  const value = hostileValues(random);
  const options = {};
  for (const name of names) {
    const chance = random();
    if (chance < 0.3) options[name] = value();
    else if (chance < 0.6 && name in valid) options[name] = valid[name];
  }
  if (random() < 0.05) options.unknownOption = 1;
  return random() < 0.1 ? new Proxy(options, {}) : options;
}

/** A copy of good options in which some are missing or hostile, misspelt keys appear; or no options object at all. */
export function hostileOptions(random, good, names = Object.keys(good)) {
  if (random.chance(0.1)) return hostileValue(random);
  const options = { ...good };
  const changes = 1 + random.below(2);
  for (let i = 0; i < changes; i++) {
    const name = random.chance(0.05) ? "misspelt" : random.pick(names);
    if (random.chance(0.1)) delete options[name];
    else options[name] = hostileValue(random);
  }
  return random.chance(0.05) ? new Proxy(options, {}) : options;
}

/** The arguments of a good call with one or all of them hostile. Options objects are mutated inside, or replaced. */
export function hostileArguments(random, good) {
  const changed = random.below(good.length + 1);
  return good.map((argument, i) => {
    if (changed < good.length && i !== changed) return argument;
    const isOptions =
      typeof argument === "object" && argument !== null && Object.getPrototypeOf(argument) === Object.prototype;
    return isOptions ? hostileOptions(random, argument) : hostileValue(random);
  });
}

/** A value as text for the title of a failure. Never throws. */
export function inWords(value, depth = 0) {
  try {
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value === "string") return JSON.stringify(value.slice(0, 40));
    if (typeof value !== "object" || value === null) return String(value).slice(0, 60);
    if (ArrayBuffer.isView(value)) return `${value.constructor.name}(${value.length})`;
    if (depth > 1) return "{…}";
    const entries = Object.entries(value).map(([name, inner]) => `${name}: ${inWords(inner, depth + 1)}`);
    return `${Array.isArray(value) ? "array" : ""}{ ${entries.slice(0, 14).join(", ")} }`;
  } catch {
    return "a hostile object";
  }
}
