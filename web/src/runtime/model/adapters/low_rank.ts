// What the files of an adapter say: which weights it changes, by which tensors and factors.
import type { Advised } from "../../../core/base/advice.js";
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import type { AdapterFiles } from "../../files/adapter_files.js";
import { fieldOf } from "../../files/errors.js";
import type { StoredTensor } from "../../files/model_files.js";

/** What an adapter adds to the product with one weight: scale · (B (A x) + bias). @internal */
export interface LowRank {
  /** Name of the weight in files of the base model, in the format of the adapter's files. */
  readonly target: string;
  /** [rank, columns of the weight] */
  readonly a: StoredTensor;
  /** [rows of the weight, rank] */
  readonly b: StoredTensor;
  readonly bias: StoredTensor | undefined;
  readonly rank: number;
  readonly scale: number;
  /** A copy of the weight itself, which PEFT saves for heads. It isn't read. */
  readonly base: StoredTensor | undefined;
}

/** The parts of a {@link LowRank} by the weight that they are of. @internal */
export type Parts = Map<string, Partial<Record<Part, StoredTensor>>>;

type Part = "a" | "b" | "bias" | "base";

/** Adds a part of a weight's terms. @internal */
export function addPart(parts: Parts, target: string, part: Part, tensor: StoredTensor): void {
  parts.set(target, { ...parts.get(target), [part]: tensor });
}

/**
 * Pairs the tensors of each weight, and checks their shapes.
 * @param scaleOf - the factor of a weight's terms, by its name and its rank
 * @throws {@link RopewalkError} INVALID_FILE
 * @internal
 */
export function pairUp(
  files: AdapterFiles,
  parts: Parts,
  names: { readonly a: string; readonly b: string },
  scaleOf: (target: string, rank: number, tensor: string) => number,
): LowRank[] {
  if (parts.size === 0) invalid(files, "tensors", "the file has no tensors of an adapter");
  return [...parts].map(([target, { a, b, bias, base }]) => {
    if (a === undefined || b === undefined) {
      const [has, lacks] = a === undefined ? [(b ?? bias ?? base)!, names.a] : [a, names.b];
      return invalid(
        files,
        has.name,
        `the tensor ${lacks} of the same weight is missing`,
        advise.other("download the file again"),
      );
    }
    const [rank, inner] = [a.shape[0]!, b.shape[1]!];
    const is2d = a.shape.length === 2 && b.shape.length === 2;
    if (!is2d || rank !== inner || rank < 1 || (bias !== undefined && bias.shape.join() !== String(b.shape[0])))
      return invalid(
        files,
        a.name,
        `must be [rank, columns] and ${b.name} [rows, rank] (got ${a.shape.join(" × ")} and ${b.shape.join(" × ")})`,
      );
    return { target, a, b, bias, base, rank, scale: scaleOf(target, rank, a.name) };
  });
}

/** @internal */
export function invalid(files: AdapterFiles, part: string, problem: string, advised?: Advised): never {
  fail("INVALID_FILE", fieldOf(files.name, part), problem, advised);
}

/** @internal */
export function unsupported(file: string, part: string, problem: string, advised?: Advised): never {
  fail("UNSUPPORTED_MODEL", fieldOf(file, part), problem, advised);
}
