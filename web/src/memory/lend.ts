import { sizeOf } from "./elements.js";
import type { Heap } from "./heap.js";
import type { Operand } from "./operand.js";

/** An operand for the time of a call. @internal */
export interface Loan {
  operand: Operand;
  reads: boolean;
  writes: boolean;
  /** Where it is in wasm memory during the call. */
  at: number;
}

/** Loans begin on a cache line, as tensors do. */
const LINE = 64;

/** A loan of what a call only reads. @internal */
export function toRead(operand: Operand): Loan {
  return { operand, reads: true, writes: false, at: operand.address };
}

/** A loan of what a call writes; `reads` says whether it reads it first. @internal */
export function toWrite(operand: Operand, reads: boolean): Loan {
  return { operand, reads, writes: true, at: operand.address };
}

/**
 * Makes one call with everything in wasm memory: what lies outside is copied into one borrowed block, and what the call writes there is copied
 * back. Nothing is copied back where it throws. With `apart`, what is written is copied wherever it lies, so that a call that throws half-way
 * leaves it as it was.
 * @internal
 */
export function lend(heap: Heap, loans: readonly (Loan | undefined)[], call: () => void, apart = false): void {
  const guests: Loan[] = [];
  let size = 0;
  for (const loan of loans) {
    if (loan === undefined || guests.includes(loan)) continue;
    if (loan.operand.bytes === undefined && !(apart && loan.writes)) continue;
    guests.push(loan);
    loan.at = size;
    size += Math.ceil(bytesIn(loan) / LINE) * LINE;
  }
  if (size === 0) {
    call();
    return;
  }
  heap.borrow(size, (block) => {
    const own = (loan: Loan): Uint8Array => loan.operand.bytes ?? heap.bytes(loan.operand.address, bytesIn(loan));
    for (const loan of guests) {
      loan.at += block;
      if (loan.reads) heap.bytes(loan.at, bytesIn(loan)).set(own(loan));
    }
    call();
    for (const loan of guests) if (loan.writes) own(loan).set(heap.bytes(loan.at, bytesIn(loan)));
  });
}

function bytesIn({ operand }: Loan): number {
  return operand.length * sizeOf(operand.dtype);
}
