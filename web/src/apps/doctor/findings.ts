// What a file's findings have in common: the case that they look at, and where each is known from.
import { type Dict, isDict } from "../../core/base/dict.js";
import { isArray } from "../../core/base/typed_arrays.js";
import type { Ropewalk } from "../../runtime/ropewalk/ropewalk.js";
import type { Finding, LayerGroup, Severity, SystemReport } from "./diagnosis.js";
import type { Extension } from "./extend.js";
import { type Facts, valueOf } from "./facts.js";

/** A model at a length. */
export interface Case {
  readonly rw: Ropewalk;
  readonly facts: Facts;
  /** Whether the model reads texts whole, and has no cached keys. */
  readonly isEncoder: boolean;
  readonly main: LayerGroup;
  readonly hasLayersWithoutRope: boolean;
  readonly systems: readonly SystemReport[];
  readonly length: number;
  /** Undefined if no scaling serves the length. */
  readonly extension: Extension | undefined;
  /** The scaling in the file, with its own names, and its path. */
  readonly scaling: Dict;
  readonly path: string;
}

/** Looks for one thing that users ask about. */
export type Check = (examined: Case) => Finding | undefined;

const GITHUB = "https://github.com/";

/** The address of an issue or pull request: `transformers#38224`. */
export function issue(name: string): string {
  const [project = "", number = ""] = name.split("#");
  return `${GITHUB}${REPOSITORIES[project] ?? project}/issues/${number}`;
}

const REPOSITORIES: Readonly<Record<string, string>> = {
  transformers: "huggingface/transformers",
  "llama.cpp": "ggml-org/llama.cpp",
  vllm: "vllm-project/vllm",
  recipes: "vllm-project/recipes",
  sglang: "sgl-project/sglang",
};

export function finding(code: string, severity: Severity, field: string, text: string, source: string): Finding {
  return { code, severity, field, text, source };
}

/** The scaling in a file as it is written, and its path. A scaling by kind of layer gives that of `kind`, or of the only kind. */
export function writtenScaling(facts: Facts, kind: string | null): { scaling: Dict; path: string } {
  if (facts.isGguf) return { scaling: {}, path: `${facts.prefix}rope.scaling` };
  const name = isDict(valueOf(facts, "rope_parameters")) ? "rope_parameters" : "rope_scaling";
  const given = valueOf(facts, name);
  const path = facts.prefix + name;
  if (!isDict(given)) return { scaling: {}, path };
  const own = kind ?? onlyKind(facts, given);
  const nested = given[own];
  return isDict(nested) ? { scaling: nested, path: `${path}.${own}` } : { scaling: given, path };
}

/** The kind of layer whose keys count in a model whose layers share a RoPE; "" if the keys aren't by kind. */
function onlyKind(facts: Facts, given: Dict): string {
  const kinds = Object.keys(given).filter((kind) => isDict(given[kind]));
  const types = valueOf(facts, "layer_types");
  return (isArray(types) ? kinds.find((kind) => types.includes(kind)) : undefined) ?? kinds[0] ?? "";
}
