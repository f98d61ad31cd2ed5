import * as advise from "../base/advice.js";
import { show } from "../base/show.js";
import { fail, type RopewalkErrorCode } from "../base/errors.js";
import type { WasmModule } from "./wasm_module.js";

/** Bytes of the scratch block for arrays outside wasm memory. It fits in a second-level cache. */
const SCRATCH_BYTES = 1 << 19;

/** Tensors start on a cache line, because a vector that crosses two lines takes twice as long to load. */
const CACHE_LINE = 64;

/** The most bytes of one allocation, as in src/base/aligned_memory.h: the allocator's sums wrap near 4 GB. */
const LARGEST_ALLOCATION = 0xfff0_0000;

/** The core's words for these also say what to do, in C++. Here that is data. */
const OWN_WORDS: Partial<Record<RopewalkErrorCode, readonly [problem: string, advised: advise.Advised]>> = {
  OUT_OF_MEMORY: ["out of memory", advise.dispose({ of: ["tensors"], orUse: "smaller ones" })],
  THREAD_LOST: [
    "a thread ended in the middle of the call, so its results are lost",
    advise.other("repeat it with new ones"),
  ],
  CACHE_FULL: [
    "more tokens than the cache has room for",
    advise.code("shift or truncate the cache, or create it with a larger maxLength"),
  ],
};

/**
 * Wasm memory. Each access makes a new view, because growing memory detaches older views, or leaves them too short if it is shared.
 * @internal
 */
export class Heap {
  readonly module: WasmModule;
  #scratch = 0;
  #ids = 0;
  #idsBytes = 0;
  #newest: ArrayBufferLike | undefined;
  readonly #buffers = new WeakSet<ArrayBufferLike>();
  /** Called when the core has lost a thread, before the error is thrown. */
  onThreadLost: (() => void) | undefined;

  constructor(module: WasmModule) {
    this.module = module;
  }

  /** The current memory. */
  get buffer(): ArrayBufferLike {
    const { buffer } = this.module.HEAPU8;
    if (buffer !== this.#newest) {
      this.#newest = buffer;
      this.#buffers.add(buffer);
    }
    return buffer;
  }

  /** Whether a buffer is this memory. Each growth makes a new buffer, and older ones stay in use if memory is shared. */
  isMemory(buffer: ArrayBufferLike): boolean {
    return buffer === this.buffer || this.#buffers.has(buffer);
  }

  /** Allocates `bytes` of memory. Throws OUT_OF_MEMORY, and then changes nothing. */
  allocate(bytes: number, field = ""): number {
    const address = bytes <= LARGEST_ALLOCATION ? this.module._memalign(CACHE_LINE, Math.max(bytes, 1)) >>> 0 : 0;
    if (address === 0) {
      fail(
        "OUT_OF_MEMORY",
        field,
        `out of memory: can't allocate ${bytes} bytes (wasm memory is limited to 4 GB)`,
        advise.dispose({ of: ["tensors"], orUse: "smaller ones" }),
      );
    }
    return address;
  }

  free(address: number): void {
    this.module._free(address);
  }

  floats(address: number, length: number): Float32Array {
    return new Float32Array(this.buffer, address, length);
  }

  doubles(address: number, length: number): Float64Array {
    return new Float64Array(this.buffer, address, length);
  }

  bytes(address: number, length: number): Uint8Array {
    return new Uint8Array(this.buffer, address, length);
  }

  /** A block of {@link scratchBytes} that is reused. Its contents are valid only within a call. */
  get scratch(): number {
    this.#scratch ||= this.allocate(SCRATCH_BYTES);
    return this.#scratch;
  }

  get scratchBytes(): number {
    return SCRATCH_BYTES;
  }

  /** A block for `count` f64 position ids. It is reused, and grows as needed. */
  idBlock(count: number): number {
    const bytes = count * 8;
    if (bytes > this.#idsBytes) {
      const address = this.allocate(bytes, "positions");
      if (this.#ids !== 0) this.free(this.#ids);
      this.#ids = address;
      this.#idsBytes = bytes;
    }
    return this.#ids;
  }

  /** Runs `use` with a newly allocated block, and frees the block afterwards, also if `use` throws. */
  borrow<T>(bytes: number, use: (address: number) => T): T {
    const address = this.allocate(bytes);
    try {
      return use(address);
    } finally {
      this.free(address);
    }
  }

  /**
   * Throws the error of a status of the core, unless it is 0. `got` returns the value of the field at fault for the message. `at` replaces
   * the field's name.
   */
  check(status: number, got?: (field: string) => unknown, at?: string): void {
    if (status === 0) return;
    const named = this.fieldOf(status);
    const field = named === "" ? "" : (at ?? named);
    const value = got?.(field);
    const shown = value === undefined ? "" : ` (got ${show(value)})`;
    const code = this.text(this.module.status_code(status)) as RopewalkErrorCode;
    if (code === "THREAD_LOST") this.onThreadLost?.();
    const [problem, advised] = OWN_WORDS[code] ?? [this.text(this.module.status_requirement(status))];
    fail(code, field, problem + shown, advised);
  }

  /** The field at fault of a status of the core, "" if there is none. */
  fieldOf(status: number): string {
    return this.text(this.module.status_field(status));
  }

  /** A text in static memory, which ends in a zero. The core allocates nothing to report a failure. */
  text(address: number): string {
    const bytes = new Uint8Array(this.buffer, address);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0))); // a copy, because it doesn't decode shared memory
  }
}
