// Random sequences of operations on a cache, compared with a fresh cache (fast-check).
import test from "node:test";
import fc from "fast-check";
import { appendAll, expectFresh, kinds, makeTokens, pick, range } from "../helpers/caches.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

/** A fixed seed, so that every run does the same; ROPEWALK_SEED sets another one. */
const seed = Number(process.env.ROPEWALK_SEED ?? 1);

const base = { head_dim: 16, pairing: "half" };
const ropes = [
  base,
  { ...base, rope_theta: 1e6 },
  { ...base, rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32 } },
  { ...base, rope_scaling: { rope_type: "linear", factor: 3 } },
  { ...base, max_position_embeddings: 40, rope_scaling: { rope_type: "dynamic", factor: 2 } },
  {
    ...base,
    max_position_embeddings: 128,
    rope_scaling: {
      rope_type: "longrope",
      short_factor: range(0, 8).map((i) => 1 + i / 20),
      long_factor: range(0, 8).map((i) => 1 + i / 2),
      original_max_position_embeddings: 50,
    },
  },
];
const sizes = [
  { kvHeads: 2, headDim: 16 },
  { kvHeads: 1, headDim: 16 },
  { kvHeads: 1, headDim: 12 },
];
const pool = makeTokens(200, sizes, 3);
const maxLength = 130;

const sequence = fc.integer({ min: 0, max: 1 });
const share = fc.double({ min: 0, max: 1, noNaN: true });
const rope = fc.integer({ min: 0, max: ropes.length - 1 });
const step = fc.oneof(
  {
    arbitrary: fc.record({
      does: fc.constant("append"),
      sequence,
      count: fc.integer({ min: 1, max: 40 }),
      gap: fc.constantFrom(undefined, 0, 3, 0.5, -20),
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ does: fc.constant("shift"), sequence, keep: share, discard: share }), weight: 3 },
  fc.record({ does: fc.constant("truncate"), sequence, length: share }),
  fc.record({ does: fc.constant("retune"), rope, layers: fc.constantFrom(0, 1) }),
  fc.record({
    does: fc.constant("move"),
    sequence,
    offset: fc.integer({ min: -50, max: 200 }),
    step: fc.constantFrom(undefined, 1, 2, 0.5),
  }),
  fc.record({ does: fc.constant("copy"), from: sequence, length: share }),
  fc.record({ does: fc.constant("save and restore"), sequence }),
);

/** A cache and the expected content of its sequences: indices into the pool, positions, and how often keys may have been rounded. */
class Model {
  constructor(cache) {
    this.cache = cache;
    this.rows = [0, 1].map(() => ({ tokens: [], positions: [], roundings: 0 }));
    this.next = 0;
  }

  /** Appends the next tokens of the pool. */
  append({ sequence, count, gap }) {
    const row = this.rows[sequence];
    const fits = Math.min(count, maxLength - row.tokens.length);
    if (fits === 0) return;
    const tokens = range(0, fits).map(() => this.next++ % 200);
    const following = row.positions.length === 0 ? 0 : Math.max(...row.positions) + 1;
    const first = following + (gap ?? 0);
    appendAll(this.cache, pick(pool, tokens), { sequence, ...(gap !== undefined && { positions: first }) });
    row.tokens.push(...tokens);
    row.positions.push(...range(0, fits).map((i) => first + i));
    row.roundings++; // if the length leaves a plan, keys are re-rotated to the next
  }

  shift({ sequence, keep: keepShare, discard: discardShare }) {
    const row = this.rows[sequence];
    const length = row.tokens.length;
    if (length === 0) return;
    const keep = Math.floor(keepShare * (length - 1));
    const discard = Math.max(1, Math.floor(discardShare * (length - keep)));
    this.cache.shift({ sequence, keep, discard });
    const delta = (row.positions[keep] ?? 0) - (row.positions[keep + discard] ?? 0);
    row.tokens.splice(keep, discard);
    row.positions = [
      ...row.positions.slice(0, keep),
      ...row.positions.slice(keep + discard).map((position) => position + delta),
    ];
    row.roundings++;
  }

  truncate({ sequence, length: lengthShare }) {
    const row = this.rows[sequence];
    const length = Math.floor(lengthShare * row.tokens.length);
    this.cache.truncate(length, { sequence });
    row.tokens.length = row.positions.length = length;
  }

  retune({ rope: index, layers }) {
    this.cache.retune({ rope: ropes[index], layers });
    for (const row of this.rows) row.roundings++;
  }

  move({ sequence, offset, step: by }) {
    const row = this.rows[sequence];
    const positions = row.tokens.map((_, i) => offset + i * (by ?? 1));
    this.cache.retune({ sequence, positions: by === undefined ? offset : positions });
    row.positions = positions;
    row.roundings++;
  }

  copy({ from, length: lengthShare }) {
    const row = this.rows[from];
    const length = Math.floor(lengthShare * row.tokens.length);
    this.cache.copyPrefix({ from, to: 1 - from, length });
    this.rows[1 - from] = {
      tokens: row.tokens.slice(0, length),
      positions: row.positions.slice(0, length),
      roundings: row.roundings,
    };
  }

  "save and restore"({ sequence }) {
    this.cache.restore(this.cache.save({ sequence }), { sequence });
    this.rows[sequence].roundings++; // the plan is the one of the current length again
  }

  /** Appends one token to each sequence, so that its plan matches its length, and compares it with a fresh cache. */
  check() {
    for (const sequence of [0, 1]) {
      if (this.rows[sequence].tokens.length === maxLength) this.truncate({ sequence, length: 0.9 });
      this.append({ sequence, count: 1 });
      const { tokens, positions, roundings } = this.rows[sequence];
      expectFresh(this.cache, pick(pool, tokens), positions, { sequence, roundings, message: `sequence ${sequence}` });
    }
  }
}

for (const { dtype, keys } of kinds) {
  test(`after random operations the cache equals a fresh one: ${dtype}, ${keys}`, () => {
    fc.assert(
      fc.property(rope, rope, fc.array(step, { minLength: 1, maxLength: 12 }), (first, second, steps) => {
        const layers = [
          { rope: ropes[first], kvHeads: 2 },
          { rope: { ...ropes[second], softmax_scale: 0.5 }, kvHeads: 1 },
          { rope: null, kvHeads: 1, headDim: 12 },
        ];
        withRope(rw.kvCache({ layers, maxLength, sequences: 2, dtype, keys }), (cache) => {
          const model = new Model(cache);
          for (const given of steps) model[given.does](given);
          model.check();
        });
      }),
      { numRuns: 60, seed },
    );
  });
}
