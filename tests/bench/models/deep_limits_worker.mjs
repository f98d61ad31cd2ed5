// The bound of a token over a long cache, in a Worker: loops of nothing but the products with all weights of q8_0, and the attention over all
// keys and values of f16. With several threads, each of as many Workers does its share.
import { expose } from "/node_modules/comlink/dist/esm/comlink.mjs";
import { loadLimits } from "./limits_module.mjs";

const [F16, BLOCK_TOKENS] = [1, 32];
const NORMAL_BYTE = 0x38; // numbers of such bytes aren't subnormal
const PANEL_BLOCK = 272; // 32 columns of eight rows
const PLACES = 4; // read in turn, as kernels do (PanelParts)
/** More bytes repeat some of these, which are too many for a cache. */
const MOST_BYTES = 2 ** 30;

let run;

expose({
  async open(_, { build, threads, bytes, depth, layers, heads, kvHeads, headDim }) {
    const module = await loadLimits(build);
    /** Calls `act(address, count)` so that it covers this thread's share of `count` pieces of memory of `size` bytes. */
    const pieces = (count, size, act) => {
      const share = Math.ceil(count / threads);
      const held = Math.min(share, Math.floor(MOST_BYTES / size));
      const address = module._memalign(64, held * size);
      module.HEAPU8.fill(NORMAL_BYTE, address, address + held * size); // pages that were never written are one page of zeros
      return () => {
        for (let left = share; left > 0; left -= held) act(address, Math.min(left, held));
      };
    };
    const queries = module._memalign(64, 4 * heads * headDim);
    module.HEAPU8.fill(NORMAL_BYTE, queries, queries + 4 * heads * headDim);
    const products = pieces(Math.round(bytes / PANEL_BLOCK), PANEL_BLOCK, (address, count) =>
      module._token_bound(address, count, PLACES, 1),
    );
    const blocks = (2 * layers * kvHeads * depth) / BLOCK_TOKENS;
    const attention = pieces(blocks, 2 * BLOCK_TOKENS * headDim, (address, count) =>
      module._attend_bound(address, F16, heads / kvHeads, headDim, count, queries, 1),
    );
    run = { products, attention };
    return {};
  },

  /** Milliseconds of both loops, and of each. */
  append(_, times = 1) {
    const timed = (act) => {
      const start = performance.now();
      act();
      return performance.now() - start;
    };
    return Array.from({ length: times }, () => [timed(run.products), timed(run.attention)]);
  },

  rewind() {},
});
