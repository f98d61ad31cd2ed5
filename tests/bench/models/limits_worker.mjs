// The limits of this machine, in a Worker: how fast wasm reads bytes and multiplies integers. In place of sessions' times it returns those
// of a token that only reads the weights, and of a prompt that only multiplies.
import { expose } from "/node_modules/comlink/dist/esm/comlink.mjs";
import { loadLimits } from "./limits_module.mjs";

const READ_BYTES = 128 * 2 ** 20;
const STEPS = 2e6;
/** Multiply-adds in one step of integer_dot: 4 × 2 tiles of 32 bytes, or of 16 16-bit integers. */
const PRODUCTS_PER_STEP = { simd: 8 * 16, relaxed: 8 * 32 };

let limits;

expose({
  async open(_, { build, bytes, products }) {
    const module = await loadLimits(build);
    const address = module._memalign(64, READ_BYTES);
    module.HEAPU8.fill(1, address, address + READ_BYTES); // pages that were never written are one page of zeros, which stays in the cache
    limits = { module, address, bytes, products, perStep: PRODUCTS_PER_STEP[build] };
    return {};
  },

  append(count, times = 1) {
    const { module, address, bytes, products, perStep } = limits;
    const sample = () => {
      const start = performance.now();
      if (count === 1) {
        module._read_bytes(address, READ_BYTES, 1);
        return (performance.now() - start) * (bytes / READ_BYTES);
      }
      module._integer_dot(address, address + 4096, STEPS);
      return (performance.now() - start) * ((products * count) / (STEPS * perStep));
    };
    return Array.from({ length: times }, sample);
  },

  rewind() {},
});
