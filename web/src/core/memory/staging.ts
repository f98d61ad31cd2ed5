// Copies arrays into wasm memory for one call, and copies results back.
import { sizeOf } from "./elements.js";
import type { Heap } from "./heap.js";
import type { Operand } from "./operand.js";

/** An operand of one call, and its address during that call. @internal */
export interface StagedOperand {
  operand: Operand;
  reads: boolean;
  writes: boolean;
  /** Address in wasm memory during the call. */
  at: number;
}

/** Copies are aligned to cache lines, as tensors are. */
const LINE = 64;

/** Stages an operand that a call only reads. @internal */
export function stagedInput(operand: Operand): StagedOperand {
  return { operand, reads: true, writes: false, at: operand.address };
}

/** Stages an operand that a call writes. `reads` tells whether the call also reads it. @internal */
export function stagedOutput(operand: Operand, reads: boolean): StagedOperand {
  return { operand, reads, writes: true, at: operand.address };
}

/**
 * Makes one call with all operands in wasm memory. Arrays outside it are copied into one temporary block, and outputs are copied back after the
 * call. If the call throws, nothing is copied back. With `isolateOutputs`, outputs are copied even if they are in wasm memory already, so that a
 * call that throws halfway leaves them unchanged.
 * @internal
 */
export function withStaged(
  heap: Heap,
  operands: readonly (StagedOperand | undefined)[],
  call: () => void,
  isolateOutputs = false,
): void {
  const copied: StagedOperand[] = [];
  let size = 0;
  for (const staged of operands) {
    if (staged === undefined || copied.includes(staged)) continue;
    if (staged.operand.bytes === undefined && !(isolateOutputs && staged.writes)) continue;
    copied.push(staged);
    staged.at = size;
    size += Math.ceil(bytesIn(staged) / LINE) * LINE;
  }
  if (size === 0) {
    call();
    return;
  }
  heap.borrow(size, (block) => {
    const original = ({ operand }: StagedOperand): Uint8Array =>
      operand.bytes ?? heap.bytes(operand.address, operand.length * sizeOf(operand.dtype));
    for (const staged of copied) {
      staged.at += block;
      if (staged.reads) heap.bytes(staged.at, bytesIn(staged)).set(original(staged));
    }
    call();
    for (const staged of copied) if (staged.writes) original(staged).set(heap.bytes(staged.at, bytesIn(staged)));
  });
}

function bytesIn({ operand }: StagedOperand): number {
  return operand.length * sizeOf(operand.dtype);
}
