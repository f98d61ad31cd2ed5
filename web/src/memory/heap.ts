import { fail, type RopewalkErrorCode } from "../base/errors.js";
import type { WasmModule } from "./wasm_module.js";

/** Bytes of the block through which arrays outside wasm memory pass: small enough to stay in a processor's second-level cache. */
const SCRATCH_BYTES = 1 << 19;

/** Tensors begin on a cache line: a vector that straddles two lines takes twice as long. */
const CACHE_LINE = 64;

/**
 * Wasm memory. Views are made on each access, because memory that grows leaves older views empty.
 * @internal
 */
export class Heap {
  readonly module: WasmModule;
  #scratch = 0;
  #ids = 0;
  #idsBytes = 0;

  constructor(module: WasmModule) {
    this.module = module;
  }

  /** The memory as it is now. */
  get buffer(): ArrayBufferLike {
    return this.module.HEAPU8.buffer;
  }

  /** Takes `bytes` of memory. Throws OUT_OF_MEMORY, with nothing changed. */
  allocate(bytes: number, field = ""): number {
    const address = bytes <= 0xffff_ffff ? this.module._memalign(CACHE_LINE, Math.max(bytes, 1)) >>> 0 : 0;
    if (address === 0) {
      fail(
        "OUT_OF_MEMORY",
        field,
        `${bytes} bytes of wasm memory cannot be had; dispose of tensors, or use smaller ones (the limit is 4 GB in all)`,
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

  /** A block of {@link scratchBytes}, kept for the next call. Whoever takes it is done with it before returning. */
  get scratch(): number {
    this.#scratch ||= this.allocate(SCRATCH_BYTES);
    return this.#scratch;
  }

  get scratchBytes(): number {
    return SCRATCH_BYTES;
  }

  /** A block for `count` f64 position ids, kept and grown for the next call. */
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

  /** Runs `use` with a block of memory of its own, and gives the block back whatever happens. */
  borrow<T>(bytes: number, use: (address: number) => T): T {
    const address = this.allocate(bytes);
    try {
      return use(address);
    } finally {
      this.free(address);
    }
  }

  /** Raises what a status of the core means; `got` says what stands in the field at fault, if any, and `at` where that is if not where the core says. */
  check(status: number, got?: (field: string) => unknown, at?: string): void {
    if (status === 0) return;
    const { code, field: named, requirement } = this.module.status_fields(status);
    const field = named === "" ? "" : (at ?? named);
    const value = got?.(field);
    const shown =
      value === undefined ? "" : ` (got ${typeof value === "object" ? JSON.stringify(value) : String(value)})`;
    fail(code as RopewalkErrorCode, field, requirement + shown);
  }
}
