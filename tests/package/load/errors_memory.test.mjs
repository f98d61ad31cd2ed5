// Memory that cannot be had: an error, nothing lost, and everything works once there is room again.
import assert from "node:assert/strict";
import test from "node:test";
import { inNewProcess } from "../helpers/processes.mjs";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

test("tensors beyond 4 GB", () => {
  withRope(rw.rope({ head_dim: 64, pairing: "half" }), (rope) => {
    const before = rw.memoryBytes;
    const options = { layout: "thd", shape: [1, 1, 64], positions: 5 };
    const expected = rope.rotate(randomFloats(64), options);
    for (const shape of [[2 ** 30], [2 ** 30 - 1024], [2 ** 31], [2 ** 40, 2 ** 40], [Number.MAX_SAFE_INTEGER]]) {
      raises(() => rw.tensor(shape), "OUT_OF_MEMORY", "shape");
      sameBits(rope.rotate(randomFloats(64), options), expected);
    }
    raises(() => rw.tensor([2 ** 31], "bf16"), "OUT_OF_MEMORY", "shape");
    assert.equal(rw.memoryBytes, before, "memory has not grown for them");
    rw.tensor([1000]).dispose();
  });
});

test("a table beyond all memory", () => {
  withRope(rw.rope({ head_dim: 64, pairing: "half" }), (rope) => {
    raises(() => rope.table(2 ** 30), "OUT_OF_MEMORY", "positions");
    assert.equal(rope.table(1).cos[0], 1);
  });
});

/** In an engine that has no more memory than it has, with less than 4 KB in one piece: what each of these raises, and then with room again. */
const full = `
  import { load } from "ropewalk";
  const rw = await load({ build: process.env.ROPEWALK_BUILD });
  const config = { head_dim: 64, pairing: "half" };
  const rope = rw.rope(config);
  const options = { layout: "thd", shape: [1, 1, 64], positions: 5 };
  const expected = rope.rotate(new Float32Array(64).fill(1), options).join();

  WebAssembly.Memory.prototype.grow = () => { throw new RangeError("no more memory"); };
  const report = { outcomes: {} };
  const attempt = (name, act) => {
    try { act(); report.outcomes[name] = "done"; } catch (error) { report.outcomes[name] = [error.name, error.code, error.field].join(" "); }
  };
  attempt("3.9 GB", () => rw.tensor([975e6]));
  attempt("100 MB", () => rw.tensor([25e6]));

  const held = [];
  for (let size = 1 << 22; size >= 4096; size /= 2) {
    try { for (;;) held.push(rw.tensor([size / 4])); } catch {}
  }
  report.held = held.length > 4;
  const large = new Float32Array(100000 * 64).fill(1);
  const ids = new Float64Array(100000);
  attempt("tensor", () => rw.tensor([4096]));
  attempt("rope", () => rw.rope(config));
  attempt("positions", () => rope.rotate(large, { layout: "thd", shape: [100000, 1, 64], positions: ids }));
  attempt("rows", () => rope.rotate(large, { layout: "thd", shape: [100000, 1, 64], positions: 0 }));
  attempt("rerotate", () => rope.rerotate(large, { layout: "thd", shape: [100000, 1, 64], from: { positions: ids }, to: { positions: 1 } }));
  attempt("convertPairing", () => rw.convertPairing(large, { heads: 1, head_dim: 64, from: "half", to: "interleaved" }));
  report.untouched = large.every((value) => value === 1);

  for (const tensor of held) tensor.dispose();
  attempt("tensor again", () => rw.tensor([4096]).dispose());
  attempt("rope again", () => rw.rope(config).dispose());
  report.works = rope.rotate(new Float32Array(64).fill(1), options).join() === expected;
  console.log(JSON.stringify(report));`;

test("an engine that gives no more: each operation says so, and works again when tensors are disposed of", async () => {
  const { outcomes, ...rest } = JSON.parse(await inNewProcess(full));
  assert.deepEqual(rest, { held: true, untouched: true, works: true });
  assert.deepEqual(outcomes, {
    "3.9 GB": "RopewalkError OUT_OF_MEMORY shape",
    "100 MB": "RopewalkError OUT_OF_MEMORY shape",
    tensor: "RopewalkError OUT_OF_MEMORY shape",
    rope: "RopewalkError OUT_OF_MEMORY ",
    positions: "RopewalkError OUT_OF_MEMORY positions",
    rows: "RopewalkError OUT_OF_MEMORY ",
    rerotate: "RopewalkError OUT_OF_MEMORY positions",
    convertPairing: "RopewalkError OUT_OF_MEMORY ",
    "tensor again": "done",
    "rope again": "done",
  });
});
