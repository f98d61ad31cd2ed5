// How a model makes an embedding of a text, from its files: pooling, the layers after it, normalization, prompts.
import { type Dict, isDict } from "../../../core/base/dict.js";
import { show } from "../../../core/base/show.js";
import { named } from "../../files/errors.js";
import type { ModelFiles } from "../../files/model_files.js";
import type { ActivationName, Architecture, DenseLayer } from "../architectures/parts/architecture.js";
import type { ConfigReader } from "../config/config_reader.js";
import { encoderOf } from "./encoder_of.js";
import { textModelNames } from "../architectures/parts/multimodal_names.js";

/**
 * How hidden states become one vector: their mean, that of the first or last token, or the largest of each element.
 */
export type Pooling = "mean" | "cls" | "last" | "max";
/** In the order of the core's Pooling. @internal */
export const POOLINGS: readonly Pooling[] = ["mean", "cls", "last", "max"];

/** What the files say about embeddings. @internal */
export interface EmbeddingPlan {
  /** Whether the files say how the model embeds texts: those of embedding models do. */
  readonly isFromFiles: boolean;
  readonly pooling: Pooling;
  readonly normalizes: boolean;
  /** Texts to write before others, by name. */
  readonly prompts: Readonly<Record<string, string>>;
  readonly defaultPrompt: string | undefined;
  /** Maximum tokens of a text, if the files limit it. */
  readonly maxLength: number | undefined;
  /** Layers after pooling: those of embeddings, or of the head of a cross-encoder. */
  readonly dense: readonly DenseLayer[];
  /** Whether the tokens of the two texts of a pair have different types; else all have type 0. */
  readonly typesPairs: boolean;
  /** How a cross-encoder makes a score of a pair; undefined for other models. */
  readonly ranking: { readonly pooling: Pooling; readonly activation: ScoreActivation } | undefined;
}

const GGUF_POOLINGS: readonly (Pooling | undefined)[] = [undefined, "mean", "cls", "last"];
const GGUF_RANK = 4;
const MODES: Readonly<Record<string, Pooling>> = { mean: "mean", cls: "cls", lasttoken: "last", max: "max" };
const MODULE_ACTIVATIONS: Readonly<Record<string, ActivationName | undefined>> = {
  Identity: undefined,
  Tanh: "tanh",
  ReLU: "relu",
  GELU: "gelu",
  SiLU: "silu",
};
const MAX_DENSE = 3;
/** By the names of their classes in PyTorch. */
const SCORE_ACTIVATIONS = {
  Identity: (x: number): number => x,
  Sigmoid: (x: number): number => 1 / (1 + Math.exp(-x)),
  Tanh: Math.tanh,
  ReLU: (x: number): number => Math.max(0, x),
};
type ScoreActivation = keyof typeof SCORE_ACTIVATIONS;

/** @throws {@link RopewalkError} UNSUPPORTED_MODEL, INVALID_FILE. @internal */
export function embeddingPlan(
  reader: ConfigReader,
  files: Pick<ModelFiles, "kind" | "tensors" | "config" | "sentence" | "tokenizerConfig">,
  architecture: Architecture,
): EmbeddingPlan {
  const isEncoder = encoderOf(architecture, reader) !== undefined;
  const plan: EmbeddingPlan = {
    isFromFiles: false,
    pooling: isEncoder ? "mean" : "last",
    normalizes: false,
    prompts: {},
    defaultPrompt: undefined,
    maxLength: isEncoder ? maxLengthOf(reader, files) : undefined,
    dense: [],
    typesPairs: typesPairs(reader, files),
    ranking: undefined,
  };
  const { names } = architecture;
  const { nameOf } = textModelNames(files, `${names.embedding}.weight`, names);
  const head = architecture.rankingHead?.(reader, nameOf(""));
  if (head !== undefined) {
    const pooling: Pooling = head.pooling === "first" ? "cls" : "mean";
    return {
      ...plan,
      pooling,
      dense: head.layers,
      ranking: { pooling, activation: scoreActivation(reader, files) },
      maxLength: maxLengthOf(reader, files),
    };
  }
  const projection = architecture.projection && [architecture.projection(reader, nameOf)];
  const { dense, ...found } = reader.isGguf ? ggufPlan(reader, plan) : sentencePlan(reader, files, plan);
  return { ...found, dense: [...(projection ?? []), ...dense] };
}

/** Tokenizers of transformers 5.24 that return `token_type_ids`: those of BERT and its relatives. */
const TYPING_TOKENIZERS =
  /^(Bert|ConvBert|Deberta|DebertaV2|Electra|LayoutLM|Lxmert|MobileBert|SqueezeBert)Tokenizer(Fast)?$/;

/** In GGUF nothing says so; the types are those of BERT. */
function typesPairs(reader: ConfigReader, { tokenizerConfig = {}, config = {} }: Partial<ModelFiles>): boolean {
  if (reader.isGguf) return true;
  const inputs = tokenizerConfig["model_input_names"];
  if (Array.isArray(inputs)) return inputs.includes("token_type_ids");
  const name = tokenizerConfig["tokenizer_class"] ?? config["tokenizer_class"];
  return typeof name !== "string" || TYPING_TOKENIZERS.test(name);
}

/** Whether a GGUF file says that its model embeds texts. @internal */
export function embedsByFile(reader: ConfigReader): boolean {
  return reader.isGguf && GGUF_POOLINGS[reader.integer(["", "pooling_type"], 0, 0)] !== undefined;
}

function ggufPlan(reader: ConfigReader, plan: EmbeddingPlan): EmbeddingPlan {
  const type = reader.integer(["", "pooling_type"], 0, 0);
  if (type === GGUF_RANK && reader.architecture.startsWith("qwen3")) return plan; // its head is in the vocabulary
  const pooling = GGUF_POOLINGS[type];
  const dense = ["dense_2", "dense_3"].filter((name) => reader.hasTensor(`${name}.weight`));
  return {
    ...plan,
    ...(pooling !== undefined && { isFromFiles: true, pooling, normalizes: true }),
    dense: dense.map((name) => denseLayer(reader, name, undefined)),
  };
}

function denseLayer(reader: ConfigReader, stem: string, activation: ActivationName | undefined): DenseLayer {
  const [weight, bias] = [`${stem}.weight`, `${stem}.bias`];
  const size = reader.rowsOfTensor(weight);
  return { weight, size, ...(reader.hasTensor(bias) && { bias }), ...(activation !== undefined && { activation }) };
}

/** The modules of sentence-transformers. A model without them has a plain pooling. */
function sentencePlan(
  reader: ConfigReader,
  files: Pick<ModelFiles, "sentence" | "tokenizerConfig">,
  plan: EmbeddingPlan,
): EmbeddingPlan {
  const { sentence } = files;
  if (sentence === undefined) return plan;
  let { pooling, normalizes } = plan;
  const dense: DenseLayer[] = [];
  for (const { kind, path, config } of sentence.modules) {
    if (kind === "Transformer") continue;
    if (kind === "Pooling") pooling = poolingOf(reader, path, config);
    else if (kind === "Normalize") normalizes = true;
    else if (kind === "Dense") dense.push(denseLayer(reader, `${path}/linear`, activationOf(reader, path, config)));
    else
      reader.refuse(
        "UNSUPPORTED_MODEL",
        "modules.json",
        `module ${named(kind)} of sentence-transformers is not supported`,
      );
  }
  if (dense.length > MAX_DENSE)
    reader.refuse("UNSUPPORTED_MODEL", "modules.json", `more than ${MAX_DENSE} dense layers are not supported`);
  const { prompts, default_prompt_name } = sentence.config;
  const texts = Object.entries(isDict(prompts) ? prompts : {}).filter(([, text]) => typeof text === "string");
  return {
    ...plan,
    isFromFiles: true,
    pooling,
    normalizes,
    dense,
    prompts: Object.fromEntries(texts) as Record<string, string>,
    defaultPrompt: typeof default_prompt_name === "string" ? default_prompt_name : undefined,
    maxLength: maxLengthOf(reader, files),
  };
}

function poolingOf(reader: ConfigReader, path: string, config: Dict): Pooling {
  const file = `${path}/config.json`;
  if (config["include_prompt"] === false)
    reader.refuse("UNSUPPORTED_MODEL", file, "pooling without the tokens of the prompt is not supported");
  const given = config["pooling_mode"];
  // older files have a boolean for each mode
  const flags = Object.keys(config).filter((key) => key.startsWith("pooling_mode_") && config[key] === true);
  const modes = given === undefined ? flags.map((key) => key.replace(/^pooling_mode_|_tokens?$/g, "")) : [given].flat();
  const pooling = MODES[String(modes[0] ?? "mean")];
  if (modes.length > 1 || pooling === undefined)
    return reader.refuse("UNSUPPORTED_MODEL", file, `pooling ${show(modes.join(", "))} is not supported`);
  return pooling;
}

function activationOf(reader: ConfigReader, path: string, config: Dict): ActivationName | undefined {
  const given = config["activation_function"] ?? "torch.nn.modules.activation.Tanh";
  const name = String(given).replace(/^.*\./, "");
  if (!Object.hasOwn(MODULE_ACTIVATIONS, name))
    reader.refuse("UNSUPPORTED_MODEL", `${path}/config.json`, `activation ${show(given)} is not supported`);
  return MODULE_ACTIVATIONS[name];
}

/**
 * Maximum tokens of a text. sentence-transformers writes it to its own file, or since version 6 only to that of the tokenizer, which has a
 * huge number for no limit.
 */
function maxLengthOf(
  reader: ConfigReader,
  { sentence, tokenizerConfig }: Pick<ModelFiles, "sentence" | "tokenizerConfig">,
): number | undefined {
  const own = sentence?.transformer["max_seq_length"];
  const given = own ?? tokenizerConfig?.["model_max_length"];
  if (given === undefined || given === null) return undefined;
  const [file, key] =
    own == null ? ["tokenizer_config.json", "model_max_length"] : ["sentence_bert_config.json", "max_seq_length"];
  if (typeof given !== "number" || !(given >= 1))
    return reader.refuse("INVALID_FILE", `${file}: ${key}`, `must be a number of tokens (got ${show(given)})`);
  return Math.trunc(given);
}

/** What a cross-encoder applies to its score: by default, what makes it a probability. */
function scoreActivation(reader: ConfigReader, { sentence }: Pick<ModelFiles, "sentence">): ScoreActivation {
  const { sentence_transformers: nested, sbert_ce_default_activation_function: older } = reader.source;
  const inConfig = (isDict(nested) ? nested["activation_fn"] : undefined) ?? older;
  const given = inConfig ?? sentence?.config["activation_fn"];
  if (given === undefined || given === null) return "Sigmoid";
  // sentence-transformers too takes its default instead of a function of other code
  if (typeof given === "string" && !given.startsWith("torch.")) return "Sigmoid";
  const name = String(given).replace(/^.*\./, "");
  if (!isScoreActivation(name))
    return reader.refuse("UNSUPPORTED_MODEL", "activation_fn", `activation ${show(given)} of scores is not supported`);
  return name;
}

const isScoreActivation = (name: string): name is ScoreActivation => Object.hasOwn(SCORE_ACTIVATIONS, name);

/** The score that a cross-encoder's output stands for. @internal */
export function scoreOf(output: number, activation: ScoreActivation): number {
  return SCORE_ACTIVATIONS[activation](output);
}
