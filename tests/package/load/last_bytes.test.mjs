// At the exact end of memory: wasm memory is filled to the last bytes, and freed one block at a time until a call succeeds. Until then the call
// throws OUT_OF_MEMORY, and nothing else, because reporting a failure needs no memory. Afterwards its result is right.
import assert from "node:assert/strict";
import test from "node:test";
import { tinyModel } from "../helpers/models.mjs";
import { inNewProcess } from "../helpers/processes.mjs";

const program = `
  import { load, RopewalkError } from "ropewalk";
  const rw = await load({ build: process.env.ROPEWALK_BUILD });
  const config = { head_dim: 16, pairing: "half" };
  const yarn = { ...config, rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 64 } };
  const dynamic = { ...config, max_position_embeddings: 8, rope_scaling: { rope_type: "dynamic", factor: 2 } };
  const rope = rw.rope(dynamic);
  const numbers = (length) => Float32Array.from({ length }, (_, i) => Math.sin(i * i));
  const shape = [40, 2, 16];
  const [q, k, v, out] = [0, 1, 2, 3].map(() => rw.tensor(shape).set(numbers(1280)));
  const thd = { layout: "thd", shape };
  const cache = rw.kvCache({ rope: yarn, kvHeads: 2, layers: 2, maxLength: 1000, dtype: "f16", sequences: 2 });
  const state = rw.linearState({ heads: 2, rope: config });
  const model = await rw.model(${JSON.stringify(tinyModel("llama/model.gguf"))}, { contextLength: 64, kv: { dtype: "f32" } });
  const session = model.session();

  const fill = (layer, tokens = 40) =>
    cache.append({ k: numbers(tokens * 32), v: numbers(tokens * 32), layout: "thd", shape: [tokens, 2, 16], layer, sequence: 0 });
  const reset = async () => {
    cache.clear();
    cache.retune({ rope: yarn });
    fill(0), fill(1);
    state.reset();
    session.rewind(0);
    await session.append([1, 2, 3]);
    q.set(numbers(1280));
    out.data.fill(0);
  };
  /** What a cache or state has become is compared by its saved bytes. */
  const bytesOf = (bytes) => Buffer.from(bytes).toString("base64");
  const keys = () => bytesOf(cache.save({ sequence: 0 }));
  const copied = () => bytesOf(cache.save({ sequence: 1 }));
  /** Calls that return their result, or a call that changes something and what reads it. */
  const calls = {
    "rope": () => rw.rope(yarn).dispose(),
    "plan": () => rope.plan(4096).inv_freq.join(),
    "table": () => rope.table(20).cos.join(),
    "rotate a tensor": () => rope.rotate(q, { layout: "thd", positions: 0 }).data.join(),
    "rotate an array": () => rope.rotate(numbers(1280), { ...thd, positions: Float64Array.from({ length: 40 }, (_, i) => i) }).join(),
    "rerotate": () => rope.rerotate(q, { layout: "thd", from: { positions: 0 }, to: { positions: 7 } }).data.join(),
    "describe": () => String(rw.describe(dynamic, 100)),
    "decay": () => rope.decay({ count: 10 }).join(),
    "smallestBase": () => rw.smallestBase(16, 500),
    "attention of tensors": () => rw.attention(q, k, v, { layout: "thd", rope, out }).data.join(),
    "attention of arrays": () => rw.attention(numbers(1280), k, numbers(1280), { ...thd, position: { scheme: "alibi" } }).join(),
    "linearAttention": () => rw.linearAttention(q, k, v, { layout: "thd", out }).data.join(),
    "alibiSlopes": () => rw.alibiSlopes(8).join(),
    "t5Buckets": () => rw.t5Buckets([1, 2, 3]).join(),
    "sinusoidalTable": () => rw.sinusoidalTable(20, 16).join(),
    "state.append": () => state.append(q, k, v, { out }).data.join(),
    "state.save": () => bytesOf(state.save()),
    "state.restore": () => state.restore(state.save()),
    "linearState": () => rw.linearState({ heads: 2, headDim: 16 }).dispose(),
    "kvCache": () => rw.kvCache({ rope: yarn, kvHeads: 2, maxLength: 1000 }).dispose(),
    "kvCacheBytes": () => rw.kvCacheBytes({ rope: yarn, kvHeads: 2, maxLength: 1000 }),
    "append": [() => fill(0), keys],
    "append and rotate q": [() => cache.append({ q, k, v, layout: "thd", sequence: 0 }), () => q.data.join()],
    "append to another layer": [() => fill(1, 9), keys],
    "attend": () => cache.attend(q, { layout: "thd", sequence: 0, out }).data.join(),
    "truncate": [() => cache.truncate(7, { sequence: 0 }), keys],
    "shift": [() => cache.shift({ keep: 3, discard: 5, sequence: 0 }), keys],
    "canShift": () => cache.canShift({ discard: 5, sequence: 0 }).possible,
    "copyPrefix": [() => cache.copyPrefix({ from: 0, to: 1, length: 33 }), copied],
    "retune": [() => cache.retune({ rope: config, positions: 5, sequence: 0 }), keys],
    "save and restore": [() => cache.restore(cache.save({ sequence: 0 }), { sequence: 1 }), copied],
    "read": () => cache.read({ sequence: 0 }).k.join(),
    "positions": () => cache.positions(0).join(),
    "clear": [() => cache.clear(), keys],
    "forward": [() => session.append(Array.from({ length: 50 }, (_, i) => i)), () => session.logits().join()],
    "an error of the core": () => {
      try {
        cache.attend(k, { layout: "thd", sequence: 1 });
      } catch (error) {
        if (error.code === "OUT_OF_MEMORY") throw error;
        return error.message;
      }
    },
  };

  const expected = {};
  const parts = Object.entries(calls).map(([name, call]) => [name, ...(Array.isArray(call) ? call : [call, (result) => result])]);
  for (const [name, call, read] of parts) {
    await reset();
    expected[name] = read(await call());
  }

  // The smallest blocks last, so that they are freed first: 64 bytes at a time, then more.
  let fillers = [];
  const add = (bytes, most) => {
    try {
      for (let i = 0; i < most; i++) fillers.push(rw.tensor([bytes / 4]));
    } catch {}
  };
  const report = {};
  const grow = WebAssembly.Memory.prototype.grow;
  for (const [name, call, read] of parts) {
    await reset();
    WebAssembly.Memory.prototype.grow = () => { throw new RangeError("no more memory"); };
    for (let bytes = 1 << 22; bytes >= 64; bytes /= 2) add(bytes, Infinity);
    let failures = 0;
    let freed = 0;
    for (;;) {
      try {
        const result = await call();
        report[name] = { failures, result };
        break;
      } catch (error) {
        if (!(error instanceof RopewalkError) || error.code !== "OUT_OF_MEMORY") {
          report[name] = { failures, error: String(error) };
          break;
        }
        failures++;
        const block = fillers.pop();
        freed += block.length * 4;
        block.dispose();
        if (freed === block.length * 4) { // once: divides the next larger block into the smallest ones
          const large = fillers.findLastIndex(({ length }) => length >= 4096);
          fillers.splice(large, 1)[0].dispose();
          add(64, Infinity);
        }
      }
    }
    for (const block of fillers) block.dispose();
    fillers = [];
    WebAssembly.Memory.prototype.grow = grow;
    if ("result" in report[name]) report[name] = { failures, isRight: read(report[name].result) === expected[name] };
    if (report[name].error?.includes("abort")) break; // the module is unusable
  }
  console.log(JSON.stringify(report));`;

test("each call throws OUT_OF_MEMORY until it has the memory that it needs, and is then right", async () => {
  const report = JSON.parse(await inNewProcess(program));
  for (const [name, { error, isRight }] of Object.entries(report)) {
    assert.equal(error, undefined, name);
    assert.ok(isRight, `${name}: another result than with enough memory`);
  }
  const failing = Object.values(report).filter(({ failures }) => failures > 0);
  assert.ok(failing.length > 20, `only ${failing.length} calls ran out of memory`);
});
