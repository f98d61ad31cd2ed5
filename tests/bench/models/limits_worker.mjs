// The limits of this machine, in a Worker: how fast wasm reads bytes and multiplies integers. In place of sessions' times it returns those
// of a token that only reads the weights, and of a prompt that only multiplies.
import { expose } from "/node_modules/comlink/dist/esm/comlink.mjs";
import { benchRuntime } from "../run_benchmark.mjs";

const READ_BYTES = 128 * 2 ** 20;
const STEPS = 2e6;
/** Multiply-adds in one step of integer_dot: 4 × 2 tiles of 32 bytes, or of 16 16-bit integers. */
const PRODUCTS_PER_STEP = { simd: 8 * 16, relaxed: 8 * 32 };

let limits;

expose({
  async open(_, { build, folder, bytes, products }) {
    const at = (name) => `/build/${folder}/bench/${name}`;
    const { default: glue } = await import(at("ropewalk.mjs"));
    const wasm = await (await fetch(at("ropewalk.wasm"))).arrayBuffer();
    const { rw, module } = await benchRuntime({ glue, wasm, build });
    const { byteOffset } = rw.tensor([READ_BYTES / 4]).data;
    limits = { module, byteOffset, bytes, products, perStep: PRODUCTS_PER_STEP[build] };
    return {};
  },

  append(count, times = 1) {
    const { module, byteOffset, bytes, products, perStep } = limits;
    const sample = () => {
      const start = performance.now();
      if (count === 1) {
        module._read_bytes(byteOffset, READ_BYTES, 1);
        return (performance.now() - start) * (bytes / READ_BYTES);
      }
      module._integer_dot(byteOffset, byteOffset + 4096, STEPS);
      return (performance.now() - start) * ((products * count) / (STEPS * perStep));
    };
    return Array.from({ length: times }, sample);
  },

  rewind() {},
});
