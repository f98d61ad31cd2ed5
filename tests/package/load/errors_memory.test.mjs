// Out of memory: operations throw, no data changes, and calls work again after memory is freed.
import assert from "node:assert/strict";
import test from "node:test";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import { inFullMemory } from "../helpers/memory.mjs";
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
    assert.equal(rw.memoryBytes, before, "memory doesn't grow for them");
    rw.tensor([1000]).dispose();
  });
});

test("a table larger than any memory", () => {
  withRope(rw.rope({ head_dim: 64, pairing: "half" }), (rope) => {
    raises(() => rope.table(2 ** 30), "OUT_OF_MEMORY", "positions");
    assert.equal(rope.table(1).cos[0], 1);
  });
});

const full = {
  prepare: `
    const config = { head_dim: 64, pairing: "half" };
    const rope = rw.rope(config);
    const options = { layout: "thd", shape: [1, 1, 64], positions: 5 };
    const expected = rope.rotate(new Float32Array(64).fill(1), options).join();`,
  beforeFilling: `
    attempt("3.9 GB", () => rw.tensor([975e6]));
    attempt("100 MB", () => rw.tensor([25e6]));`,
  act: `
    report.filled = fillers.length > 4;
    const large = new Float32Array(100000 * 64).fill(1);
    const ids = new Float64Array(100000);
    const shape = [100000, 1, 64];
    attempt("tensor", () => rw.tensor([4096]));
    attempt("rope", () => rw.rope(config));
    attempt("positions", () => rope.rotate(large, { layout: "thd", shape, positions: ids }));
    attempt("rows", () => rope.rotate(large, { layout: "thd", shape, positions: 0 }));
    attempt("rerotate", () => rope.rerotate(large, { layout: "thd", shape, from: { positions: ids }, to: { positions: 1 } }));
    const table = new Float32Array(100000 * 32);
    attempt("tables", () => rw.rotate(large, { layout: "thd", shape, cos: table, sin: table, pairing: "half" }));
    attempt("convertPairing", () => rw.convertPairing(large, { heads: 1, head_dim: 64, from: "half", to: "interleaved" }));
    report.untouched = large.every((value) => value === 1);

    for (const tensor of fillers) tensor.dispose();
    attempt("tensor again", () => rw.tensor([4096]).dispose());
    attempt("rope again", () => rw.rope(config).dispose());
    report.works = rope.rotate(new Float32Array(64).fill(1), options).join() === expected;`,
};

test("in full memory each operation throws OUT_OF_MEMORY, and works again after tensors are disposed", async () => {
  const { outcomes, ...rest } = await inFullMemory(full);
  assert.deepEqual(rest, { filled: true, untouched: true, works: true });
  assert.deepEqual(outcomes, {
    "3.9 GB": "RopewalkError OUT_OF_MEMORY shape",
    "100 MB": "RopewalkError OUT_OF_MEMORY shape",
    tensor: "RopewalkError OUT_OF_MEMORY shape",
    rope: "RopewalkError OUT_OF_MEMORY ",
    positions: "RopewalkError OUT_OF_MEMORY positions",
    rows: "RopewalkError OUT_OF_MEMORY ",
    rerotate: "RopewalkError OUT_OF_MEMORY positions",
    tables: "RopewalkError OUT_OF_MEMORY ",
    convertPairing: "RopewalkError OUT_OF_MEMORY ",
    "tensor again": "done",
    "rope again": "done",
  });
});
