// Names of weights in the other format: an adapter of PEFT for a model in GGUF, or one of llama.cpp for a model in safetensors.
import { knownFamily } from "../../../core/config/family_lookup.js";
import type { ModelPlan } from "../plan/model_plan.js";
import type { MatrixRole, TensorNames } from "../architectures/parts/tensor_names.js";
import { namesOf } from "../weights/weight_mapper.js";

/** A weight in the model's files, given its name in the other format. @internal */
export interface OtherFormat {
  readonly name: string;
  /** For a row of the model's tensor, its row in the other format; undefined if they have the same order. */
  readonly rowOf?: (row: number) => number;
}

/** Weights that both formats store in the same way, except for the order of the rows of q and k. */
const SHARED_ROLES: readonly MatrixRole[] = ["query", "key", "value", "output", "gate", "up", "down"];

/** Architectures whose weights llama.cpp's converter rescales or reorders. */
const CONVERTED_OTHERWISE = /^(falcon[_-]h1|nemotron_h)/;

/** Undefined if there is no counterpart with known rows. @internal */
export function otherFormat(plan: ModelPlan, target: string): OtherFormat | undefined {
  if (CONVERTED_OTHERWISE.test(plan.reader.architecture)) return undefined;
  const [theirs, ours] = [namesOf(plan, !plan.reader.isGguf), namesOf(plan)];
  if (target === `${theirs.head}.weight`) return { name: `${ours.head}.weight` };
  for (let layer = 0; layer < plan.config.layers; layer++) {
    for (const role of SHARED_ROLES) {
      if (nameOf(theirs, layer, role) !== target) continue;
      const name = nameOf(ours, layer, role);
      if (name === undefined) return undefined;
      const rowOf = role === "query" || role === "key" ? rowsOfHeads(plan, layer) : undefined;
      return { name, ...(rowOf && { rowOf }) };
    }
  }
  return undefined;
}

function nameOf({ layer: prefix, layers }: TensorNames, layer: number, role: MatrixRole): string | undefined {
  const name = layers[role];
  return name === undefined ? undefined : `${prefix.replace("{n}", String(layer))}${name}.weight`;
}

/**
 * Where llama.cpp's converter permutes the rows of q and k, the pair of elements i and i + n of a head of 2n is at 2i and 2i + 1 in GGUF.
 */
function rowsOfHeads({ reader, shapes, config }: ModelPlan, layer: number): ((row: number) => number) | undefined {
  const { pairing, gguf_pairing } = knownFamily(reader.isGguf ? "gguf" : "hf", reader.architecture);
  if (pairing !== "half" || gguf_pairing !== "interleaved") return undefined;
  const size = shapes[layer]!.head_dim || config.head_dim;
  const inGguf = (place: number): number => Math.floor(place / 2) + (place % 2) * (size / 2);
  const inFolder = (place: number): number => (place < size / 2 ? 2 * place : 2 * (place - size / 2) + 1);
  const placeOf = reader.isGguf ? inGguf : inFolder;
  return (row) => row - (row % size) + placeOf(row % size);
}
