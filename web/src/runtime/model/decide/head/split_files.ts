// Divides the files of a decision checkpoint into those of its encoder and of its head, a model each.
import { fail } from "../../../../core/base/errors.js";
import { show } from "../../../../core/base/show.js";
import { fieldOf } from "../../../files/errors.js";
import type { ModelFiles, StoredTensor } from "../../../files/model_files.js";
import { MAX_HEADS, MAX_LAYERS, MAX_WIDTH } from "../../config/limits.js";
import { HEAD_TYPE, QUESTION_TYPES } from "./row.js";
import { refuseOtherTypes } from "./other_types.js";

/** @internal */
export interface DecisionFiles {
  readonly encoder: ModelFiles;
  readonly head: ModelFiles;
}

/** The numbers of a head. */
interface HeadSizes {
  readonly hidden: number;
  readonly layers: number;
  readonly heads: number;
  readonly inner: number;
  readonly epsilon: number;
}

type Tensors = ReadonlyMap<string, StoredTensor>;

/** @throws INVALID_FILE, UNSUPPORTED_MODEL @internal */
export function splitFiles(files: ModelFiles): DecisionFiles {
  return files.decision === undefined ? splitGguf(files) : splitSafetensors(files, files.decision);
}

function headFiles(
  files: ModelFiles,
  tensors: Tensors,
  { hidden, layers, heads, inner, epsilon }: HeadSizes,
): ModelFiles {
  const config = {
    model_type: HEAD_TYPE,
    vocab_size: QUESTION_TYPES.length,
    hidden_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    intermediate_size: inner,
    layer_norm_eps: epsilon,
  };
  return { ...files, kind: "safetensors", metadata: {}, config, tensors, tokenizerConfig: {} };
}

/** What the laya package trains with the head, and what its answers don't depend on. */
const UNUSED = /^(act_head\..*|temperature)$/;
/** The epsilon of PyTorch, which the head's config doesn't have. */
const EPSILON = 1e-5;
const HEAD_WIDTH = 64;

function splitSafetensors(files: ModelFiles, { name, config }: NonNullable<ModelFiles["decision"]>): DecisionFiles {
  const [encoder, head] = [new Map<string, StoredTensor>(), new Map<string, StoredTensor>()];
  for (const [key, tensor] of files.tensors) {
    if (key.startsWith("encoder.")) encoder.set(key.slice("encoder.".length), tensor);
    else if (!UNUSED.test(key)) head.set(key.replace(/\.in_proj_(weight|bias)$/, ".in_proj.$1"), tensor);
  }
  const layers = config["head_layers"] ?? 2;
  if (!Number.isInteger(layers) || (layers as number) < 0 || (layers as number) > MAX_LAYERS)
    fail(
      "INVALID_FILE",
      fieldOf(name, "head_layers"),
      `must be an integer from 1 to ${MAX_LAYERS} (got ${show(layers)})`,
    );
  if (layers === 0) fail("UNSUPPORTED_MODEL", fieldOf(name, "head_layers"), "a head without layers is not supported");
  const hidden = head.get("type_emb.weight")!.shape.at(-1)!;
  const heads = Math.max(1, Math.floor(hidden / HEAD_WIDTH));
  const sizes = { hidden, layers: layers as number, heads, inner: 4 * hidden, epsilon: EPSILON };
  if (hidden % heads !== 0)
    fail(
      "INVALID_FILE",
      fieldOf(files.name, "type_emb.weight"),
      `${hidden} columns can't be divided among ${heads} heads`,
    );
  return { encoder: { ...files, tensors: encoder }, head: headFiles(files, head, sizes) };
}

/** Tensors of a block of llama.cpp's head. */
const BLOCK: Readonly<Record<string, string>> = {
  attn_norm: "norm1",
  attn_qkv: "self_attn.in_proj",
  attn_output: "self_attn.out_proj",
  ffn_norm: "norm2",
  ffn_up: "linear1",
  ffn_down: "linear2",
};
/** And of the head outside its blocks. */
const OUTSIDE: Readonly<Record<string, string>> = {
  token_types: "type_emb",
  "cls.norm": "scorer.0",
  cls: "scorer.1",
  "cls.output": "scorer.3",
};

/** Source: llama.cpp, src/models/modern-bert.cpp. The blocks of the head come after those of the encoder. */
function splitGguf(files: ModelFiles): DecisionFiles {
  const { metadata, tensors, name } = files;
  const architecture = String(metadata["general.architecture"]);
  refuseOtherTypes(files, architecture);
  const key = (end: string): string => `${architecture}.${end}`;
  const refuse = (end: string, expected: string): never =>
    fail("INVALID_FILE", fieldOf(name, key(end)), `must be ${expected} (got ${show(metadata[key(end)])})`);
  /** The number of a key, or that of one of the blocks. */
  const integer = (end: string, most: number, block = 0): number => {
    const given = metadata[key(end)];
    const value = Number(isList(given) ? given[block] : given);
    return Number.isInteger(value) && value >= 1 && value <= most ? value : refuse(end, `an integer from 1 to ${most}`);
  };
  const blocks = integer("block_count", MAX_LAYERS);
  const layers = integer("decision.block_count", blocks - 1);
  const first = blocks - layers;
  const epsilon = metadata[key("attention.layer_norm_epsilon")];
  const encoder = new Map<string, StoredTensor>();
  const head = new Map<string, StoredTensor>();
  for (const [tensorName, tensor] of tensors) {
    const renamed = nameInHead(tensorName, first);
    if (renamed === undefined) encoder.set(tensorName, tensor);
    else head.set(renamed, tensor);
  }
  const types = head.get("type_emb.weight");
  if (types === undefined || types.shape[0] !== QUESTION_TYPES.length)
    return fail(
      "INVALID_FILE",
      fieldOf(name, "token_types.weight"),
      "must have a row for each of 3 types of questions",
    );
  const sizes: HeadSizes = {
    hidden: types.shape.at(-1)!,
    layers,
    heads: integer("attention.head_count", MAX_HEADS, first),
    inner: integer("feed_forward_length", MAX_WIDTH, first),
    epsilon: typeof epsilon === "number" ? epsilon : refuse("attention.layer_norm_epsilon", "a number"),
  };
  const own = Object.entries(metadata).map(([at, value]) => {
    if (at === key("block_count")) return [at, first];
    const isOfBlocks = at.startsWith(`${architecture}.`) && isList(value) && value.length === blocks;
    return [at, isOfBlocks ? Array.from(value).slice(0, first) : value];
  });
  return {
    encoder: { ...files, tensors: encoder, metadata: Object.fromEntries(own) as ModelFiles["metadata"] },
    head: headFiles(files, head, sizes),
  };
}

const isList = (value: unknown): value is ArrayLike<unknown> => Array.isArray(value) || ArrayBuffer.isView(value);

/** The name that the laya package has for a tensor of the head; undefined for one of the encoder. */
function nameInHead(name: string, first: number): string | undefined {
  const [, block, part, end] = /^blk\.(\d+)\.(\w+)\.(weight|bias)$/.exec(name) ?? [];
  if (block !== undefined && Number(block) >= first) {
    const own = BLOCK[part!];
    return `head.layers.${Number(block) - first}.${own ?? part!}.${end!}`;
  }
  const [, stem, kind] = /^(.+)\.(weight|bias)$/.exec(name) ?? [];
  const own = stem !== undefined && Object.hasOwn(OUTSIDE, stem) ? OUTSIDE[stem] : undefined;
  return own === undefined ? undefined : `${own}.${kind!}`;
}
