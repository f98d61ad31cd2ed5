// Configs of every scaling type: a config is refused, or its plan and its rotations are finite at every length and position.
import assert from "node:assert/strict";
import { load } from "ropewalk";
import { randomConfig } from "../ropes.mjs";
import { attempt, EDGE_NUMBERS, logBetween, mostly, strangeValue } from "../values.mjs";

export const name = "rope";

let rw;

export async function setUp() {
  rw = await load({ build: "simd" });
}

const isFinite = (list) => list.every(Number.isFinite);

export function run(random) {
  const created = attempt(() => rw.rope(random.chance(0.98) ? randomConfig(random) : strangeValue(random)));
  if (!Array.isArray(created)) return created;
  const [rope] = created;
  try {
    checkPlans(rope, random);
    checkRotation(rope, random);
  } finally {
    rope.dispose();
  }
  return "accepted";
}

function checkPlans(rope, random) {
  for (let i = 0; i < 2; i++) {
    const given = mostly(random, () => Math.ceil(logBetween(random, 1, 2 ** 31)), { share: 0.9 });
    const planned = attempt(() => rope.plan(given));
    if (!Array.isArray(planned)) continue;
    const [plan] = planned;
    assert.ok(isFinite(plan.inv_freq), `inv_freq at ${given}: ${plan.inv_freq}`);
    assert.ok(plan.attention_factor > 0 && isFinite([plan.attention_factor]), `${plan.attention_factor}`);
    assert.ok(plan.softmax_scale > 0 && isFinite([plan.softmax_scale]), `${plan.softmax_scale}`);
    assert.ok(plan.valid_from <= plan.valid_to, `${plan.valid_from} to ${plan.valid_to}`);
    assert.ok(plan.xpos === null || isFinite(plan.xpos.scale));
  }
}

/** Rotates ones, so that an element outside the rotated ones stays 1. xPos may scale beyond f32 at far positions: there it must be refused. */
function checkRotation(rope, random) {
  const { head_dim, rotary_offset, rotary_dim } = rope.plan(1);
  const [tokens, heads] = [random.between(0, 5), random.between(1, 3)];
  const near = () => Array.from({ length: tokens * rope.axes }, () => random.between(-100, 2 ** 20));
  const positions = random.chance(0.9) ? near() : random.pick([...EDGE_NUMBERS, ...near()]);
  const x = new Float32Array(tokens * heads * head_dim).fill(1);
  const options = {
    layout: "thd",
    shape: [tokens, heads, head_dim],
    positions,
    inverse: random.chance(0.3),
    role: random.pick(["query", "key"]),
  };
  const rotated = attempt(() => rope.rotate(x, options));
  if (!Array.isArray(rotated)) {
    assert.ok(
      x.every((value) => value === 1),
      "a refused call changes nothing",
    );
    return;
  }
  const isBounded = rope.plan(1).xpos === null;
  x.forEach((value, i) => {
    const at = (i % head_dim) - rotary_offset;
    if (at < 0 || at >= rotary_dim) assert.equal(value, 1);
    else assert.ok(Number.isFinite(value) || (!isBounded && !Number.isNaN(value)), `x[${i}] = ${value}`);
  });
}
